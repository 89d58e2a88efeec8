/// The error of ``withTimeout(_:clock:_:)`` when the time has passed.
public struct TimeoutError: Error, Hashable, CustomStringConvertible {
    /// The time that the body was given.
    public let timeout: Duration

    public var description: String { "withTimeout: no result within \(timeout)" }
}

/// The result of a child task of ``withTimeout(_:clock:_:)``.
private enum TimedOutcome<R: Sendable>: Sendable { case value(R), timedOut, cancelled }

/// Runs an asynchronous body, and cancels it when a time has passed.
///
///     let page = try await withTimeout(.seconds(2)) { try await client.get(url) }
///
/// The body is cancelled with the calling task, too. The call returns when the body has returned: a body that ignores its
/// cancellation delays the error.
///
/// - Parameters:
///   - timeout: The time that the body is given; zero or less cancels it at once.
///   - clock: The clock that measures the time. A clock of a test may run faster.
///   - body: The work. It runs in a child task.
/// - Returns: The result of `body`, if it returns in time.
/// - Throws: ``TimeoutError`` if the time has passed first; otherwise the error of `body`.
/// - Ordering: The writes of `body` are visible afterwards.
/// - Threading: Any task; no thread is held.
/// - Cost: Two child tasks.
public func withTimeout<R: Sendable, C: Clock<Duration>>(
    _ timeout: Duration, clock: C = .continuous, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
    try await withThrowingTaskGroup(of: TimedOutcome<R>.self) { group in
        group.addTask { .value(try await body()) }
        group.addTask {
            do { try await Task.sleep(for: max(.zero, timeout), clock: clock) } catch { return .cancelled }
            return .timedOut
        }
        defer { group.cancelAll() }
        while let outcome = try await group.next() {
            switch outcome {
            case .value(let value): return value
            case .timedOut: throw TimeoutError(timeout: timeout)
            case .cancelled: continue
            }
        }
        throw CancellationError()
    }
}
