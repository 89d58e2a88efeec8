// Owns the counting semaphore for threads and tasks. Programs call it. It never gives a permit to a newcomer while
// others wait.

internal import CScheduler

/// A semaphore whose permits go to the longest waiters first.
///
///     let connections = CountingSemaphore(value: 4)
///     for url in urls {
///         queue.async {
///             connections.wait()
///             defer { connections.signal() }
///             fetch(url)
///         }
///     }
///
/// A newcomer cannot take a permit for which others wait, so no waiter starves.
///
/// - Ordering: Waiters get permits in the order of their calls, threads and tasks alike. Writes before
///   ``signal()`` are visible to the waiter that gets the permit.
/// - Threading: Any thread. The release of a semaphore with fewer permits than initially traps, because some code
///   still holds a permit.
/// - Cost: One locked instruction in `wait()` and in ``signal()``, if no thread must wait.
@safe public final class CountingSemaphore: Sendable {
    // The engine's semaphore is thread-safe, and the pointer never changes.
    nonisolated(unsafe) private let handle: OpaquePointer

    /// The result of a wait with a timeout.
    public typealias WaitResult = WaitGroup.WaitResult

    /// Creates a semaphore with `value` permits.
    ///
    /// - Parameter value: The initial number of permits, 0 or more; a negative number traps.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: Two allocations.
    public init(value: Int) {
        guard let semaphore = unsafe od_semaphore_create(Int64(value)) else {
            trap("CountingSemaphore(value:): out of memory. Raise the memory limit.")
        }
        unsafe handle = semaphore
    }

    deinit {
        unsafe od_semaphore_release(handle)
    }

    /// Takes a permit, or waits for one.
    ///
    /// - Ordering: In the order of the calls; writes before the signal are visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: One locked instruction where there is a permit; else a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await wait()")
    public func wait() {
        _ = unsafe od_semaphore_wait(handle, .max)
    }

    /// Takes a permit, or waits for one until `timeout` has passed.
    ///
    ///     guard slots.wait(timeout: .milliseconds(50)) == .success else { return busy() }
    ///
    /// - Parameter timeout: The maximum time to wait; zero or less only checks.
    /// - Returns: `.success` with a permit, `.timedOut` without. A signal before the timeout is never lost: either
    ///   this waiter or the next one gets its permit.
    /// - Ordering: In the order of the calls; with a permit, writes before the signal are visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: One locked instruction where there is a permit; else a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await wait(timeout:)")
    public func wait(timeout: Duration) -> WaitResult {
        unsafe od_semaphore_wait(handle, timeout.nanoseconds) ? .success : .timedOut
    }

