// Owns the public cancellation token. Programs cancel it; operations and task graphs read it. It never interrupts
// running code.

internal import Synchronization

/// Cancels work from any thread.
///
///     let token = CancellationToken()
///     stopButton.onClick { token.cancel() }
///     try Parallel(token: token).forEach(0..<frames.count) { i throws in render(frames[i]) }
///
/// Running parts of the work are not interrupted; they may check ``Cancellation``.
///
/// - Threading: Any thread.
/// - Cost: A check is one load.
public final class CancellationToken: Sendable {
    private let cancelled = Atomic(false)
    /// The handlers to call on cancellation, by number.
    private let calls = Locked<(last: Int, pending: [Int: @Sendable () -> Void])>((0, [:]))

    /// Creates a token that is not cancelled.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool {
        // Acquire: pairs with the release in `cancel`, so that earlier writes of its caller are visible.
        cancelled.load(ordering: .acquiring)
    }

    /// Cancels all work that has this token. A cancellation cannot be undone.
    ///
    /// - Ordering: Earlier writes are visible to the work that sees the cancellation.
    /// - Threading: Any thread.
    /// - Cost: One store and one lock, and the cancellation of each run of a task graph with this token.
    public func cancel() {
        cancelled.store(true, ordering: .releasing)
        let pending = calls.withLock { calls in
            defer { calls.pending = [:] }
            return Array(calls.pending.values)
        }
        for call in pending { call() }
    }

    /// Registers `call` for the cancellation of the token. If the token is already cancelled, `call` runs at once.
    ///
    /// - Returns: The number of the handler, for ``withdraw(_:)``.
    package func onCancel(_ call: @escaping @Sendable () -> Void) -> Int {
        let number = calls.withLock { calls in
            calls.last += 1
            calls.pending[calls.last] = call
            return calls.last
        }
        // `cancel` stores the flag before it takes the lock. So either it finds the handler, or this thread sees the
        // flag.
        if isCancelled, withdraw(number) { call() }
        return number
    }

    /// Removes a handler. Returns false if the handler was already called, and may still run.
    @discardableResult
    package func withdraw(_ number: Int) -> Bool {
        calls.withLock { $0.pending.removeValue(forKey: number) != nil }
    }
}
