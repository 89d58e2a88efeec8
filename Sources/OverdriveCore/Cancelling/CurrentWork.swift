// Owns the record of what a thread is running, for cancel checks and self-wait detection. All work of Overdrive
// registers here. It never retains the work.

internal import CScheduler

/// Work that a thread runs, and that ``Cancellation`` can query.
package protocol CurrentWork: AnyObject, Sendable {
    /// Whether the work was cancelled.
    var isRequested: Bool { get }
}

extension CurrentWork {
    /// Runs `body` with this object as the current work of the calling thread.
    package func whileCurrent<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        var work = CurrentWorkReference(self)
        return try unsafe withUnsafeMutablePointer(to: &work) { work throws(E) in
            let outer = unsafe CurrentWorkPlace.enter(work)
            defer { unsafe CurrentWorkPlace.leave(to: outer) }
            return try body()
        }
    }
}

/// A reference to the current work, in the stack frame of the code that runs it. The frame retains the work, so the
/// reference does not.
@safe package struct CurrentWorkReference {
    package unowned(unsafe) let work: any CurrentWork
    /// The work that was current before: of this thread, or of the thread that forked the running branch. It lives
    /// longer than this reference. Written before other threads can read the reference.
    fileprivate var outer: UnsafeMutableRawPointer?

    package init(_ work: borrowing any CurrentWork) {
        unsafe self.work = copy work
    }
}

/// The current work of the calling thread, as a reference in a stack frame.
package enum CurrentWorkPlace {
    /// Makes `work` the current work until ``leave(to:)``; it must not move. Returns the previous reference.
    package static func enter(_ work: UnsafeMutablePointer<CurrentWorkReference>) -> UnsafeMutableRawPointer? {
        let outer = unsafe od_work_enter(work)
        unsafe work.pointee.outer = outer
        return unsafe outer
    }

    package static func leave(to outer: UnsafeMutableRawPointer?) {
        unsafe od_work_leave(outer)
    }

    /// The current work of the thread. In a branch stolen from a Swift task's thread, it is that task. Otherwise nil
    /// if only a Swift task is current.
    static var current: (any CurrentWork)? {
        guard let word = unsafe od_thread_work() else { return nil }
        if let task = unsafe TaskWord.task(in: word) { return TaskWork(task) }
        return unsafe work(at: word)
    }

    /// The current work of the thread, or else its Swift task.
    static var currentOrTask: (any CurrentWork)? {
        current ?? TaskHandle.current.map(TaskWork.init)
    }

    /// Whether ``current`` is cancelled, without creating an object; nil without current work.
    static var isRequested: Bool? {
        guard let word = unsafe od_thread_work() else { return nil }
        return unsafe TaskWord.task(in: word)?.isCancelled ?? work(at: word).isRequested
    }

    /// Whether the calling thread runs `work`, or other work nested in it.
    package static func isWithin(_ work: AnyObject) -> Bool {
        var word = unsafe od_thread_work()
        while let here = unsafe word, unsafe TaskWord.task(in: here) == nil {
            let reference = unsafe here.assumingMemoryBound(to: CurrentWorkReference.self)
            if unsafe reference.pointee.work === work { return true }
            unsafe word = reference.pointee.outer
        }
        return false
    }

    /// Returns the first non-nil result of `find`, from the innermost work of the calling thread outwards.
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

/// A value for the duration of a synchronous call on the calling thread, and in branches that the call forks.
///
/// A Swift task that the call starts does not see the value, because it may outlive the call. A task-local value
/// would be copied to that task.
package final class ThreadScope<Value: Sendable>: CurrentWork {
    private let value: Value
    private let outer: (any CurrentWork)?

    private init(_ value: Value) {
        self.value = value
        outer = CurrentWorkPlace.currentOrTask
    }

    /// Cancellation is that of the surrounding work.
    package var isRequested: Bool { outer?.isRequested ?? false }

    /// Runs `body` with `value` as the current value of this type.
    package static func with<R, E: Error>(_ value: Value, _ body: () throws(E) -> R) throws(E) -> R {
        try ThreadScope(value).whileCurrent(body)
    }

    /// The innermost value of this type for the calling thread.
    package static var current: Value? {
        CurrentWorkPlace.innermost { ($0 as? ThreadScope<Value>)?.value }
    }
}

/// A Swift task whose cancellation any thread may read. An `UnsafeCurrentTask` must not leave its closure, but this
/// may.
///
/// Both are references to the runtime's task; a test compares their answers. This one is retained. A retain does not
/// keep a task of an `async let` alive, because that lies in its parent's frame. So no code keeps a handle beyond the
/// operation that the task runs.
package struct TaskHandle: Sendable {
    private let task: Task<Never, Never>

    private init(_ task: UnsafeCurrentTask) {
        self.task = unsafe unsafeBitCast(task, to: Task<Never, Never>.self)
    }

    /// The Swift task of the caller.
    package static var current: TaskHandle? {
        unsafe withUnsafeCurrentTask { unsafe $0.map(TaskHandle.init) }
    }

    package var isCancelled: Bool { task.isCancelled }
}

/// A Swift task as the current work of a thread.
private final class TaskWork: CurrentWork {
    private let task: TaskHandle

    init(_ task: TaskHandle) {
        self.task = task
    }

    var isRequested: Bool { task.isCancelled }
}

/// A Swift task in the engine's word for the current work, marked by the lowest bit, not retained. The task waits for
/// the branches that inherit the word, so it outlives them.
private enum TaskWord {
    static func make(_ task: TaskHandle) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: unsafeBitCast(task, to: UInt.self) | 1)
    }

    static func task(in word: UnsafeMutableRawPointer) -> TaskHandle? {
        let bits = UInt(bitPattern: word)
        return unsafe bits & 1 == 0 ? nil : unsafeBitCast(bits & ~1, to: TaskHandle.self)
    }
}

/// Returns the word that the branches of a root fork inherit: the current work, or else the Swift task. The engine
/// calls it, because it does not know the Swift task.
@_cdecl("od_fork_root_work")
func forkRootWork() -> UnsafeMutableRawPointer? {
    unsafe od_thread_work() ?? TaskHandle.current.flatMap(TaskWord.make)
}

/// A word of the calling thread for a trampoline: continuations that run one after another instead of nested.
package enum ThreadBounce {
    /// The address of the word. Only the calling thread may use it.
    package static var place: UnsafeMutablePointer<UnsafeMutableRawPointer?> { unsafe od_thread_bounce_place() }
}
