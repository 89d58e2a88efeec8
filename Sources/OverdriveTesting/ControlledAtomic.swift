// Owns the atomic value of code under test. A mutex makes it atomic outside a run too.

internal import OverdriveCore
public import Synchronization

/// An atomic value with a scheduling point before each operation.
///
///     let count = ControlledAtomic(0) // or: typealias Atomic = ControlledAtomic
///     count.store(count.load() + 1) // a run finds the update that may be lost here
///     count.add(1) // no update is lost
///
/// All operations are sequentially consistent, whatever their `ordering` says: a run has no weaker orders.
///
/// - Threading: Any thread.
/// - Cost: In a run, one decision per operation; outside, one lock of the standard library.
public final class ControlledAtomic<Value: Equatable & Sendable>: Sendable {
    fileprivate let value: Mutex<Value>

    /// Creates an atomic value.
    ///
    /// - Parameter value: The initial value.
    public init(_ value: Value) {
        self.value = Mutex(value)
    }

    /// Returns the value.
    ///
    /// - Parameters:
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Returns: The current value.
    public func load(
        ordering: AtomicLoadOrdering = .sequentiallyConsistent, file: StaticString = #fileID, line: UInt32 = #line
    ) -> Value {
        ControlledRun.point(.atomic, label: "load", file: file, line: line)
        return value.withLock { $0 }
    }

    /// Replaces the value.
    ///
    /// - Parameters:
    ///   - new: The new value.
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    public func store(
        _ new: Value, ordering: AtomicStoreOrdering = .sequentiallyConsistent, file: StaticString = #fileID,
        line: UInt32 = #line
    ) {
        ControlledRun.point(.atomic, label: "store", file: file, line: line)
        value.withLock { $0 = new }
    }

    /// Replaces the value, and returns the old one.
    ///
    /// - Parameters:
    ///   - new: The new value.
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Returns: The value before.
    public func exchange(
        _ new: Value, ordering: AtomicUpdateOrdering = .sequentiallyConsistent, file: StaticString = #fileID,
        line: UInt32 = #line
    ) -> Value {
        ControlledRun.point(.atomic, label: "exchange", file: file, line: line)
        return value.withLock { value in
            defer { value = new }
            return value
        }
    }

    /// Replaces the value if it is `expected`.
    ///
    /// - Parameters:
    ///   - expected: The value to replace.
    ///   - desired: The new value.
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Returns: Whether the value was replaced, and the value before.
    @discardableResult
    public func compareExchange(
        expected: Value, desired: Value, ordering: AtomicUpdateOrdering = .sequentiallyConsistent,
        file: StaticString = #fileID, line: UInt32 = #line
    ) -> (exchanged: Bool, original: Value) {
        ControlledRun.point(.atomic, label: "compareExchange", file: file, line: line)
        return value.withLock { value in
            let original = value
            if original == expected { value = desired }
            return (original == expected, original)
        }
    }
}

extension ControlledAtomic where Value == Int {
    /// Adds to the value.
    ///
    /// - Parameters:
    ///   - amount: The number to add.
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Returns: The values before and after.
    @discardableResult
    public func add(
        _ amount: Int, ordering: AtomicUpdateOrdering = .sequentiallyConsistent, file: StaticString = #fileID,
        line: UInt32 = #line
    ) -> (oldValue: Int, newValue: Int) {
        ControlledRun.point(.atomic, label: "add", file: file, line: line)
        return value.withLock { value in
            value += amount
            return (value - amount, value)
        }
    }

    /// Subtracts from the value.
    ///
    /// - Parameters:
    ///   - amount: The number to subtract.
    ///   - ordering: Ignored.
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Returns: The values before and after.
    @discardableResult
    public func subtract(
        _ amount: Int, ordering: AtomicUpdateOrdering = .sequentiallyConsistent, file: StaticString = #fileID,
        line: UInt32 = #line
    ) -> (oldValue: Int, newValue: Int) {
        add(-amount, file: file, line: line)
    }
}
