internal import Foundation
internal import OverdriveCore
internal import Synchronization

/// A number that any thread may change.
package final class Counter: Sendable {
    private let value: Atomic<Int>

    package init(_ initial: Int = 0) {
        value = Atomic(initial)
    }

    package var count: Int {
        value.load(ordering: .sequentiallyConsistent)
    }

    /// Returns the number afterwards.
    @discardableResult
    package func add(_ amount: Int = 1) -> Int {
        value.add(amount, ordering: .sequentiallyConsistent).newValue
    }
}

/// How many are inside, and the most that were at once.
package final class Crowd: Sendable {
    private let inside = Counter()
    private let record = Atomic(0)

    package init() {}

    package var now: Int { inside.count }

    package var most: Int {
        record.load(ordering: .sequentiallyConsistent)
    }

    package func visit() {
        visit { sched_yield() }
    }

    package func visit(_ body: () -> Void) {
        _ = record.max(inside.add(), ordering: .sequentiallyConsistent)
        body()
        inside.add(-1)
    }
}

/// What was noted, in the order in which it was.
package final class Log<Element: Sendable>: Sendable {
    private let entries = Locked<[Element]>([])

    package init() {}

    package var all: [Element] {
        entries.withLock { $0 }
    }

    package func note(_ element: Element) {
        entries.withLock { $0.append(element) }
    }
}

/// A variable for closures that are ordered by what is tested.
package final class Holder<Value>: @unchecked Sendable {
    package var value: Value

    package init(_ value: Value) {
        self.value = value
    }
}

/// An error with a number.
package struct Flaw: Error, Equatable {
    package var number: Int

    package init(number: Int = 0) {
        self.number = number
    }
}

/// What a process has written, as text.
package func written(_ bytes: [UInt8]?) -> String {
    String(decoding: bytes ?? [], as: UTF8.self)
}

/// The sentences of ours among it.
package func sentences(_ bytes: [UInt8]?) -> [String] {
    written(bytes).split(separator: "\n").map(String.init).filter { $0.hasPrefix("overdrive: ") }
}
