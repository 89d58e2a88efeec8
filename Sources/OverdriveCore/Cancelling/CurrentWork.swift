internal import CScheduler

/// What a thread runs, as far as ``Cancellation`` asks for it.
package protocol CurrentWork: AnyObject, Sendable {
    /// Whether it was asked to stop.
    var isRequested: Bool { get }
}

extension CurrentWork {
    /// Runs `body` with this as the calling thread's work, which ``Cancellation`` asks.
    package func whileCurrent<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        var work = CurrentWorkReference(self)
        return try unsafe withUnsafeMutablePointer(to: &work) { work throws(E) in
            let outer = unsafe CurrentWorkPlace.enter(work)
            defer { unsafe CurrentWorkPlace.leave(to: outer) }
            return try body()
        }
    }
}

/// What a thread runs, in the frame of whoever runs it, who has it for as long as that: so it is not counted.
@safe package struct CurrentWorkReference {
    package unowned(unsafe) let work: any CurrentWork
    /// What the thread, or who forked the branch that it runs, was at before: it is not over as long as this is there.
    /// Written before anybody else can come here.
    fileprivate var outer: UnsafeMutableRawPointer?

    package init(_ work: borrowing any CurrentWork) {
        unsafe self.work = copy work
    }
}

/// The calling thread's work: a reference that lives in the frame of whoever runs it.
package enum CurrentWorkPlace {
    /// Makes `work`, which stays where it is until ``leave(to:)``, the calling thread's. Returns what was.
    package static func enter(_ work: UnsafeMutablePointer<CurrentWorkReference>) -> UnsafeMutableRawPointer? {
        let outer = unsafe od_work_enter(work)
        unsafe work.pointee.outer = outer
        return unsafe outer
    }

    package static func leave(to outer: UnsafeMutableRawPointer?) {
        unsafe od_work_leave(outer)
    }

    /// The work that the thread runs; in a branch that was taken from a Swift task's thread that task, else nil
    /// where only a task is current.
    static var current: (any CurrentWork)? {
        guard let word = unsafe od_thread_work() else { return nil }
        if let task = unsafe TaskWord.task(in: word) { return TaskWork(task) }
        return unsafe work(at: word)
    }

    /// The work that the thread runs, or else its Swift task.
    static var currentOrTask: (any CurrentWork)? {
        current ?? TaskHandle.current.map(TaskWork.init)
    }

    /// What ``current`` would answer, without making anything.
    static var isRequested: Bool? {
        guard let word = unsafe od_thread_work() else { return nil }
        return unsafe TaskWord.task(in: word)?.isCancelled ?? work(at: word).isRequested
    }

    /// Whether the calling thread runs `work`, or something that runs inside of it.
    package static func isWithin(_ work: AnyObject) -> Bool {
        var word = unsafe od_thread_work()
        while let here = unsafe word, unsafe TaskWord.task(in: here) == nil {
            let reference = unsafe here.assumingMemoryBound(to: CurrentWorkReference.self)
            if unsafe reference.pointee.work === work { return true }
            unsafe word = reference.pointee.outer
        }
        return false
    }

    /// The first answer of `find`, from the innermost work around the calling thread outwards.
    package static func innermost<Found>(_ find: (any CurrentWork) -> Found?) -> Found? {
        var word = unsafe od_thread_work()
        while let here = unsafe word, unsafe TaskWord.task(in: here) == nil {
            let reference = unsafe here.assumingMemoryBound(to: CurrentWorkReference.self)
            if let found = unsafe find(reference.pointee.work) { return found }
            unsafe word = reference.pointee.outer
        }
        return nil
    }

    private static func work(at word: UnsafeMutableRawPointer) -> any CurrentWork {
        unsafe word.assumingMemoryBound(to: CurrentWorkReference.self).pointee.work
    }
}

/// A value that holds while the calling thread is inside a synchronous call. Branches forked there find the value too.
///
/// A Swift task started inside the call does not find the value: the task may outlive the call. A task-local value
/// would be copied into that task.
package final class ThreadScope<Value: Sendable>: CurrentWork {
    private let value: Value
    private let outer: (any CurrentWork)?

    private init(_ value: Value) {
        self.value = value
        outer = CurrentWorkPlace.currentOrTask
    }

    /// Cancellation is the matter of the work around the call.
    package var isRequested: Bool { outer?.isRequested ?? false }

    /// Runs `body` with `value` as the calling thread's value of this type.
    package static func with<R, E: Error>(_ value: Value, _ body: () throws(E) -> R) throws(E) -> R {
        try ThreadScope(value).whileCurrent(body)
    }

    /// The innermost value of this type around the calling thread.
    package static var current: Value? {
        CurrentWorkPlace.innermost { ($0 as? ThreadScope<Value>)?.value }
    }
}

/// A Swift task, to be asked from any thread: what `Task` is, whose result nobody wants here. An `UnsafeCurrentTask` may not
/// leave the closure that it was given to, and this is what may.
///
/// Both are a reference to the runtime's task, this one counted; a test compares their answers. The count keeps no task of
/// an `async let`, which lies in its parent's frame: nobody keeps this beyond the operation that the task is in.
package struct TaskHandle: Sendable {
    private let task: Task<Never, Never>

    private init(_ task: UnsafeCurrentTask) {
        self.task = unsafe unsafeBitCast(task, to: Task<Never, Never>.self)
    }

    /// The task that the caller runs in.
    package static var current: TaskHandle? {
        unsafe withUnsafeCurrentTask { unsafe $0.map(TaskHandle.init) }
    }

    package var isCancelled: Bool { task.isCancelled }
}

/// A Swift task as a thread's work.
private final class TaskWork: CurrentWork {
    private let task: TaskHandle

    init(_ task: TaskHandle) {
        self.task = task
    }

    var isRequested: Bool { task.isCancelled }
}

/// A Swift task in the engine's word for a thread's work, which is odd then: a reference that nobody counts. It lasts
/// because the task waits for the branches that inherit the word.
private enum TaskWord {
    static func make(_ task: TaskHandle) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: unsafeBitCast(task, to: UInt.self) | 1)
    }

    static func task(in word: UnsafeMutableRawPointer) -> TaskHandle? {
        let bits = UInt(bitPattern: word)
        return unsafe bits & 1 == 0 ? nil : unsafeBitCast(bits & ~1, to: TaskHandle.self)
    }
}

/// What branches inherit from the thread that forks their root: its work, or else its Swift task, which is no word of
/// the thread's that the engine knows.
@_cdecl("od_fork_root_work")
func forkRootWork() -> UnsafeMutableRawPointer? {
    unsafe od_thread_work() ?? TaskHandle.current.flatMap(TaskWord.make)
}

/// A word of the calling thread for whatever it does one after another instead of one inside the other.
package enum ThreadBounce {
    package static var current: UnsafeMutableRawPointer? {
        get { unsafe od_thread_bounce() }
        set { unsafe od_thread_set_bounce(newValue) }
    }
}
