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
    /// - Cost: One store; nobody is woken.
    public func cancel() {
        cancelled.store(true, ordering: .releasing)
    }
}
