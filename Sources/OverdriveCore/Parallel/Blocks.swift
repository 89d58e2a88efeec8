public import CScheduler

/// A range cut into blocks in a way that only its length decides, and never who is free: so that what is
/// combined block by block has the same bits on any number of workers.
@usableFromInline
struct Blocks: Sendable {
    @usableFromInline let range: Range<Int>
    @usableFromInline let size: Int
    @usableFromInline let count: Int

    /// More blocks than there will ever be workers for, and few enough to keep something for each.
    ///
    /// - Parameter grain: Blocks are at least so long, but for the last.
    @inlinable
    init(_ range: Range<Int>, grain: Int? = nil, most: Int = 1024) {
        self.init(range, atLeast: grain ?? 1, most: most)
    }

    /// The same for what is combined as it is: values of plain memory, such as numbers, are over too soon for fewer
    /// than a thousand to be worth a block, unless a grain says so.
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

    /// Room for a value of each block.
    @inlinable
    func makePlaces<R>(for type: R.Type) -> UnsafeMutablePointer<R> { .allocate(capacity: count) }

    /// What `body` returns for each block, in their order.
    @inlinable
    @inline(__always)
    func values<T>(_ body: (Range<Int>) -> T) -> [T] {
        unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            // Each place is written by whoever takes its block, and by nobody else.
            nonisolated(unsafe) let places = unsafe places
            let merging = Parallel.merging
            Share(count).work { some in
                _ = merging
                for block in some { unsafe places.initializeElement(at: block, to: body(self[block])) }
            }
            written = count
        }
    }

    /// The values of the blocks `[first, last)`, moved out of their places and combined as a balanced tree.
    @inlinable
    func folded<R>(_ values: UnsafeMutablePointer<R>, _ first: Int, _ last: Int, _ combine: (R, R) -> R) -> R {
        if last - first == 1 { return unsafe (values + first).move() }
        let middle = first + (last - first) / 2
        if last - first <= 8 || _isPOD(R.self) {
            return unsafe combine(folded(values, first, middle, combine), folded(values, middle, last, combine))
        }
        // Combining what is no plain memory may take long: the upper part of the tree is forked.
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

    /// The results of the blocks `[first, last)`, combined as a balanced tree.
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

    /// Both halves by direct calls, unless somebody takes the second: then nil for it. (The optimiser specialises
    /// the recursion for the caller's closures; a closure that captures them it does not.)
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
