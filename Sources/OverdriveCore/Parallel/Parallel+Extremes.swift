// The smallest and the largest element.

extension Parallel {
    /// The smallest element, the first of several; nil for none.
    ///
    ///     let smallest = Parallel().min(samples)
    ///
    /// - Parameter elements: What to search.
    /// - Returns: The first that is not greater than any other.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A pass over the elements.
    @inlinable
    @inline(__always)
    public func min<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        min(elements) { $0 < $1 }
    }

    /// The first element that no other comes before, in an order of your own; nil for none.
    ///
    ///     let oldest = try Parallel().min(files) { a, b throws(IOError) in try a.date() < b.date() }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Returns: The first of several.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One pass over the elements, plain values 1,024 at a time unless a grain is set. With more than a
    ///   grain, or errors, one allocation, and some nanoseconds more for each comparison.
    @inlinable
    @inline(__always)
    public func min<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        if E.self == Never.self && isPlain {
            return Parallel.extreme(elements, grain: grain) { candidate, best in
                do throws(E) { return try precedes(candidate, best) } catch { Parallel.trapThrown() }
            }
        }
        return try extreme(elements) { candidate, best throws(E) in try precedes(candidate, best) }
    }

    /// The largest element, the first of several; nil for none.
    ///
    ///     let largest = Parallel().max(samples)
    ///
    /// - Parameter elements: What to search.
    /// - Returns: The first that is not less than any other, as of `Sequence.max()`.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A pass over the elements.
    @inlinable
    @inline(__always)
    public func max<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        max(elements) { $0 < $1 }
    }

    /// The first element that comes before no other, in an order of your own; nil for none.
    ///
    ///     let newest = try Parallel().max(files) { a, b throws(IOError) in try a.date() < b.date() }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Returns: The first of several.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One pass over the elements, plain values 1,024 at a time unless a grain is set. With more than a
    ///   grain, or errors, one allocation, and some nanoseconds more for each comparison.
    @inlinable
    @inline(__always)
    public func max<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        if E.self == Never.self && isPlain {
            return Parallel.extreme(elements, grain: grain) { candidate, best in
                do throws(E) { return try precedes(best, candidate) } catch { Parallel.trapThrown() }
            }
        }
        return try extreme(elements) { candidate, best throws(E) in try precedes(best, candidate) }
    }

    @inlinable
    @inline(__always)
    static func extreme<C: RandomAccessCollection & Sendable>(
        _ elements: C, grain: Int?, _ wins: (C.Element, C.Element) -> Bool
    ) -> C.Element? where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count, grain: grain, combining: C.Element.self)
        if blocks.count == 0 { return nil }
        nonisolated(unsafe) let winners = unsafe blocks.makePlaces(for: C.Element.self)
        defer { unsafe winners.deallocate() }
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
                unsafe (winners + block).initialize(to: best)
            }
        }
        return unsafe blocks.folded(winners, 0, blocks.count) { earlier, later in wins(later, earlier) ? later : earlier }
    }

    /// Where the order may throw, or more is asked than a grain.
    @inlinable
    func extreme<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ wins: (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        let effort = Effort<E>(self)
        let best = effort.whole {
            Parallel.asExternalThread(of: scheduler) {
                Parallel.extreme(elements, grain: grain) { candidate, best in effort.compare(candidate, best, wins) }
            }
        }
        effort.isDone(halves: 2 * elements.count)
        try effort.end()
        return best
    }
}
