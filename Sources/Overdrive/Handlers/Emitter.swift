// Owns emitters, through which a progressive body reports updates and the outcome, and the cleanups of an attempt.
// Bodies call it from any thread. It never calls handlers itself: `TypedExtras` does.

internal import OverdriveCore
internal import Synchronization

extension Task {
    /// An update or the outcome of a progressive body.
    public enum Event: Sendable {
        /// A value that other values may follow.
        case update(T)
        /// A value that is also the outcome.
        case value(T)
        /// The failure of the attempt.
        case failure(any Error)
        /// The end of the attempt. The outcome is the last update, else `()` if `T` is `Void`, else
        /// ``TaskError/noValue``.
        case completion

        /// Returns `.failure(error)`.
        ///
        /// - Parameter error: The error of the attempt.
        /// - Returns: The event.
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: None.
        public static func error(_ error: any Error) -> Event { .failure(error) }
    }

    /// Reports the events of a progressive body: `emit(.update(x))`.
    ///
    /// An emitter belongs to one attempt and does not retain its task. Calls after the end of the attempt have no
    /// effect. If the body stores the emitter and the last reference is released without an outcome, the attempt
    /// fails with ``TaskError/abandoned``. Waiters thus learn of a lost callback. If the body does not store the
    /// emitter, `finish(with:)` ends the task.
    ///
    /// - Threading: Any number of threads.
    public final class Emitter: Sendable {
        // The reference is never changed after `init`; reads of weak references are thread-safe.
        private nonisolated(unsafe) weak var task: Task<T>?
        private let attempt: UInt16
        /// Whether the body had stored the emitter when it returned.
        let isKept = Atomic(false)

        init(of task: Task<T>, attempt: UInt16) {
            unsafe self.task = task
            self.attempt = attempt
        }

        deinit {
            // relaxed: the reference counts order it. Attempts beyond the largest number share that number, so an
            // emitter of these may belong to another attempt.
            guard isKept.load(ordering: .relaxed), attempt < .max, let task = unsafe task, task.isUnderWay(attempt) else { return }
            // The releasing thread may hold locks of the program that handlers need. Another thread reports the
            // failure.
            TaskQueue.inner.async { [attempt] in task.accept(.failure(TaskError.abandoned), attempt: attempt) }
        }

        /// Reports an event.
        ///
        /// - Parameter event: The update or outcome.
        /// - Ordering: Updates are delivered one at a time, in the order of the calls, and the outcome after them.
        /// - Threading: Any thread. Handlers run on the calling thread, or on a thread that is delivering an earlier
        ///   event.
        /// - Cost: A lock, and the handlers.
        public func callAsFunction(_ event: Event) {
            unsafe task?.accept(event, attempt: attempt)
        }

        /// Reports an update, which is delivered if `isWanted` returns true after all earlier updates. If a newer
        /// source makes `isWanted` false, the newer source's first update follows.
        func update(_ value: T, if isWanted: @escaping @Sendable () -> Bool) {
            guard let task = unsafe task, task.isUnderWay(attempt) else { return }
            task.typedExtras.handle(.updateIf(value, attempt: attempt, isWanted: isWanted), for: task)
        }

        /// Reports a failure, which is delivered if `isWanted` returns true after all earlier updates.
        func fail(_ error: any Error, if isWanted: @escaping @Sendable () -> Bool) {
            guard let task = unsafe task, task.isUnderWay(attempt) else { return }
            task.typedExtras.handle(.failureIf(error, attempt: attempt, isWanted: isWanted), for: task)
        }

        /// The queue for the tasks that this task consists of; nil if this task is in no queue.
        var partsQueue: TaskQueue? { unsafe task?.queueTasks?.1 }

        /// Cancels the task, because a queue discarded a report of this emitter.
        func isDiscarded() {
            if let task = unsafe task, task.isUnderWay(attempt) { task.cancel() }
        }

        /// Whether the attempt still accepts events.
        public var isActive: Bool {
            unsafe task?.isUnderWay(attempt) ?? false
        }
    }

