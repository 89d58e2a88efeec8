// Owns the orders of a sort, and the parts that the unstable and the stable sort share. `Parallel.sort` and
// `Parallel.stableSort` call it. It never copies elements; it moves them as bits, also when an order ends early.

/// A comparison order as a type, so that each sort is specialised with its comparison inlined.
@usableFromInline
protocol Order<Element>: Sendable {
    associatedtype Element
    func precedes(_ a: Element, _ b: Element) -> Bool
    /// Reports progress in half elements: each element is reported twice, in portions of some microseconds.
    func isDone(halves: Int)
}

extension Order {
    @inlinable
    @inline(__always)
    func isDone(halves: Int) {}
}

/// The order of the elements' `<`.
@usableFromInline
struct Ascending<Element: Comparable>: Order {
    @inlinable init() {}

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { a < b }
}

/// The order of a closure.
@usableFromInline
struct OrderBy<Element>: Order {
    @usableFromInline let closure: @Sendable (Element, Element) -> Bool

    @inlinable
    init(_ closure: @escaping @Sendable (Element, Element) -> Bool) { self.closure = closure }

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { closure(a, b) }
}

/// The order of a closure that may end early, with the progress of its effort.
@usableFromInline
struct OrderOfEffort<Element, E: Error>: Order {
    @usableFromInline let closure: @Sendable (Element, Element) -> Bool
    @usableFromInline let effort: Effort<E>

    @inlinable
    init(_ closure: @escaping @Sendable (Element, Element) -> Bool, _ effort: Effort<E>) {
        self.closure = closure
        self.effort = effort
    }

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { closure(a, b) }

    @inlinable
    @inline(__always)
    func isDone(halves: Int) { effort.isDone(halves: halves) }
}

/// The unstable and the stable sort. Both move elements as bits and never copy them, so reference counts do not
/// change.
@usableFromInline
enum Sorting {
    /// The maximum number of elements for an insertion sort.
    @usableFromInline static var small: Int { 24 }
    /// The minimum number of elements for a fork.
    @usableFromInline static var alone: Int { 2048 }

    /// Returns whether the range is sorted, after reversing it if it was strictly descending. Stops at the first pair
    /// that contradicts.
    @inlinable
    @inline(__always)
    static func isOrdered<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        var i = 1
        if unsafe order.precedes(base[1], base[0]) {
            // Only a strictly descending range is reversed, so that equal elements keep their order.
            while unsafe i < count && order.precedes(base[i], base[i - 1]) { i += 1 }
            guard i == count else { return false }
            var (low, high) = (0, count - 1)
            while low < high {
                unsafe swap(base + low, base + high)
                low += 1
                high -= 1
            }
            return true
        }
        while unsafe i < count && !order.precedes(base[i], base[i - 1]) { i += 1 }
        return i == count
    }

    /// Sorts strings in their own order with the string sort. Returns false if elements or order are others.
    @inlinable
    @inline(__always)
    static func sortsAsStrings<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        guard O.self == Ascending<String>.self, count >= StringSorting.least else { return false }
        return unsafe StringSorting.sort(UnsafeMutableRawPointer(base).assumingMemoryBound(to: String.self), count)
    }

    /// Sorts a few elements by insertion; equal elements keep their order.
    @inlinable
    @inline(__always)
    static func insertion<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        var i = 1
        while i < count {
            if unsafe order.precedes(base[i], base[i - 1]) {
                let element = unsafe (base + i).move()
                var hole = i
                repeat {
                    unsafe (base + hole).moveInitialize(from: base + hole - 1, count: 1)
                    hole -= 1
                } while unsafe hole > 0 && order.precedes(element, base[hole - 1])
                unsafe (base + hole).initialize(to: element)
            }
            i += 1
        }
    }

    /// Calls the stable or the unstable sort.
    @inlinable
    @inline(__always)
    static func sort<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O, keepsOrder: Bool
    ) {
        if keepsOrder { unsafe stable(base, count, order) } else { unsafe unstable(base, count, order) }
    }
}
