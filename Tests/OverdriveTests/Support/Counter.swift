import Synchronization

/// A number that any thread may change.
final class Counter: Sendable {
    private let value: Atomic<Int>

    init(_ initial: Int = 0) {
        value = Atomic(initial)
    }

    var count: Int {
        value.load(ordering: .sequentiallyConsistent)
    }

    /// Returns the number afterwards.
    @discardableResult
    func add(_ amount: Int = 1) -> Int {
        value.add(amount, ordering: .sequentiallyConsistent).newValue
    }
}

/// How many are inside, and the most that were at once.
final class Crowd: Sendable {
    private let inside = Counter()
    private let record = Atomic(0)

    var most: Int {
        record.load(ordering: .sequentiallyConsistent)
    }

    func visit(_ body: () -> Void = {}) {
        _ = record.max(inside.add(), ordering: .sequentiallyConsistent)
        body()
        inside.add(-1)
    }
}

/// What was noted, in the order in which it was.
final class Log<Element: Sendable>: Sendable {
    private let entries = Mutex<[Element]>([])

    var all: [Element] {
        entries.withLock { $0 }
    }

    func note(_ element: Element) {
        entries.withLock { $0.append(element) }
    }
}

/// A variable for closures that are ordered by what is tested.
final class Holder<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// An error with a number.
struct Flaw: Error, Equatable {
    var number = 0
}
