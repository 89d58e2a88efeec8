#if THREAD_SANITIZER
    internal import CScheduler
    internal import Synchronization

    /// A mutex whose sections the thread sanitizer sees. `Synchronization.Mutex` is changed, where threads meet, in a
    /// library that is not compiled for it, so of two sections it knows no order and reports each access as a race.
    /// What this says is said of a lock that is held; nothing else is kept quiet.
    package struct Locked<Value>: ~Copyable, Sendable {
        private let mutex: Mutex<Value>

        package init(_ value: consuming sending Value) {
            mutex = Mutex(value)
        }

        package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            try mutex.withLock { (value: inout sending Value) throws(E) -> sending R in
                unsafe withUnsafePointer(to: mutex) { unsafe od_section_begins($0) }
                defer { unsafe withUnsafePointer(to: mutex) { unsafe od_section_ends($0) } }
                return try body(&value)
            }
        }
    }

    /// A value that a continuation takes from one thread to another, in an order that Swift's runtime makes with atomics
    /// of its own, which the sanitizer does not see. `token` is any object that both know.
    enum Handoff {
        static func sends(by token: AnyObject) { unsafe od_section_ends(Unmanaged.passUnretained(token).toOpaque()) }
        static func received(by token: AnyObject) { unsafe od_section_begins(Unmanaged.passUnretained(token).toOpaque()) }
    }
#else
    package import Synchronization

    /// Nothing, but where threads are watched by the sanitizer.
    enum Handoff {
        @inline(__always) static func sends(by token: AnyObject) {}
        @inline(__always) static func received(by token: AnyObject) {}
    }

    /// A mutex; where threads are watched by the sanitizer, one whose sections it sees.
    package typealias Locked<Value> = Mutex<Value>
#endif
