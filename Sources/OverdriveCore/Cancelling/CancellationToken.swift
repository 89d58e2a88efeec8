internal import Synchronization

/// Asks work to stop, from anywhere.
///
///     let token = CancellationToken()
///     stopButton.onClick { token.cancel() }
///     try Parallel(token: token).forEach(0..<frames.count) { i throws in render(frames[i]) }
///
/// Parts of the work that run are not interrupted; they may ask ``Cancellation``.
///
/// - Threading: Safe from any thread.
/// - Cost: Asking is one load.
public final class CancellationToken: Sendable {
    private let cancelled = Atomic(false)
    /// Calls that `cancel` makes, by number.
    private let calls = Locked<(last: Int, pending: [Int: @Sendable () -> Void])>((0, [:]))

    /// Makes a token that nobody has cancelled.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool {
        // `cancel`: what its caller wrote before is visible to who sees this.
        cancelled.load(ordering: .acquiring)
    }

    /// Asks everything that was given this token to stop. There is no way back.
    ///
    /// - Ordering: What was written before is visible to who sees the token cancelled.
    /// - Threading: Any thread.
    /// - Cost: One store and a lock, and the cancelling of each task graph's run that has this token.
    public func cancel() {
        cancelled.store(true, ordering: .releasing)
        let pending = calls.withLock { calls in
            defer { calls.pending = [:] }
            return Array(calls.pending.values)
        }
        for call in pending { call() }
    }

    /// Calls `call` once as the token is cancelled; now, if it is cancelled already.
    ///
    /// - Returns: The call's number, for ``withdraw(_:)``.
    package func onCancel(_ call: @escaping @Sendable () -> Void) -> Int {
        let number = calls.withLock { calls in
            calls.last += 1
            calls.pending[calls.last] = call
            return calls.last
        }
        // `cancel` stores before it takes the lock: it finds the call, or this finds the token cancelled.
        if isCancelled, withdraw(number) { call() }
        return number
    }

    /// Withdraws a call. False: it was made, and may be under way.
    @discardableResult
    package func withdraw(_ number: Int) -> Bool {
        calls.withLock { $0.pending.removeValue(forKey: number) != nil }
    }
}
