// Owns the lock of the drop-in's open classes. It never runs code of the program.

internal import OverdriveCore
internal import Synchronization

/// A lock for the variables of open classes. These variables hold closures and objects of subclasses, which are not
/// `Sendable`.
struct CriticalSection: ~Copyable, Sendable {
    private let lock = Locked(())

    /// Runs `body` while no other thread is inside the section.
    borrowing func callAsFunction<R>(_ body: () -> R) -> R {
        nonisolated(unsafe) var result: R?
        lock.withLock { _ in unsafe result = body() }
        guard let result = unsafe result else { trap("CriticalSection: the body did not run") }
        return result
    }
}