    /// Creates a progressive task, which has any number of values and then an outcome.
    ///
    ///     let issues = Task<[Issue]> { emit in
    ///         emit(.update(database.issues))
    ///         let request = client.issues { result in
    ///             switch result {
    ///             case .success(let issues): emit(.value(issues))
    ///             case .failure(let error): emit(.failure(error))
    ///             }
    ///         }
    ///         return { request.cancel() }
    ///     }
    ///
    /// - Parameter start: A closure that begins the work and returns the cleanup. The cleanup runs once at the end of
    ///   the attempt: outcome, failure, cancellation, or release of the task.
    /// - Ordering: `start` is called once for each attempt, and the cleanup once after it.
    /// - Threading: `start` runs where the task does. The cleanup runs on the thread that ends the attempt or
    ///   releases the task.
    /// - Cost: The task and the closure, and an emitter for each attempt. The first event allocates the task's
    ///   optional storage.
    public convenience init(_ start: @escaping @Sendable (Emitter) -> sending (() -> Void)) {
        self.init(body: .progressive(start))
    }

    /// Creates a task with a constant value, delivered as an update and as the outcome.
    ///
    ///     let cached = Task(value: image)
    ///
    /// - Parameters:
    ///   - before: No argument. It makes Swift's `Task { … }` fail to compile here; pass a closure that is the value
    ///     in parentheses.
    ///   - value: The value.
    ///   - after: No argument. It serves the same purpose in Swift 5 mode, which matches trailing closures from the
    ///     end.
    /// - Ordering: An update, then the outcome, when the task is started.
    /// - Threading: Any thread.
    /// - Cost: The cost of a progressive task.
    public convenience init(_ before: _NoClosure? = nil, value: T, _ after: _NoClosure? = nil) {
        self.init { emit in
            emit(.value(value))
            return {}
        }
    }

    /// A function type that no closure of a program has; see ``init(_:value:_:)``.
    @_documentation(visibility: internal)
    public typealias _NoClosure = (Never) -> Void

    /// Creates a task that fails with an error.
    ///
    /// - Parameter error: The error.
    /// - Ordering: The failure comes when the task is started.
    /// - Threading: Any thread.
    /// - Cost: The cost of a progressive task.
    public convenience init(error: any Error) {
        self.init { emit in
            emit(.failure(error))
            return {}
        }
    }

    final func isUnderWay(_ attempt: UInt16) -> Bool {
        let standing = standing
        return standing.phase == .executing && standing.attempt == attempt && !standing.isSettled && !standing.isRetrying
    }

    final func accept(_ event: Event, attempt: UInt16) {
        guard isUnderWay(attempt) else { return }
        let extras = typedExtras
        switch event {
        case .update(let value):
            extras.handle(.update(value, attempt: attempt), for: self)
        case .value(let value):
            extras.handle(.update(value, attempt: attempt), .outcome(.success(value), attempt: attempt), for: self)
        case .failure(let error):
            extras.handle(.outcome(.failure(error), attempt: attempt), for: self)
        case .completion:
            extras.handle(.completion(attempt: attempt), for: self)
        }
    }
}

extension AnyTask {
    // MARK: - Cleanup

    /// Adds a cleanup, which runs at the end of the attempt. If the attempt has ended, the cleanup runs now.
    final func keep(cleanup: @escaping () -> Void, of attempt: UInt16) {
        let isLate = makeExtras().locked { fields in
            if fields.endedAttempts > Int(attempt) { return true }
            fields.cleanups.append(cleanup)
            return false
        }
        if isLate { Bounce.outside(cleanup) }
    }

    final func endAttempt(_ attempt: UInt16) {
        guard let extras else { return }
        let cleanups = extras.locked { fields in
            fields.endedAttempts = max(fields.endedAttempts, Int(attempt) + 1)
            fields.isSpokenFor = false
            fields.bodyIsElsewhere = false
            fields.cancelBody = nil
            defer { fields.cleanups = [] }
            return fields.cleanups
        }
        guard !cleanups.isEmpty else { return }
        Bounce.outside { for cleanup in cleanups { cleanup() } }
    }
}
