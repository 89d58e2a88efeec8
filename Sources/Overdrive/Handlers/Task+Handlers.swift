// Owns the public functions that add handlers to a task. Programs call them. They never decide an outcome.

public import OverdriveCore

/// A task may have any number of handlers, added at any time. They are called in the order of registration.
///
/// Handlers run on the thread that finishes the task, or where `on:` says. A handler added after the outcome runs at
/// once on the caller's thread. With `on:`, the call is submitted before dependents start, and no thread waits for
/// it. If a queue discards a submitted handler, because of `cancelAll()` or a shutdown, a worker of
/// ``Scheduler/shared`` runs it instead. Discarded updates are dropped.
///
/// If handlers finish or cancel other tasks, the handlers of these tasks run nested, up to 64 tasks deep. Deeper
/// handlers run on the same thread after the innermost handler has returned. Their results are already available, unless
/// the task has observers or a delegate.
extension Task {
    /// Calls `body` with the value of a task that succeeds.
    ///
    ///     task.onValue { image in cache.store(image) }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order of registration, before dependents start.
    /// - Threading: The thread that finishes the task, or the caller's thread if the task has finished.
    /// - Cost: The closure, for a task's first handler. Each further handler costs a lock, and the second one also 2
    ///   or 3 allocations.
    @discardableResult
    public final func onValue(_ body: sending @escaping (T) -> Void) -> Self {
        add(.value(body))
        return self
    }

