internal import CScheduler

/// What a thread runs, as far as ``Cancellation`` asks for it.
package protocol CurrentWork: AnyObject, Sendable {
    /// Whether it was asked to stop.
    var isRequested: Bool { get }
}

extension CurrentWork {
    /// Runs `body` with this as the calling thread's work, which ``Cancellation`` asks.
    func whileCurrent<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        var work = CurrentWorkReference(self)
        return try withUnsafeMutablePointer(to: &work) { work throws(E) in
            let outer = CurrentWorkPlace.enter(work)
            defer { CurrentWorkPlace.leave(to: outer) }
            return try body()
        }
    }
}

/// What a thread runs, in the frame of whoever runs it, who has it for as long as that: so it is not counted.
package struct CurrentWorkReference {
    package unowned(unsafe) let work: any CurrentWork

    package init(_ work: borrowing any CurrentWork) {
        self.work = copy work
    }
}

/// The calling thread's work: a reference that lives in the frame of whoever runs it.
package enum CurrentWorkPlace {
    /// Makes `work`, which stays where it is until ``leave(to:)``, the calling thread's. Returns what was.
    package static func enter(_ work: UnsafeMutablePointer<CurrentWorkReference>) -> UnsafeMutableRawPointer? {
        let outer = od_thread_work()
        od_thread_set_work(work)
        return outer
    }

    package static func leave(to outer: UnsafeMutableRawPointer?) {
        od_thread_set_work(outer)
    }

    static var current: (any CurrentWork)? {
        od_thread_work()?.assumingMemoryBound(to: CurrentWorkReference.self).pointee.work
    }
}

/// A word of the calling thread for whatever it does one after another instead of one inside the other.
package enum ThreadBounce {
    package static var current: UnsafeMutableRawPointer? {
        get { od_thread_bounce() }
        set { od_thread_set_bounce(newValue) }
    }
}
