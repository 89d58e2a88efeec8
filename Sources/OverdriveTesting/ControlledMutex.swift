// Owns the mutex of code under test. Outside a run it is the standard library's mutex.

internal import OverdriveCore
internal import Synchronization

/// A mutex with a scheduling point before each lock. In a run it hands the baton over instead of blocking.
///
///     let balance = ControlledMutex(100) // or: typealias Mutex = ControlledMutex
///     balance.withLock { $0 -= 10 }
///
/// A standard mutex that is held across a scheduling point blocks its next thread for real, and the run is stuck.
///
/// - Threading: Any thread. The lock is not recursive: in a run, a second lock on one thread is a deadlock. Threads inside
///   and outside a run do not exclude each other.
/// - Cost: In a run, one decision per lock; outside, one lock of the standard library.
public final class ControlledMutex<Value>: @unchecked Sendable {
    // Written by the thread that holds the mutex.
    private nonisolated(unsafe) var value: Value
    private let real = Mutex(())
    // Inside a run. Its lock orders the holders for the thread sanitizer, which does not see the baton.
    private let isHeld = Locked(false)

    /// Creates a mutex that protects `value`.
    ///
    /// - Parameter value: The protected value.
    public init(_ value: sending Value) {
        unsafe self.value = value
    }

    /// Runs `body` with the value while no other thread is inside.
    ///
    /// - Parameters:
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    ///   - body: The critical section.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    public func withLock<Result, E: Error>(
        file: StaticString = #fileID, line: UInt32 = #line, _ body: (inout Value) throws(E) -> Result
    ) throws(E) -> Result {
        guard ControlledRun.isInside else {
            real._unsafeLock()
            defer { real._unsafeUnlock() }
            return try unsafe body(&value)
        }
        ControlledRun.point(.locks, label: "a mutex", file: file, line: line)
        while !take() { ControlledRun.wait(self, "for a mutex") }
        defer {
            isHeld.withLock { $0 = false }
            ControlledRun.wake(self)
        }
        return try unsafe body(&value)
    }

    /// Returns whether the mutex was free. The calling thread then holds it.
    private func take() -> Bool {
        isHeld.withLock { isHeld in
            defer { isHeld = true }
            return !isHeld
        }
    }
}
