// Owns the searches for the smallest and the largest element. Programs call them. The result never depends on the
// number of workers.

extension Parallel {
    /// Returns the smallest element, the first if several are equal, or nil for an empty collection.
    ///
    ///     let smallest = Parallel().min(samples)
    ///
    /// - Parameter elements: The elements to search.
    /// - Returns: The first element that is not greater than any other.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One pass over the elements.
    @inlinable
    @inline(__always)
    public func min<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        min(elements) { $0 < $1 }
    }

    /// Returns the smallest element in a given order, the first if several are equal, or nil.
    ///
    ///     let oldest = try Parallel().min(files) { a, b throws(IOError) in try a.date() < b.date() }
    ///
    /// - Parameters:
    ///   - elements: The elements to search.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Returns: The first of the smallest elements.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One pass over the elements, plain values 1,024 at a time unless a grain is set. With settings other than a
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

    /// Returns the largest element, the first if several are equal, or nil for an empty collection.
    ///
    ///     let largest = Parallel().max(samples)
    ///
    /// - Parameter elements: The elements to search.
    /// - Returns: The first element that is not less than any other, as `Sequence.max()` does.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One pass over the elements.
    @inlinable
    @inline(__always)
    public func max<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        max(elements) { $0 < $1 }
    }

    /// Returns the largest element in a given order, the first if several are equal, or nil.
    ///
    ///     let newest = try Parallel().max(files) { a, b throws(IOError) in try a.date() < b.date() }
    ///
    /// - Parameters:
    ///   - elements: The elements to search.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Returns: The first of the largest elements.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One pass over the elements, plain values 1,024 at a time unless a grain is set. With settings other than a
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

    /// The slow path, for an order that may throw and for settings other than a grain.
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

    /// The element with the smallest value at a key path, the first of several; nil for none.
    ///
    ///     let found = Parallel().min(people, by: \.age)
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - key: Leads to the compared values.
    /// - Returns: The first of several.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A pass over the elements, and two keys for each.
    @inlinable
    @inline(__always)
    public func min<C: RandomAccessCollection & Sendable, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> C.Element? where C.Element: Sendable {
        min(elements) { $0[keyPath: key] < $1[keyPath: key] }
    }

    /// The element with the largest value at a key path, the first of several; nil for none.
    ///
    ///     let found = Parallel().max(people, by: \.age)
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - key: Leads to the compared values.
    /// - Returns: The first of several.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A pass over the elements, and two keys for each.
    @inlinable
    @inline(__always)
    public func max<C: RandomAccessCollection & Sendable, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> C.Element? where C.Element: Sendable {
        max(elements) { $0[keyPath: key] < $1[keyPath: key] }
    }

    /// The smallest and the largest element; nil for none.
    ///
    ///     if let (low, high) = Parallel().minmax(samples) { plot(low...high) }
    ///
    /// - Parameter elements: The elements to search.
    /// - Returns: The first of several equal elements, for both.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Two passes over the elements, as of `min` and `max`.
    @inlinable
    @inline(__always)
    public func minmax<C: RandomAccessCollection & Sendable>(_ elements: C) -> (min: C.Element, max: C.Element)?
    where C.Element: Comparable & Sendable {
        guard let least = min(elements), let greatest = max(elements) else { return nil }
        return (least, greatest)
    }

    /// The elements that no other comes before, and that come before no other, in an order of your own; nil for none.
    ///
    ///     let ages = Parallel().minmax(people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Returns: The first of several equal elements, for both.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Two passes over the elements, as of `min` and `max`.
    @inlinable
    @inline(__always)
    public func minmax<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> (min: C.Element, max: C.Element)? where C.Element: Sendable {
        guard let least = try min(elements, by: precedes), let greatest = try max(elements, by: precedes) else { return nil }
        return (least, greatest)
    }
}
