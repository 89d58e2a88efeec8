public import Synchronization

/// A count that many threads add to.
public final class AtomicCount: Sendable {
    @usableFromInline let number: Atomic<Int>

    public init(_ value: Int = 0) { number = Atomic(value) }

    @inlinable public var value: Int { number.load(ordering: .acquiring) }

    @inlinable public func set(_ value: Int) { number.store(value, ordering: .releasing) }

    @inlinable public func add(_ more: Int = 1) { number.wrappingAdd(more, ordering: .relaxed) }

    /// Adds one and says what the count is with it.
    @inlinable public func addAndCount() -> Int { number.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue }

    /// Takes one away and says what is left; what others wrote before theirs is visible to the last.
    @inlinable public func takeOne() -> Int { number.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue }
}

/// A memory block that closures of several threads write to, each its own part.
public struct SharedBuffer<Element>: @unchecked Sendable {
    // Each closure touches places of its own, and the scheduler orders them with the reader.
    public let base: UnsafeMutablePointer<Element>
    public let count: Int

    public init(_ count: Int, _ value: Element) {
        base = .allocate(capacity: count)
        base.initialize(repeating: value, count: count)
        self.count = count
    }

    public func free() {
        base.deinitialize(count: count)
        base.deallocate()
    }

    @inlinable public subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) nonmutating set { base[index] = newValue }
    }
}
