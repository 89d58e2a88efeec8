internal import CScheduler

/// A number of permits, handed to whoever has waited longest.
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
/// A permit that somebody waits for cannot be taken by who comes later, so nobody starves.
///
/// - Ordering: Waiters get permits in the order in which they got in line, threads and tasks alike. What
///   happened before ``signal()`` is visible to who got its permit.
/// - Threading: Safe from any thread. It traps when it goes away with fewer permits than it began with:
///   somebody still has one.
/// - Cost: One locked instruction where nobody has to wait, in `wait()` and in ``signal()``.
@safe public final class CountingSemaphore: Sendable {
    // The engine's semaphore is safe to share between threads; the pointer never changes.
    nonisolated(unsafe) private let handle: OpaquePointer

    /// How a wait with a timeout ended.
    public typealias WaitResult = WaitGroup.WaitResult

    /// A semaphore with `value` permits.
    ///
    /// - Parameter value: 0 or more; a negative number traps.
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

    /// Takes a permit, waiting in line for one.
    ///
    /// - Ordering: In the order in which waiters came; what was written before the signal is visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: One locked instruction where there is a permit; else a sleep in the kernel.
    public func wait() {
        _ = unsafe od_semaphore_wait(handle, .max)
    }

    /// Takes a permit, waiting in line for one, but no longer than `timeout`.
    ///
    ///     guard slots.wait(timeout: .milliseconds(50)) == .success else { return busy() }
    ///
    /// - Parameter timeout: How long to wait; zero or less only looks.
    /// - Returns: `.success` with a permit, `.timedOut` without. A signal that came before the time was over
    ///   is never lost: it was this waiter's or it is the next one's.
    /// - Ordering: In the order in which waiters came; with a permit, what was written before the signal is visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: One locked instruction where there is a permit; else a sleep in the kernel.
    public func wait(timeout: Duration) -> WaitResult {
        unsafe od_semaphore_wait(handle, timeout.nanoseconds) ? .success : .timedOut
    }

    /// Takes a permit, waiting in line for one until `deadline`.
    ///
    /// - Returns: `.success` with a permit, `.timedOut` without.
    /// - Ordering: As of ``wait(timeout:)``.
    /// - Threading: As of ``wait(timeout:)``.
    /// - Cost: As of ``wait(timeout:)``.
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: ContinuousClock.now.duration(to: deadline))
    }

    /// Takes a permit, suspended in line for one.
    ///
    ///     try await connections.wait()
    ///     defer { connections.signal() }
    ///
    /// - Throws: `CancellationError`, without a permit, when the calling task is cancelled before it has one.
    /// - Ordering: In the same line as threads.
    /// - Threading: Blocks no thread.
    /// - Cost: One locked instruction where there is a permit; else two allocations and a suspension.
    public func wait() async throws {
        try Task.checkCancellation()
        if unsafe od_semaphore_wait(handle, 0) { return }
        let waiter = Waiter(for: self)
        let taken = await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { unsafe waiter.begin($0) }
        } onCancel: {
            waiter.cancel()
        }
        if !taken { throw CancellationError() }
    }

    /// Gives a permit, to the longest waiter if there is one.
    ///
    /// - Returns: Whether somebody waited for it.
    /// - Ordering: What was written before is visible to who gets the permit.
    /// - Threading: Any thread, and closures that never waited.
    /// - Cost: One locked instruction; a futex call where a thread is to be woken.
    @discardableResult
    public func signal() -> Bool {
        unsafe od_semaphore_signal(handle)
    }

    /// A task in line.
    @safe private final class Waiter: Sendable {
        private let semaphore: CountingSemaphore
        // Set before the waiter is begun, which is what makes it known to others.
        nonisolated(unsafe) private var continuation: UnsafeContinuation<Bool, Never>?
        // The engine's waiter, which the engine guards; the pointer is set once, before it is shared.
        nonisolated(unsafe) private var waiter: OpaquePointer?

        init(for semaphore: CountingSemaphore) {
            self.semaphore = semaphore
            unsafe waiter = od_semaphore_waiter_create(Waiter.granted, Unmanaged.passUnretained(self).toOpaque())
            if unsafe waiter == nil { trap("CountingSemaphore.wait(): out of memory. Raise the memory limit.") }
        }

        deinit {
            unsafe od_semaphore_waiter_free(waiter)
        }

        /// In line it is kept until it is granted or cancelled.
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
    /// The semaphore in one line: the permits it has, or how many wait.
    public var description: String {
        let value = unsafe od_semaphore_value(handle)
        return value >= 0 ? "CountingSemaphore (permits: \(value))" : "CountingSemaphore (waiting: \(-value))"
    }
}
