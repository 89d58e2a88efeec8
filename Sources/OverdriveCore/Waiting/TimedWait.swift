// Owns the awaiting waits with a timeout. Groups, semaphores, items and queues call it. It never blocks a thread.

internal import Synchronization

/// A task's wait that ends with an event or with its timeout, whichever comes first. The awaiting waits with a timeout
/// are made of it. It never blocks a thread, and it does not withdraw the event.
@safe package final class TimedWait: Sendable {
    private let hasEnded = Atomic(false)
    // Written before the wait is shared, and resumed by the thread that ends the wait.
    private nonisolated(unsafe) var continuation: UnsafeContinuation<WaitGroup.WaitResult, Never>?

    private init() {}

    private func end(_ result: WaitGroup.WaitResult) {
        // Acquires the continuation, releases what led to the event.
        if hasEnded.exchange(true, ordering: .acquiringAndReleasing) { return }
        Handoff.sends(by: self)
        unsafe continuation?.resume(returning: result)
    }

    /// Suspends until the closure that `begin` receives is called, but no longer than `timeout`.
    package static func until(
        _ timeout: Duration, isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping @Sendable () -> Void) -> Void
    ) async -> WaitGroup.WaitResult {
        guard timeout > .zero else { return .timedOut }
        let wait = TimedWait()
        let result = await unsafe withUnsafeContinuation { continuation in
            unsafe wait.continuation = continuation
            let timer = TaskQueue.Timer.timeout(timeout) { wait.end(.timedOut) }
            begin {
                wait.end(.success)
                timer.cancel()
            }
        }
        Handoff.received(by: wait)
        return result
    }
}

extension TaskQueue {
    /// Suspends until nothing is pending, but no longer than `timeout`.
    ///
    ///     if await queue.drained(timeout: .seconds(5)) == .timedOut { queue.cancelAll() }
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` if something was still pending.
    /// - Ordering: As of ``drained()``.
    /// - Threading: Any task; no thread is held.
    /// - Cost: A Swift task, a timer and a suspension. After a timeout that task waits on, and keeps the queue until
    ///   nothing is pending.
    public func drained(timeout: Duration) async -> WaitGroup.WaitResult {
        if pendingTaskCount == 0, taskRegistry?.isEmpty != false { return .success }
        return await TimedWait.until(timeout) { done in
            _ = Task {
                await self.drained()
                done()
            }
        }
    }
}
