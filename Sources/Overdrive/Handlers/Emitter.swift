internal import OverdriveCore
internal import Synchronization

extension Task {
    /// Reports the updates and the outcome of a progressive body.
    public enum Event: Sendable {
        /// There is a value, and there may be others.
        case update(T)
        /// There is a value, and it is the outcome.
        case value(T)
        /// It failed.
        case failure(any Error)
        /// The attempt's last update was the outcome; without one `()` is, or else ``TaskError/noValue``.
        case completion

        /// The same as `failure`.
        ///
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: None.
        public static func error(_ error: any Error) -> Event { .failure(error) }
    }

    /// How a progressive body speaks: `emit(.update(x))`.
    ///
    /// An emitter belongs to one attempt, and does not keep its task. Calls after the attempt's end are ignored. If
    /// all references to a kept emitter are released without an outcome, the attempt fails with
    /// ``TaskError/abandoned``, so a lost callback leaves no waiter. If the body does not keep the emitter,
    /// `finish(with:)` ends the task.
    ///
    /// - Threading: Any thread, any number of them.
    public final class Emitter: Sendable {
        // Read only; weak references are safe to read.
        private nonisolated(unsafe) weak var task: Task<T>?
        private let attempt: UInt16
        /// Somebody had it when the body returned.
        let isKept = Atomic(false)

        init(of task: Task<T>, attempt: UInt16) {
            unsafe self.task = task
            self.attempt = attempt
        }

        deinit {
            // relaxed: the counts of references order it. Attempts beyond the greatest number share one: theirs may be
            // another's.
            guard isKept.load(ordering: .relaxed), attempt < .max, let task = unsafe task, task.isUnderWay(attempt) else { return }
            // Whoever lets go may hold locks of the program's, which handlers want.
            TaskQueue.inner.async { [attempt] in task.accept(.failure(TaskError.abandoned), attempt: attempt) }
        }

        /// Says something about the task.
        ///
        /// - Ordering: Updates are handed on in the order in which they were said, one at a time, and the end after
        ///   them.
        /// - Threading: Any thread; handlers run on it, or on one that is at an earlier event.
        /// - Cost: A lock, and the handlers.
        public func callAsFunction(_ event: Event) {
            unsafe task?.accept(event, attempt: attempt)
        }

        /// Says an update, which counts if `isWanted` holds when the updates before have been handed on. Nothing overtakes
        /// in between: a newer source that makes `isWanted` false says its first update later.
        func update(_ value: T, if isWanted: @escaping @Sendable () -> Bool) {
            guard let task = unsafe task, task.isUnderWay(attempt) else { return }
            task.typedExtras.handle(.updateIf(value, attempt: attempt, isWanted: isWanted), for: task)
        }

        /// Says a failure in the same manner.
        func fail(_ error: any Error, if isWanted: @escaping @Sendable () -> Bool) {
            guard let task = unsafe task, task.isUnderWay(attempt) else { return }
            task.typedExtras.handle(.failureIf(error, attempt: attempt, isWanted: isWanted), for: task)
        }

        /// Where tasks that this one is made of belong; nil where it is on no queue.
        var partsQueue: TaskQueue? { unsafe task?.queueTasks?.1 }

        /// What it has said was discarded on its way.
        func isDiscarded() {
            if let task = unsafe task, task.isUnderWay(attempt) { task.cancel() }
        }

        /// Whether anybody still listens.
        public var isActive: Bool {
            unsafe task?.isUnderWay(attempt) ?? false
        }
    }

    /// A progressive task: any number of values, then the end.
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
    /// - Parameter start: Begins the work, and returns the cleanup. The cleanup runs once at the end of the attempt:
    ///   outcome, failure, cancellation, or release of the task.
    /// - Ordering: `start` is called once for each attempt, the cleanup once after each.
    /// - Threading: `start` runs where the task does. The cleanup runs on the thread that ends the attempt or
    ///   releases the task.
    /// - Cost: The task and the closure; an emitter for each attempt, and a task's extras with the first event.
    public convenience init(_ start: @escaping @Sendable (Emitter) -> sending (() -> Void)) {
        self.init(body: .progressive(start))
    }

    /// A task that has nothing to do: its value is an update and the outcome.
    ///
    ///     let cached = Task(value: image)
    ///
    /// - Parameters:
    ///   - before: Leave it out: it takes a closure that would else be the value, so that Swift's `Task { … }` does not
    ///     compile here. A closure that is meant as the value is written in the parentheses.
    ///   - value: The value.
    ///   - after: Leave it out, too: the same for the compiler's Swift 5 mode, which looks from the end.
    /// - Ordering: An update, then the outcome, when the task is started.
    /// - Threading: Any thread.
    /// - Cost: As of a progressive task.
    public convenience init(_ before: NoClosure? = nil, value: T, _ after: NoClosure? = nil) {
        self.init { emit in
            emit(.value(value))
            return {}
        }
    }

    /// A type that no program's closure has: see ``init(_:value:_:)``.
    public typealias NoClosure = (Never) -> Void

    /// A task that has nothing to do but fail.
    ///
    /// - Ordering: The failure comes when the task is started.
    /// - Threading: Any thread.
    /// - Cost: As of a progressive task.
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

    /// Keeps what ends the attempt; if it has ended, does it.
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