    /// Takes a permit, or waits for one until `deadline`.
    ///
    /// - Returns: `.success` with a permit, `.timedOut` without.
    /// - Ordering: As of `wait(timeout:)`.
    /// - Threading: As of `wait(timeout:)`.
    /// - Cost: As of `wait(timeout:)`.
    @available(*, noasync, message: "it blocks the thread: write await wait(deadline:)")
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: EngineTime.left(until: deadline))
    }

    /// Takes a permit, or suspends the calling task until it gets one.
    ///
    ///     try await connections.wait()
    ///     defer { connections.signal() }
    ///
    /// - Throws: `CancellationError`, without a permit, if the calling task is cancelled before it gets one.
    /// - Ordering: In one wait queue with threads.
    /// - Threading: Any task; the wait blocks no thread.
    /// - Cost: One locked instruction if a permit is free; otherwise two allocations and one suspension.
    public func wait() async throws {
        try Task.checkCancellation()
        if unsafe od_semaphore_wait(handle, 0) { return }
        if await !isGranted(to: Waiter(for: self)) { throw CancellationError() }
    }

    /// Takes a permit, suspended in line for one, but no longer than `timeout`.
    ///
    ///     guard try await slots.wait(timeout: .milliseconds(50)) == .success else { return busy() }
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success` with a permit, `.timedOut` without.
    /// - Throws: `CancellationError`, without a permit, when the calling task is cancelled before it has one.
    /// - Ordering: In the same line as threads.
    /// - Threading: Blocks no thread.
    /// - Cost: One locked instruction where there is a permit; else two allocations, a timer and a suspension.
    public func wait(timeout: Duration) async throws -> WaitResult {
        try Task.checkCancellation()
        if unsafe od_semaphore_wait(handle, 0) { return .success }
        guard timeout > .zero else { return .timedOut }
        let waiter = Waiter(for: self)
        let timer = TaskQueue.Timer.timeout(timeout) { waiter.cancel() }
        defer { timer.cancel() }
        if await isGranted(to: waiter) { return .success }
        try Task.checkCancellation()
        return .timedOut
    }

    /// Takes a permit, suspended in line for one until `deadline`.
    ///
    /// - Parameter deadline: The end of the wait; an instant in the past only looks.
    /// - Returns: `.success` with a permit, `.timedOut` without.
    /// - Throws: `CancellationError`, without a permit, when the calling task is cancelled before it has one.
    /// - Ordering: In the same line as threads.
    /// - Threading: Blocks no thread.
    /// - Cost: As of the form with a timeout.
    public func wait(deadline: ContinuousClock.Instant) async throws -> WaitResult {
        try await wait(timeout: EngineTime.left(until: deadline))
    }

    /// Suspends in line; false if the waiter is cancelled first.
    private func isGranted(to waiter: Waiter) async -> Bool {
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { unsafe waiter.begin($0) }
        } onCancel: {
            waiter.cancel()
        }
    }

    /// Returns a permit, and gives it to the longest waiter if there is one.
    ///
    /// - Returns: Whether a waiter got the permit.
    /// - Ordering: Earlier writes are visible to the waiter that gets the permit.
    /// - Threading: Any thread, also one that never waited.
    /// - Cost: One locked instruction; also a futex call if a thread must be woken.
    @discardableResult
    public func signal() -> Bool {
        unsafe od_semaphore_signal(handle)
    }

    /// A task in the wait queue.
    @safe private final class Waiter: Sendable {
        private let semaphore: CountingSemaphore
        // Written before `od_semaphore_wait_async`, which shares the waiter with other threads.
        nonisolated(unsafe) private var continuation: UnsafeContinuation<Bool, Never>?
        // The engine protects its waiter; the pointer is set once in `init`.
        nonisolated(unsafe) private var waiter: OpaquePointer?

        init(for semaphore: CountingSemaphore) {
            self.semaphore = semaphore
            unsafe waiter = od_semaphore_waiter_create(Waiter.granted, Unmanaged.passUnretained(self).toOpaque())
            if unsafe waiter == nil { trap("CountingSemaphore.wait(): out of memory. Raise the memory limit.") }
        }

        deinit {
            unsafe od_semaphore_waiter_free(waiter)
        }

        /// Queues the waiter, which stays retained until it gets a permit or is cancelled.
        func begin(_ continuation: UnsafeContinuation<Bool, Never>) {
            unsafe self.continuation = continuation
            let kept = unsafe Unmanaged.passRetained(self)
            switch unsafe od_semaphore_wait_async(semaphore.handle, waiter) {
            case OD_SEMAPHORE_WAITS:
                break
            case let outcome:
                unsafe kept.release()
                unsafe continuation.resume(returning: outcome == OD_SEMAPHORE_TAKEN)
            }
        }

        func cancel() {
            guard unsafe od_semaphore_cancel(semaphore.handle, waiter) else { return }
            end(false)
            unsafe Unmanaged.passUnretained(self).release()
        }

        private func end(_ taken: Bool) {
            unsafe continuation?.resume(returning: taken)
        }

        private static let granted: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<Waiter>.fromOpaque(context).takeRetainedValue().end(true)
        }
    }
}

extension CountingSemaphore: CustomStringConvertible {
    /// The semaphore in one line: the number of free permits, or of waiters.
    public var description: String {
        let value = unsafe od_semaphore_value(handle)
        return value >= 0 ? "CountingSemaphore (permits: \(value))" : "CountingSemaphore (waiting: \(-value))"
    }
}
