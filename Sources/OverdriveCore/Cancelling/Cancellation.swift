// Owns the public side of cancellation: the check, and the token. Closures check; programs cancel tokens, which operations
// and task graphs read. It never interrupts running code.

internal import Synchronization

/// Reports whether the calling work has been cancelled.
///
///     for chunk in chunks {
///         try Cancellation.check()
///         process(chunk)
///     }
///
/// In work of Overdrive, the answer refers to that work; elsewhere it refers to the current Swift task.
public enum Cancellation {
    /// Whether the running work was cancelled.
    ///
    /// - Cost: A thread-local load and one more load.
    public static var isRequested: Bool {
        CurrentWorkPlace.isRequested ?? Task.isCancelled
    }

    /// Returns if the running work is not cancelled.
    ///
    /// - Throws: `CancellationError` if the work was cancelled.
    /// - Ordering: Writes before the cancellation are visible to the work that sees it.
    /// - Threading: Any thread; the answer refers to the work that the thread runs.
    /// - Cost: A thread-local load and one more load.
    public static func check() throws(CancellationError) {
        if isRequested { throw CancellationError() }
    }
}

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
    /// - Cost: One store and one lock, the calls of its handlers, and the cancellation of each run of a task graph with
    ///   this token.
    public func cancel() {
        cancelled.store(true, ordering: .releasing)
        let pending = calls.withLock { calls in
            defer { calls.pending = [:] }
            return calls.pending.sorted { $0.key < $1.key }
        }
        for (_, call) in pending { call() }
    }

    /// A handler for the cancellation of a token.
    public struct Handler: Sendable {
        fileprivate let token: CancellationToken
        fileprivate let number: Int

        /// Removes the handler, and releases what its closure holds.
        ///
        /// - Returns: Whether the handler was removed before its call. Otherwise it was called, runs now or is about to run.
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One lock.
        @discardableResult
        public func remove() -> Bool { token.withdraw(number) }
    }

    /// Calls a closure when the token is cancelled, at once if it is cancelled already.
    ///
    ///     let token = CancellationToken()
    ///     let handler = token.onCancel { socket.close() }
    ///     defer { handler.remove() }
    ///     try receive(from: socket)
    ///
    /// The token holds the closure until its call or its removal.
    ///
    /// - Parameter body: The closure. It is called at most once.
    /// - Returns: The handler, to be removed by code that no longer needs it.
    /// - Ordering: Handlers that are registered before the cancel are called in the order of their registration.
    /// - Threading: The closure runs on the thread that cancels, or on this one.
    /// - Cost: One lock and one allocation.
    @discardableResult
    public func onCancel(_ body: @escaping @Sendable () -> Void) -> Handler {
        let handler = calls.withLock { calls in
            calls.last += 1
            calls.pending[calls.last] = body
            return Handler(token: self, number: calls.last)
        }
        // `cancel` stores the flag before it takes the lock. So either it finds the handler, or this thread sees the
        // flag.
        if isCancelled, handler.remove() { body() }
        return handler
    }

    fileprivate func withdraw(_ number: Int) -> Bool {
        // The closure is released after the lock, because deinitialisers of its captures may use the token.
        let call = calls.withLock { $0.pending.removeValue(forKey: number) }
        return call != nil
    }
}
