public import OverdriveCore
internal import Synchronization

extension Task {
    /// The value, when the task has finished.
    ///
    ///     let logo = try await queue.add { try loadLogo() }.value
    ///
    /// The caller's cancellation does not affect the task; see ``value(cancelling:)``. If the task was neither added
    /// nor started five seconds later, a warning names it (`Scheduler.onWarning`).
    ///
    /// - Throws: The task's error; `CancellationError` when it was cancelled.
    public final var value: T {
        get async throws {
            if let result { return try result.get() }
            remindIfForgotten()
            return try await unsafe withUnsafeThrowingContinuation { unsafe add(.continuation($0)) }
        }
    }

    /// The value, when the task has finished. Cancels the task if the caller is cancelled.
    ///
    /// - Parameter cancelling: Whether the caller's cancellation cancels the task.
    /// - Throws: The task's error; `CancellationError` when it was cancelled.
    /// - Ordering: What the body wrote is visible.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: A load if the task has finished; otherwise a handler, a suspension and a cancellation handler.
    public final func value(cancelling: Bool) async throws -> T {
        guard cancelling else { return try await value }
        return try await withTaskCancellationHandler { try await value } onCancel: { cancel() }
    }

    /// The outcome, when the task has finished.
    ///
    /// - Ordering: What the body wrote is visible.
    /// - Threading: Any task of Swift's; no thread is held. The caller's cancellation leaves the task alone.
    /// - Cost: A load if the task has finished; otherwise a handler and a suspension.
    public final func result() async -> Result<T, any Error> {
        do { return .success(try await value) } catch { return .failure(error) }
    }

    /// The task's updates, the last one first of all if there were some; at the end the value, unless it was the
    /// last update.
    ///
    ///     for try await list in issues.updates { show(list) }
    ///
    /// A loop that is left early, or whose task is cancelled, stops listening; the task continues. A loop that is
    /// slower than the task misses updates. The newest 1,024 wait for it; see ``updates(bufferingPolicy:)``.
    ///
    /// - Throws: The task's error, as the end of the stream.
    public final var updates: AsyncThrowingStream<T, any Error> {
        updates(bufferingPolicy: .bufferingNewest(1_024))
    }

    /// The same with as many updates waiting for a slow loop as you say.
    ///
    ///     for try await reading in sensor.updates(bufferingPolicy: .bufferingNewest(1)) { show(reading) }
    ///
    /// - Parameter bufferingPolicy: Which updates are kept for a loop that does not come for them. `.unbounded` keeps all,
    ///   for as long as the task is faster. The value at the end counts as an update.
    /// - Throws: The task's error, as the end of the stream.
    /// - Ordering: Updates come in the order in which they were emitted, the value last.
    /// - Threading: Any thread; a stream is for one reader.
    /// - Cost: Three allocations, and a lock for each update.
    public final func updates(
        bufferingPolicy: AsyncThrowingStream<T, any Error>.Continuation.BufferingPolicy
    ) -> AsyncThrowingStream<T, any Error> {
        AsyncThrowingStream(bufferingPolicy: bufferingPolicy) { continuation in
            let subscription = subscribe { continuation.yield($0) }
            let listener = Listener<T> { [weak self] outcome in
                let wasUpdate = self?.isLastUpdateTheValue ?? false
                let end = {
                    switch outcome {
                    case .success(let value):
                        if !wasUpdate { continuation.yield(value) }
                        continuation.finish()
                    case .failure(let error):
                        continuation.finish(throwing: error)
                    }
                }
                guard let self else { return end() }
                call(behind: subscription) { Bounce.outside(end) }
            }
            // Before the listener can hear of the end. It holds neither: they have the continuation.
            continuation.onTermination = { [weak self, weak subscription, weak listener] _ in
                self?.forget(subscription, listener)
            }
            addBeside(listener)
        }
    }

    final var isLastUpdateTheValue: Bool {
        typedExtrasIfAny?.typed { $0.lastUpdate != nil && $0.endedWithUpdate } ?? false
    }

    /// Blocks until the task has finished, or until `timeout` has passed.
    ///
    /// - Parameter timeout: How long to wait; zero or less only looks.
    /// - Returns: `.success` if the task has finished, with any outcome.
    /// - Ordering: After `.success` what the body wrote is visible.
    /// - Threading: Any thread. A spare replaces a waiting worker. In the task's body it waits for the timeout,
    ///   unless another thread finishes the task.
    /// - Cost: A load if the task has finished; otherwise a group for all waiters, and a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write try await task.value")
    @discardableResult
    public final func wait(timeout: Duration) -> WaitGroup.WaitResult {
        isFinished ? .success : completionGroup().wait(overriding: assignedQueue, qos, timeout: timeout)
    }

    /// Blocks until the task has finished.
    ///
    /// - Returns: The value.
    /// - Throws: The task's error; `CancellationError` when it was cancelled.
    /// - Ordering: What the body wrote is visible.
    /// - Threading: As ``AnyTask/waitUntilFinished()``.
    /// - Cost: A load if the task has finished; otherwise a group for all waiters, and a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write try await task.value")
    @discardableResult
    public final func wait() throws -> T {
        waitUntilFinished(calledAs: "wait()")
        guard let result else { trap("Task.wait() of \(title): the task has finished without an outcome") }
        return try result.get()
    }

}

extension AnyTask {
    /// Blocks until the task has finished.
    ///
    /// - Ordering: What the body wrote is visible.
    /// - Threading: Any thread. A spare replaces a waiting worker. Traps if the task would wait for itself: in its
    ///   body, its branches, and code that it called or started on its thread. A body whose outcome is there may
    ///   wait. Traps also in `taskWillFinishExecution`, `taskDidRetry` and `onCancel`, which run before the end.
    /// - Cost: A load if the task has finished; otherwise a group for all waiters, and a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await task.result(), or await queue.drained() for an AnyTask")
    public final func waitUntilFinished() {
        waitUntilFinished(calledAs: "waitUntilFinished()")
    }

    final func waitUntilFinished(calledAs call: StaticString) {
        let standing = standing
        if standing.phase == .finished { return }
        // One that is settled is being published: by another thread, which comes to the end of it.
        if !standing.isSettled, CurrentWorkPlace.isWithin(self) {
            trap("Task.\(call): the body would wait for its own task (\(title)). Return from the body, or finish the task.")
        }
        if isToldHere {
            trap(
                "Task.\(call): an observer, delegate or handler before the end would wait for itself (\(title)). "
                    + "Wait in an onCompletion handler, or on another thread.")
        }
        remindIfForgotten()
        _ = completionGroup().wait(overriding: assignedQueue, qos)
    }

    /// Somebody waits for the task: says so later, if nobody has added or started it by then.
    final func remindIfForgotten() {
        guard standing.phase == .initialized else { return }
        TaskQueue.inner.asyncAfter(.seconds(5)) { [weak self] in
            guard let self, state == .initialized else { return }
            warn("Task.wait: the task is in no queue and was not started (\(title)). Call queue.add(task:) or start().")
        }
    }
}
