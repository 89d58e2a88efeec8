public import OverdriveCore
internal import Synchronization

extension Task {
    /// The value, when the task is over.
    ///
    ///     let logo = try await queue.add { try loadLogo() }.value
    ///
    /// The caller's cancellation leaves the task alone; see ``value(cancelling:)``.
    ///
    /// - Throws: The task's error; `CancellationError` when it was cancelled.
    public final var value: T {
        get async throws {
            if let result { return try result.get() }
            return try await withUnsafeThrowingContinuation { add(.continuation($0)) }
        }
    }

    /// The value, when the task is over, cancelling the task when the caller is cancelled.
    ///
    /// - Parameter cancelling: Whether the caller's cancellation cancels the task.
    public final func value(cancelling: Bool) async throws -> T {
        guard cancelling else { return try await value }
        return try await withTaskCancellationHandler { try await value } onCancel: { cancel() }
    }

    /// The outcome, when the task is over.
    public final func result() async -> Result<T, any Error> {
        do { return .success(try await value) } catch { return .failure(error) }
    }

    /// The task's updates, the last one first of all if there were some; at the end the value, unless it was the
    /// last update.
    ///
    ///     for try await list in issues.updates { show(list) }
    ///
    /// - Throws: The task's error, as the end of the stream.
    public final var updates: AsyncThrowingStream<T, any Error> {
        AsyncThrowingStream { continuation in
            let subscription = subscribe { continuation.yield($0) }
            add(.completion { [weak self] outcome in
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
                call(behind: subscription) { Bounce.aside(end) }
            })
        }
    }

    final var isLastUpdateTheValue: Bool {
        typedExtrasIfAny?.typed { $0.lastUpdate != nil && $0.endedWithUpdate } ?? false
    }

    /// Blocks until the task is over, but no longer than `timeout`.
    ///
    /// - Parameter timeout: How long to wait; zero or less only looks.
    /// - Returns: `.success` when it is over, however it ended.
    /// - Threading: On a worker another one takes its place meanwhile.
    @available(*, noasync, message: "it blocks the thread: write try await task.value")
    @discardableResult
    public final func wait(timeout: Duration) -> WaitGroup.WaitResult {
        isFinished ? .success : completionGroup().wait(lendingTo: home, qos, timeout: timeout)
    }

    /// Blocks until the task is over.
    ///
    /// - Returns: The value.
    /// - Throws: The task's error; `CancellationError` when it was cancelled.
    @available(*, noasync, message: "it blocks the thread: write try await task.value")
    @discardableResult
    public final func wait() throws -> T {
        waitUntilFinished()
        guard let result else { trap("Task.wait() of \(title): it is over and has no outcome") }
        return try result.get()
    }

}

extension AnyTask {
    /// Blocks until the task is over.
    ///
    /// - Threading: On a worker another one takes its place meanwhile.
    @available(*, noasync, message: "it blocks the thread: write await task.result()")
    public final func waitUntilFinished() {
        if !isFinished { _ = completionGroup().wait(lendingTo: home, qos) }
    }
}
