public import Dispatch
internal import OverdriveCore

/// A number of permits, handed to whoever has waited longest; thin over `CountingSemaphore`.
///
///     let done = DispatchSemaphore(value: 0)
///     load { done.signal() }
///     done.wait()
public final class DispatchSemaphore: DispatchObject, @unchecked Sendable {
    private let semaphore: CountingSemaphore

    /// A semaphore with `value` permits, 0 or more; a negative number traps.
    public init(value: Int) {
        if value < 0 { trap("DispatchSemaphore(value:): negative number (\(value)). Choose 0 or more.") }
        semaphore = CountingSemaphore(value: value)
    }

    /// Gives a permit.
    ///
    /// - Returns: 0, or something else when somebody waited for it.
    @discardableResult
    public func signal() -> Int {
        semaphore.signal() ? 1 : 0
    }

    /// Takes a permit, waiting for one.
    public func wait() {
        semaphore.wait()
    }

    /// Takes a permit, waiting for one until `timeout`.
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    /// Takes a permit, waiting for one until `wallTimeout`.
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
