extension Parallel {
    /// Combines a value for every number of a range into one.
    ///
    ///     let norm = Parallel.reduce(0..<vector.count, 0.0, map: { vector[$0] * vector[$0] }, combine: +)
    ///
    /// The shape of the tree in which values are combined depends on the range alone. So the result has the same
    /// bits for any number of workers, also where `combine` rounds.
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - identity: What each block begins with, and the result of an empty range: a value that changes nothing.
    ///   - map: The value of a number.
    ///   - combine: Combines two values, the earlier one first. It need not commute, but must not care where
    ///     brackets stand.
    /// - Returns: The combination of all.
    /// - Ordering: Calls come in any order; combinations keep the numbers' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A plain loop for each of at most 1,024 blocks, one allocation, and some 20 ns for each two
    ///   microseconds. Workers who help call closures that capture something for each number.
    @inlinable
    @inline(__always)
    public static func reduce<R: Sendable>(
        _ range: Range<Int>, _ identity: R, map: @Sendable (Int) -> R, combine: @Sendable (R, R) -> R
    ) -> R {
        let blocks = Blocks(range)
        if blocks.count == 0 { return identity }
        // Each place is written by whoever takes its block, and by nobody else.
        nonisolated(unsafe) let sums = blocks.makePlaces(for: R.self)
        defer { sums.deallocate() }
        let merging = merging
        Share(blocks.count).work { some in
            _ = merging
            for block in some {
                var sum = identity
                for i in blocks[block] { sum = combine(sum, map(i)) }
                (sums + block).initialize(to: sum)
            }
        }
        return blocks.folded(sums, 0, blocks.count, combine)
    }

    /// Combines the elements of a collection into one value.
    ///
    ///     let total = Parallel.reduce(prices, 0, +)
    ///
    /// - Parameters:
    ///   - elements: What to combine.
    ///   - identity: A value that changes nothing.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all, with the same bits for any number of workers.
    /// - Ordering: Combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``reduce(_:_:map:combine:)``; numbers and other plain values 1,024 at a time.
    @inlinable
    @inline(__always)
    public static func reduce<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) -> C.Element
    ) -> C.Element where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count, combining: C.Element.self)
        if blocks.count == 0 { return identity }
        nonisolated(unsafe) let sums = blocks.makePlaces(for: C.Element.self)
        defer { sums.deallocate() }
        let merging = merging
        Share(blocks.count, isShort: blocks.size > 1).work { some in
            _ = merging
            for block in some {
                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                var sum = identity
                for _ in blocks[block] {
                    sum = combine(sum, elements[index])
                    elements.formIndex(after: &index)
                }
                (sums + block).initialize(to: sum)
            }
        }
        return blocks.folded(sums, 0, blocks.count, combine)
    }

    /// The smallest element, the first of several; nil for none.
    @inlinable
    @inline(__always)
    public static func min<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        extreme(elements) { candidate, best in candidate < best }
    }

    /// The largest element, the first of several as in `Sequence.max()`; nil for none.
    @inlinable
    @inline(__always)
    public static func max<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        extreme(elements) { candidate, best in best < candidate }
    }

    @inlinable
    @inline(__always)
    static func extreme<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ wins: @Sendable (C.Element, C.Element) -> Bool
    ) -> C.Element? where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count, combining: C.Element.self)
        if blocks.count == 0 { return nil }
        nonisolated(unsafe) let winners = blocks.makePlaces(for: C.Element.self)
        defer { winners.deallocate() }
        let merging = merging
        Share(blocks.count, isShort: blocks.size > 1).work { some in
            _ = merging
            for block in some {
                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                var best = elements[index]
                for _ in 1..<blocks[block].count {
                    elements.formIndex(after: &index)
                    let candidate = elements[index]
                    if wins(candidate, best) { best = candidate }
                }
                (winners + block).initialize(to: best)
            }
        }
        return blocks.folded(winners, 0, blocks.count) { earlier, later in wins(later, earlier) ? later : earlier }
    }

    /// The combinations of each element with all before it.
    ///
    ///     Parallel.scan([1, 2, 3, 4], 0, +) // [1, 3, 6, 10]
    ///
    /// - Parameters:
    ///   - elements: What to combine.
    ///   - identity: A value that changes nothing.
    ///   - combine: Combines two values, the earlier one first; brackets must not matter.
    /// - Returns: As many values as there are elements, the last of them the combination of all; the same bits
    ///   for any number of workers.
    /// - Ordering: Combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Two passes over the elements, one of them writing; the result's one allocation and one small one.
    @inlinable
    @inline(__always)
    public static func scan<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) -> C.Element
    ) -> [C.Element] where C.Element: Sendable {
        let count = elements.count
        if count == 0 { return [] }
        let blocks = Blocks(0..<count, combining: C.Element.self)
        nonisolated(unsafe) let before = blocks.makePlaces(for: C.Element.self)
        let merging = merging
        Share(blocks.count, isShort: blocks.size > 1).work { some in
            _ = merging
            for block in some {
                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                var sum = identity
                for _ in blocks[block] {
                    sum = combine(sum, elements[index])
                    elements.formIndex(after: &index)
                }
                (before + block).initialize(to: sum)
            }
        }
        var sum = identity
        for block in 0..<blocks.count { (before[block], sum) = (sum, combine(sum, before[block])) }
        defer {
            before.deinitialize(count: blocks.count)
            before.deallocate()
        }
        return Array(unsafeUninitializedCapacity: count) { places, written in
            nonisolated(unsafe) let places = places
            preferLargePages(places)
            Loop(grain: nil).run(0..<blocks.count) { some in
                _ = merging
                for block in some {
                    var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                    var sum = before[block]
                    for i in blocks[block] {
                        sum = combine(sum, elements[index])
                        places.initializeElement(at: i, to: sum)
                        elements.formIndex(after: &index)
                    }
                }
            }
            written = count
        }
    }
}