    /// Calls `body` on a queue with the value of a task that succeeds.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onValue(on queue: TaskQueue, _ body: @escaping @Sendable (T) -> Void) -> Self {
        onValue { value in queue.call { body(value) } }
    }

    /// Calls `body` on the main actor with the value of a task that succeeds.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onValue(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (T) -> Void) -> Self {
        onValue { value in TaskQueue.onMain { body(value) } }
    }

    /// Calls `body` with the error of a task that fails. It is not called for a cancelled task.
    ///
    ///     task.onError { error in report(error) }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order of registration, before dependents start.
    /// - Threading: The thread that finishes the task, or the caller's thread if the task has finished.
    /// - Cost: The closure, for a task's first handler. Each further handler costs a lock, and the second one also 2
    ///   or 3 allocations.
    @discardableResult
    public final func onError(_ body: sending @escaping (any Error) -> Void) -> Self {
        add(.error(body))
        return self
    }

    /// Calls `body` on a queue with the error of a task that fails.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onError(on queue: TaskQueue, _ body: @escaping @Sendable (any Error) -> Void) -> Self {
        onError { error in queue.call { body(error) } }
    }

    /// Calls `body` on the main actor with the error of a task that fails.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onError(
        on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (any Error) -> Void
    ) -> Self {
        onError { error in TaskQueue.onMain { body(error) } }
    }

    /// Calls `body` with the error of a task that fails; another name of ``onError(_:)``.
    ///
    /// - Parameter body: The handler.
    /// - Returns: The task.
    /// - Ordering: In the order of registration, before dependents start.
    /// - Threading: The thread that finishes the task, or the caller's thread if the task has finished.
    /// - Cost: The cost of ``onError(_:)``.
    @discardableResult
    public final func onFailure(_ body: sending @escaping (any Error) -> Void) -> Self {
        onError(body)
    }

    /// Calls `body` on a queue with the error of a task that fails; another name of ``onError(on:_:)-(TaskQueue,_)``.
    ///
    /// - Parameters:
    ///   - queue: The queue that runs the handler.
    ///   - body: The handler.
    /// - Returns: The task.
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onFailure(on queue: TaskQueue, _ body: @escaping @Sendable (any Error) -> Void) -> Self {
        onError(on: queue, body)
    }

    /// Calls `body` on the main actor with the error of a task that fails; another name of
    /// ``onError(on:_:)-(MainActor.Type,_)``.
    ///
    /// - Parameters:
    ///   - actor: `MainActor.self`.
    ///   - body: The handler.
    /// - Returns: The task.
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onFailure(
        on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (any Error) -> Void
    ) -> Self {
        onError(on: actor, body)
    }

    /// Calls `body` when the task has finished, whatever its outcome.
    ///
    ///     task.onCompletion { spinner.stop() }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order of registration, before dependents start.
    /// - Threading: The thread that finishes the task, or the caller's thread if the task has finished.
    /// - Cost: The closure, for a task's first handler. Each further handler costs a lock, and the second one also 2
    ///   or 3 allocations.
    @discardableResult
    public final func onCompletion(_ body: sending @escaping () -> Void) -> Self {
        // The closure is passed from this thread to the publisher, which calls it once.
        nonisolated(unsafe) let body = body
        add(.completion { _ in unsafe body() })
        return self
    }

    /// Calls `body` with the outcome when the task has finished.
    ///
    /// - Ordering: In the order of registration, before dependents start.
    /// - Threading: The thread that finishes the task, or the caller's thread if the task has finished.
    /// - Cost: The closure, for a task's first handler. Each further handler costs a lock, and the second one also 2
    ///   or 3 allocations.
    @discardableResult
    public final func onCompletion(_ body: sending @escaping (Result<T, any Error>) -> Void) -> Self {
        add(.completion(body))
        return self
    }

    /// Calls `body` on a queue when the task has finished.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onCompletion(on queue: TaskQueue, _ body: @escaping @Sendable () -> Void) -> Self {
        onCompletion { queue.call { body() } }
    }

    /// Calls `body` on a queue with the outcome when the task has finished.
    ///
    ///     task.onCompletion(on: .main) { outcome in show(outcome) }
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onCompletion(
        on queue: TaskQueue, _ body: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> Self {
        onCompletion { outcome in queue.call { body(outcome) } }
    }

    /// Calls `body` on the main actor when the task has finished.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onCompletion(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable () -> Void) -> Self {
        onCompletion { TaskQueue.onMain { body() } }
    }

    /// Calls `body` on the main actor with the outcome when the task has finished.
    ///
    /// - Ordering: Submitted in the order of registration, before dependents start. Dependents do not wait for the
    ///   handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onCompletion(
        on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (Result<T, any Error>) -> Void
    ) -> Self {
        onCompletion { outcome in TaskQueue.onMain { body(outcome) } }
    }

    /// Calls `body` when the task is cancelled, which may be before the outcome.
    ///
    ///     task.onCancel { connection.close() }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order of registration. If the body is running, before the outcome.
    /// - Threading: The thread that cancels, or the caller's thread if the task was cancelled before.
    /// - Cost: A lock, and one allocation for the first optional property of a task.
    @discardableResult
    public final func onCancel(_ body: sending @escaping () -> Void) -> Self {
        let isLate = makeExtras().locked { fields in
            // A later cancel finds the handler in this storage. An earlier cancel is visible in these flags.
            let standing = standingInFull
            if fields.cancelIsTold || standing.isCancelled || failure?.isCancellation == true { return true }
            if standing.phase != .finished { fields.cancelHandlers.append(body) }
            return false
        }
        if isLate { body() }
        return self
    }

    /// Calls `body` on a queue when the task is cancelled.
    ///
    /// - Ordering: Submitted in the order of registration. No thread waits for the handler.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onCancel(on queue: TaskQueue, _ body: @escaping @Sendable () -> Void) -> Self {
        onCancel { queue.call { body() } }
    }

    /// Calls `body` on the main actor when the task is cancelled.
    ///
    /// - Ordering: Submitted in the order of registration. No thread waits for the handler.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onCancel(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable () -> Void) -> Self {
        onCancel { TaskQueue.onMain { body() } }
    }

    /// Calls `body` with each update, and at once with the last update if there is one.
    ///
    ///     issues.onUpdate { list in print(list.count, "issues so far") }
    ///
    /// - Parameter body: The handler.
    /// - Returns: The task.
    /// - Ordering: One update at a time, in the order of emission, before an outcome of the emitter. An outcome
    ///   passed to ``Task/finish(with:)`` by another thread may be visible while handlers run for the last update.
    /// - Threading: The thread that emits, or a thread that is delivering an earlier update. The last update comes at
    ///   once on the caller's thread.
    /// - Cost: A lock for each update, and 2 allocations for the first optional property of a task.
    @discardableResult
    public final func onUpdate(_ body: sending @escaping (T) -> Void) -> Self {
        subscribe(body)
        return self
    }

    /// Calls `body` on a queue with each update. A serial queue keeps the order of the updates.
    ///
    /// - Parameters:
    ///   - queue: The queue that runs the handler.
    ///   - body: The handler.
    /// - Returns: The task.
    /// - Ordering: Submitted in the order of emission. A concurrent queue may run several calls at a time.
    /// - Threading: The thread that runs the queue's closures.
    /// - Cost: A lock and a submission for each update.
    @discardableResult
    public final func onUpdate(on queue: TaskQueue, _ body: @escaping @Sendable (T) -> Void) -> Self {
        onUpdate { value in queue.async { body(value) } }
    }

    /// Calls `body` on the main actor with each update.
    ///
    /// - Ordering: In the order of emission.
    /// - Threading: The main thread.
    /// - Cost: A lock and a submission to libdispatch for each update.
    @discardableResult
    public final func onUpdate(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (T) -> Void) -> Self {
        onUpdate { value in TaskQueue.onMain { body(value) } }
    }
}

extension TaskQueue {
    /// Runs a handler on this queue. If the queue discards the closure, a worker of ``Scheduler/shared`` runs the
    /// handler.
    fileprivate func call(_ body: @escaping @Sendable () -> Void) {
        let handler = HandedOver(body)
        async { handler.run() }
    }
}

/// A handler that was submitted to a queue. Only the queue's closure references it, so its deinitialiser detects a
/// discarded closure and runs the handler elsewhere.
private final class HandedOver: Sendable {
    private let body: @Sendable () -> Void
    // The thread that runs the handler writes the flag; `deinit` reads it after the last reference is gone.
    nonisolated(unsafe) private var hasRun = false

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func run() {
        unsafe hasRun = true
        body()
    }

    deinit {
        if unsafe !hasRun { TaskQueue.inner.async(execute: body) }
    }
}
