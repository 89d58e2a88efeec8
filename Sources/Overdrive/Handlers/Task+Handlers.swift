public import OverdriveCore

/// Handlers: as many as you like, at any time, in registration order.
///
/// A handler that comes after the outcome is called at once. Where handlers finish or cancel further tasks, the handlers of
/// those run inside, up to 64 tasks deep. From there on they come on the same thread when the innermost handler has
/// returned: the result is there before, unless the task has observers or a delegate. Handlers run on the thread that
/// finishes the task (a late one: on the caller's), or where `on:` says: they are handed over, not awaited, before dependents
/// start. One that its queue takes back, in `cancelAll()` or because its scheduler is shut down, runs all the same, on a
/// worker of ``Scheduler/shared``: who waits for an end learns of it. Updates are left out then.
extension Task {
    /// Calls `body` with the value of a task that succeeds.
    ///
    ///     task.onValue { image in cache.store(image) }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order in which handlers were added; before dependents.
    /// - Threading: On the thread that finishes the task; a late one on the caller's.
    /// - Cost: The closure for a task's only handler; a lock for each further one, and two or three allocations for the first of these.
    @discardableResult
    public final func onValue(_ body: sending @escaping (T) -> Void) -> Self {
        add(.value(body))
        return self
    }

    /// Calls `body` on a queue with the value of a task that succeeds.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onValue(on queue: TaskQueue, _ body: @escaping @Sendable (T) -> Void) -> Self {
        onValue { value in queue.call { body(value) } }
    }

    /// Calls `body` on the main actor with the value of a task that succeeds.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onValue(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (T) -> Void) -> Self {
        onValue { value in TaskQueue.onMain { body(value) } }
    }

    /// Calls `body` with the error of a task that fails, but not of one that was cancelled.
    ///
    ///     task.onError { error in report(error) }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order in which handlers were added; before dependents.
    /// - Threading: On the thread that finishes the task; a late one on the caller's.
    /// - Cost: The closure for a task's only handler; a lock for each further one, and two or three allocations for the first of these.
    @discardableResult
    public final func onError(_ body: sending @escaping (any Error) -> Void) -> Self {
        add(.error(body))
        return self
    }

    /// Calls `body` on a queue with the error of a task that fails.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onError(on queue: TaskQueue, _ body: @escaping @Sendable (any Error) -> Void) -> Self {
        onError { error in queue.call { body(error) } }
    }

    /// Calls `body` on the main actor with the error of a task that fails.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onError(
        on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (any Error) -> Void
    ) -> Self {
        onError { error in TaskQueue.onMain { body(error) } }
    }

    /// The same as ``onError(_:)``.
    ///
    /// - Ordering: As of ``onError(_:)``.
    /// - Threading: As of ``onError(_:)``.
    /// - Cost: As of ``onError(_:)``.
    @discardableResult
    public final func onFailure(_ body: sending @escaping (any Error) -> Void) -> Self {
        onError(body)
    }

    /// The same as ``onError(on:_:)-(TaskQueue,_)``.
    ///
    /// - Ordering: As of ``onError(on:_:)-(TaskQueue,_)``.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onFailure(on queue: TaskQueue, _ body: @escaping @Sendable (any Error) -> Void) -> Self {
        onError(on: queue, body)
    }

    /// The same as ``onError(on:_:)-(MainActor.Type,_)``.
    ///
    /// - Ordering: As of ``onError(on:_:)-(MainActor.Type,_)``.
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
    /// - Ordering: In the order in which handlers were added; before dependents.
    /// - Threading: On the thread that finishes the task; a late one on the caller's.
    /// - Cost: The closure for a task's only handler; a lock for each further one, and two or three allocations for the first of these.
    @discardableResult
    public final func onCompletion(_ body: sending @escaping () -> Void) -> Self {
        // Handed over from here to the publisher, once.
        nonisolated(unsafe) let body = body
        add(.completion { _ in unsafe body() })
        return self
    }

    /// Calls `body` with the outcome when the task has finished.
    ///
    /// - Ordering: In the order in which handlers were added; before dependents.
    /// - Threading: On the thread that finishes the task; a late one on the caller's.
    /// - Cost: The closure for a task's only handler; a lock for each further one, and two or three allocations for the first of these.
    @discardableResult
    public final func onCompletion(_ body: sending @escaping (Result<T, any Error>) -> Void) -> Self {
        add(.completion(body))
        return self
    }

    /// Calls `body` on a queue when the task has finished.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onCompletion(on queue: TaskQueue, _ body: @escaping @Sendable () -> Void) -> Self {
        onCompletion { queue.call { body() } }
    }

    /// Calls `body` on the main actor when the task has finished.
    ///
    /// - Ordering: Handed over in the order in which handlers were added, before dependents are released; not awaited.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onCompletion(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable () -> Void) -> Self {
        onCompletion { TaskQueue.onMain { body() } }
    }

    /// Calls `body` at the moment of the cancellation, which may be before the outcome.
    ///
    ///     task.onCancel { connection.close() }
    ///
    /// - Returns: The task.
    /// - Ordering: In the order in which such handlers were added, and before the outcome where the body still runs.
    /// - Threading: On the thread that cancels; a late one on the caller's.
    /// - Cost: One allocation for the first of a task's extras, and a lock.
    @discardableResult
    public final func onCancel(_ body: sending @escaping () -> Void) -> Self {
        let isLate = makeExtras().locked { fields in
            // Whoever cancels later finds the extras that are there now; who has, is found here.
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
    /// - Ordering: Handed over in the order in which such handlers were added; not awaited.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A handler and a submission.
    @discardableResult
    public final func onCancel(on queue: TaskQueue, _ body: @escaping @Sendable () -> Void) -> Self {
        onCancel { queue.call { body() } }
    }

    /// Calls `body` on the main actor when the task is cancelled.
    ///
    /// - Ordering: Handed over in the order in which such handlers were added; not awaited.
    /// - Threading: The main thread.
    /// - Cost: A handler and a submission to libdispatch.
    @discardableResult
    public final func onCancel(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable () -> Void) -> Self {
        onCancel { TaskQueue.onMain { body() } }
    }

    /// Calls `body` with each update; with the last one at once, if there was one.
    ///
    ///     issues.onUpdate { list in print(list.count, "issues so far") }
    ///
    /// - Returns: The task.
    /// - Ordering: Updates come one at a time, in the order in which they were emitted, before the outcome that an emitter
    ///   brings. One that another thread hands to ``Task/finish(with:)`` may be there while handlers are at the last update.
    /// - Threading: On the thread that emits, or on one that is at an earlier update; the last one at once on the
    ///   caller's.
    /// - Cost: Two allocations for the first of a task's extras, and a lock for each update.
    @discardableResult
    public final func onUpdate(_ body: sending @escaping (T) -> Void) -> Self {
        subscribe(body)
        return self
    }

    /// Calls `body` on a queue with each update; a serial one keeps their order.
    ///
    /// - Ordering: Handed over in the order in which they were emitted; on a concurrent queue several run at a time.
    /// - Threading: Where the queue's closures run.
    /// - Cost: A lock and a submission for each update.
    @discardableResult
    public final func onUpdate(on queue: TaskQueue, _ body: @escaping @Sendable (T) -> Void) -> Self {
        onUpdate { value in queue.async { body(value) } }
    }

    /// Calls `body` on the main actor with each update.
    ///
    /// - Ordering: In the order in which they were emitted.
    /// - Threading: The main thread.
    /// - Cost: A lock and a submission to libdispatch for each update.
    @discardableResult
    public final func onUpdate(on actor: MainActor.Type, _ body: @escaping @MainActor @Sendable (T) -> Void) -> Self {
        onUpdate { value in TaskQueue.onMain { body(value) } }
    }
}

extension TaskQueue {
    /// Runs a handler here, or elsewhere where this queue takes it back.
    fileprivate func call(_ body: @escaping @Sendable () -> Void) {
        let handler = HandedOver(body)
        async { handler.run() }
    }
}

/// What a queue's closure holds of a handler, and nobody else: one that is discarded instead of run goes elsewhere.
private final class HandedOver: Sendable {
    private let body: @Sendable () -> Void
    // Written by the one thread that runs it, read when the last reference is gone.
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
