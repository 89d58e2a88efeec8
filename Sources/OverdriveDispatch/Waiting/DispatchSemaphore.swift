// Owns the drop-in semaphore over a CountingSemaphore. Programs call it.

public import Dispatch
internal import OverdriveCore

/// Counts permits and gives each to the thread that has waited longest. It wraps `CountingSemaphore`.
///
///     let done = DispatchSemaphore(value: 0)
///     load { done.signal() }
///     done.wait()
public final class DispatchSemaphore: DispatchObject, @unchecked Sendable {
    private let semaphore: CountingSemaphore

    /// Creates a semaphore with a number of permits. Traps if it is negative.
    public init(value: Int) {
        if value < 0 { trap("DispatchSemaphore(value:): negative number (\(value)). Choose 0 or more.") }
        semaphore = CountingSemaphore(value: value)
    }

    /// Adds a permit.
    ///
    /// - Returns: 0 if no thread waited; otherwise another number.
    @discardableResult
    public func signal() -> Int {
        semaphore.signal() ? 1 : 0
    }

    /// Waits for a permit and takes it.
    public func wait() {
        semaphore.wait()
    }

    /// Waits for a permit, but at most until `timeout`, and takes it.
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    /// Waits for a permit, but at most until `wallTimeout`, and takes it.
    public func wait(wallTimeout: DispatchWallTime) -> DispatchTimeoutResult {
        wait(wallTimeout.fromNow)
    }

    private func wait(_ limit: Duration?) -> DispatchTimeoutResult {
        guard let limit else {
            semaphore.wait()
            return .success
        }
        return semaphore.wait(timeout: limit).dispatched
    }
}
