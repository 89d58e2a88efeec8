public import OverdriveCore

extension AnyTask {
    /// Suspends until the task has finished.
    ///
    ///     for task in preparations {
    ///         if case .failure(let error) = await task.finished() { print(task, error) }
    ///     }
    ///
    /// The caller's cancellation does not affect the task. `Task.value` and `Task.result()` return the value, too.
    ///
    /// - Returns: The outcome without its value.
    /// - Ordering: The writes of the body are visible.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: A load if the task has finished; otherwise a handler and a suspension.
    @discardableResult
    public final func finished() async -> Result<Void, any Error> {
        if let outcome { return outcome }
        remindIfForgotten()
        // The group is left by a handler, which the end of the last reference serves, too.
        await completionGroup().wait()
        return outcome ?? .failure(CancellationError())
    }

    /// Suspends until the task has finished, but no longer than `timeout`.
    ///
    ///     if await task.finished(timeout: .seconds(2)) == .timedOut { task.cancel() }
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success` if the task has finished, with any outcome.
    /// - Ordering: After `.success` the writes of the body are visible.
    /// - Threading: Any task of Swift's; no thread is held. A timeout leaves the task alone.
    /// - Cost: A load if the task has finished; otherwise a handler, a timer and a suspension. The handler stays until the
    ///   task ends.
    public final func finished(timeout: Duration) async -> WaitGroup.WaitResult {
        isFinished ? .success : await completionGroup().wait(timeout: timeout)
    }
}
