internal import OverdriveCore
internal import Synchronization

/// A lock for classes whose variables stand beside it, as open classes need them: closures and overridable objects, of
/// which nobody can promise that they are sendable.
struct CriticalSection: ~Copyable, Sendable {
    private let lock = Locked(())

    /// Runs `body` alone.
    borrowing func callAsFunction<R>(_ body: () -> R) -> R {
        nonisolated(unsafe) var result: R?
        lock.withLock { _ in unsafe result = body() }
        guard let result = unsafe result else { trap("CriticalSection: the body did not run") }
        return result
    }
}
