// Owns the functions that wait for a task: `value`, `result()`, `updates` and the blocking waits. Programs call them.
// They never start a task.

public import OverdriveCore
internal import Synchronization

extension Task {
    /// Waits for the task without blocking a thread, and returns its value.
    ///
    ///     let logo = try await queue.add { try loadLogo() }.value
    ///
    /// Cancelling the caller does not cancel the task; see ``value(cancelling:)``. If the task is neither added nor
    /// started within 5 seconds, a warning names it (`Scheduler.onWarning`).
    ///
    /// - Throws: The task's error; `CancellationError` if the task was cancelled.
    public final var value: T {
        get async throws {
            if let result { return try result.get() }
            remindIfForgotten()
            return try await unsafe withUnsafeThrowingContinuation { unsafe add(.continuation($0)) }
        }
    }

    /// Waits for the value, and optionally cancels the task if the caller is cancelled.
    ///
    /// - Parameter cancelling: Whether cancelling the caller also cancels the task.
    /// - Throws: The task's error; `CancellationError` if the task was cancelled.
    /// - Ordering: The writes of the body are visible afterwards.
    /// - Threading: Any Swift task. It does not block the thread.
    /// - Cost: A load if the task has finished; otherwise a handler, a suspension and a cancellation handler.
    public final func value(cancelling: Bool) async throws -> T {
        guard cancelling else { return try await value }
        return try await withTaskCancellationHandler { try await value } onCancel: { cancel() }
    }

    /// Waits for the task without blocking a thread, and returns its outcome.
    ///
    /// - Returns: The outcome.
    /// - Ordering: The writes of the body are visible afterwards.
    /// - Threading: Any Swift task. It does not block the thread. Cancelling the caller does not cancel the task.
    /// - Cost: A load if the task has finished; otherwise a handler and a suspension.
    public final func result() async -> Result<T, any Error> {
        do { return .success(try await value) } catch { return .failure(error) }
    }

    /// The task's updates as a stream. The stream begins with the last earlier update, if there was one. It ends with
    /// the value, unless the value was the last update.
    ///
    ///     for try await list in issues.updates { show(list) }
    ///
    /// The task continues if the loop ends early or its Swift task is cancelled. The stream keeps the newest 1,024
    /// updates for a slow loop; see ``updates(bufferingPolicy:)``.
    ///
    /// - Throws: The task's error, as the end of the stream.
    public final var updates: AsyncThrowingStream<T, any Error> {
        updates(bufferingPolicy: .bufferingNewest(1_024))
    }

    /// Returns the task's updates as a stream with a buffering policy.
    ///
    ///     for try await reading in sensor.updates(bufferingPolicy: .bufferingNewest(1)) { show(reading) }
    ///
    /// - Parameter bufferingPolicy: The updates to keep for a slow loop; `.unbounded` keeps all. The value at the end
    ///   counts as an update.
    /// - Throws: The task's error, as the end of the stream.
    /// - Ordering: Updates come in the order of emission, and the value last.
    /// - Threading: Any thread. A stream has one reader.
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
            // Set before the listener can learn of the end. The closure holds weak references only, because both
            // objects hold the continuation.
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
    /// - Parameter timeout: The longest wait. Zero or less only checks.
    /// - Returns: `.success` if the task has finished, with any outcome.
    /// - Ordering: After `.success` the writes of the body are visible.
    /// - Threading: Any thread. A spare replaces a waiting worker. In the task's body the call waits for the timeout,
    ///   unless another thread finishes the task.
    /// - Cost: A load if the task has finished; otherwise a group for all waiters, and a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write try await task.value")
    @discardableResult
    public final func wait(timeout: Duration) -> WaitGroup.WaitResult {
        isFinished ? .success : completionGroup().wait(overriding: assignedQueue, qos, timeout: timeout, as: "for a task")
    }

    /// Blocks until the task has finished, and returns its value.
    ///
    /// - Returns: The value.
    /// - Throws: The task's error; `CancellationError` if the task was cancelled.
    /// - Ordering: The writes of the body are visible afterwards.
    /// - Threading: The rules of ``AnyTask/waitUntilFinished()``.
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
    /// Blocks until the task has finished, and returns its value.
    ///
    /// - Ordering: The writes of the body are visible afterwards.
    /// - Threading: Any thread. A spare replaces a waiting worker. Traps if the task would wait for itself: in its
    ///   body, its branches, and code that it called or started on its thread. After the body has set the outcome, it
    ///   may wait. Also traps in `taskWillFinishExecution`, `taskDidRetry` and `onCancel`, which run before the end.
    /// - Cost: A load if the task has finished; otherwise a group for all waiters, and a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await task.finished()")
    public final func waitUntilFinished() {
        waitUntilFinished(calledAs: "waitUntilFinished()")
    }

    final func waitUntilFinished(calledAs call: StaticString) {
        let standing = standing
        if standing.phase == .finished { return }
        // If the outcome is decided, another thread is publishing it, so the wait will end.
        if !standing.isSettled, CurrentWorkPlace.isWithin(self) {
            trap("Task.\(call): the body would wait for its own task (\(title)). Return from the body, or finish the task.")
        }
        if isToldHere {
            trap(
                "Task.\(call): this callback runs before the end of the task, so the wait would never end (\(title)). "
                    + "Wait in an onCompletion handler, or on another thread.")
        }
        remindIfForgotten()
        _ = completionGroup().wait(overriding: assignedQueue, qos, as: "for a task")
    }

    /// Warns after 5 seconds if no thread has added or started the task that a thread waits for.
    final func remindIfForgotten() {
        guard standing.phase == .initialized else { return }
        TaskQueue.inner.asyncAfter(.seconds(5)) { [weak self] in
            guard let self, state == .initialized else { return }
            warn("Task.wait: the task is in no queue and was not started (\(title)). Call queue.add(task:) or start().")
        }
    }
}
