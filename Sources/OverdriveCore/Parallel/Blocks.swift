// Owns the fixed division of a range into blocks and the combination of block results as a tree. `map`, `reduce`,
// `scan`, `min`, `max` and the collecting operations call it. The number of workers never changes the result.

public import CScheduler

/// Divides a range into blocks that depend only on its length and grain, never on the number of free workers. So
/// results combined block by block have the same bits on any number of workers.
@usableFromInline
struct Blocks: Sendable {
    @usableFromInline let range: Range<Int>
    @usableFromInline let size: Int
    @usableFromInline let count: Int

    /// Creates at most `most` blocks: more than any machine has workers, but few enough to store a value for each.
    ///
    /// - Parameter grain: The minimum length of a block, except the last one.
    @inlinable
    init(_ range: Range<Int>, grain: Int? = nil, most: Int = 1024) {
        self.init(range, atLeast: grain ?? 1, most: most)
    }

    /// Creates blocks for elements that are only combined. Combining plain values such as numbers is so fast that a
    /// block has at least 1,024 of them, unless a grain is set.
    @inlinable
    init<Element>(_ range: Range<Int>, grain: Int?, combining type: Element.Type) {
        self.init(range, atLeast: grain ?? (_isPOD(type) ? 1024 : 1), most: 1024)
    }

    @inlinable
    init(_ range: Range<Int>, atLeast least: Int, most: Int) {
        if least < 1 { Parallel.trapGrain(least) }
        let length = Parallel.length(of: range)
        self.range = range
        size = max(least, length == 0 ? 1 : (length - 1) / most + 1)
        count = length == 0 ? 0 : (length - 1) / size + 1
    }

    @inlinable
    subscript(_ block: Int) -> Range<Int> {
        let start = range.lowerBound + block * size
        return start..<start + min(size, range.upperBound - start)
    }

    /// Allocates uninitialised memory for one value per block. The caller deallocates it.
    @inlinable
    func makePlaces<R>(for type: R.Type) -> UnsafeMutablePointer<R> { .allocate(capacity: count) }

    /// Returns the results of `body` for all blocks, in block order.
    @inlinable
    @inline(__always)
    func values<T>(_ body: (Range<Int>) -> T) -> [T] {
        unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            // Only the thread that takes a block writes its slot.
            nonisolated(unsafe) let places = unsafe places
            let merging = Parallel.merging
            Share(count).work { some in
                _ = merging
                for block in some { unsafe places.initializeElement(at: block, to: body(self[block])) }
            }
            written = count
        }
    }

    /// Moves the values of the blocks `first..<last` out of their slots, and combines them as a balanced tree.
    @inlinable
    func folded<R>(_ values: UnsafeMutablePointer<R>, _ first: Int, _ last: Int, _ combine: (R, R) -> R) -> R {
        if last - first == 1 { return unsafe (values + first).move() }
        let middle = first + (last - first) / 2
        if last - first <= 8 || _isPOD(R.self) {
            return unsafe combine(folded(values, first, middle, combine), folded(values, middle, last, combine))
        }
        // Combining values with references may take long, so the upper part of the tree is forked.
        nonisolated(unsafe) let values = unsafe values
        var right: R?
        let left = unsafe forkedFold(values, first, middle, combine) { right = unsafe folded(values, middle, last, combine) }
        guard let right else { Parallel.trapUnfinished() }
        return combine(left, right)
    }

    @inlinable
    @inline(__always)
    func forkedFold<R>(
        _ values: UnsafeMutablePointer<R>, _ first: Int, _ middle: Int, _ combine: (R, R) -> R, _ later: () -> Void
    ) -> R {
        od_fork_closure_here()
        let slot = unsafe forkClosure(later)
        let left = unsafe folded(values, first, middle, combine)
        let isPrivate = unsafe od_fork_pop(slot)
        if isPrivate || takeBackClosure(later) {
            later()
            if !isPrivate { od_join_end() }
        }
        return left
    }

    /// Computes and combines the results of the blocks `first..<last`, as a balanced tree.
    @inlinable
    func tree<R>(_ first: Int, _ last: Int, _ leaf: (Range<Int>) -> R, _ combine: (R, R) -> R) -> R {
        if last - first == 1 { return leaf(self[first]) }
        let middle = first + (last - first) / 2
        var stolen: R?
        let (left, right) = forkedTree(first, middle, last, leaf, combine) {
            stolen = tree(middle, last, leaf, combine)
        }
        guard let right = right ?? stolen else { Parallel.trapUnfinished() }
        return combine(left, right)
    }

    /// Computes both halves. The second result is nil if a thief ran the second half through `later`.
    ///
    /// Both halves are direct calls here, because the optimiser specialises this recursion for the closures of the
    /// caller. It does not specialise a closure that captures them.
    @inlinable
    @inline(__always)
    func forkedTree<R>(
        _ first: Int, _ middle: Int, _ last: Int, _ leaf: (Range<Int>) -> R, _ combine: (R, R) -> R,
        _ later: () -> Void
    ) -> (R, R?) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(later)
        let left = tree(first, middle, leaf, combine)
        let isPrivate = unsafe od_fork_pop(slot)
        if !isPrivate && !takeBackClosure(later) { return (left, nil) }
        let right = tree(middle, last, leaf, combine)
        if !isPrivate { od_join_end() }
        return (left, right)
    }
}
