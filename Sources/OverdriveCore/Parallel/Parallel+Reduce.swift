// Elements combined into one value, block by block and then in pairs: in a shape that their number alone decides. So the
// result has the same bits on any number of workers, also where a closure rounds.

extension Parallel {
    /// Combines a value for every number of a range into one, with the same bits on any number of workers.
    ///
    ///     let norm = Parallel.reduce(0..<vector.count, 0.0, map: { vector[$0] * vector[$0] }, combine: +)
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - identity: What each block begins with, and the result of an empty range: a value that changes nothing.
    ///   - map: The value of a number.
    ///   - combine: Combines two values, the earlier one first. It need not commute, but must not care where
    ///     brackets stand.
    /// - Returns: The combination of all.
    /// - Throws: The first error, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A plain loop for each of at most 1,024 blocks, one allocation, and some 20 ns for each two
    ///   microseconds. Workers who help call closures that capture something for each number.
    @inlinable
    @inline(__always)
    public static func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, map: @Sendable (Int) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().reduce(range, identity, map: map, combine: combine)
    }

    /// Combines a value for every number of a range into one, as the value says.
    ///
    ///     let norm = Parallel(on: solvers).reduce(0..<vector.count, 0.0, map: { vector[$0] * vector[$0] }, combine: +)
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - identity: What each block begins with, and the result of an empty range: a value that changes nothing.
    ///   - map: The value of a number.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all, with the same bits on any number of workers (but another grain, other blocks).
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As the short form's; with more than a grain, or errors, one allocation.
    @inlinable
    @inline(__always)
    public func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, map: @Sendable (Int) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        if E.self == Never.self && isPlain {
            return Parallel.combined(range, identity, grain: grain) { i in
                do throws(E) { return try map(i) } catch { Parallel.trapThrown() }
            } _: { earlier, later in
                do throws(E) { return try combine(earlier, later) } catch { Parallel.trapThrown() }
            }
        }
        return try reduced(Blocks(range, grain: grain), identity, map, combine)
    }

    @inlinable
    @inline(__always)
    static func combined<R: Sendable>(
        _ range: Range<Int>, _ identity: R, grain: Int?, _ map: (Int) -> R, _ combine: (R, R) -> R
    ) -> R {
        let blocks = Blocks(range, grain: grain)
        if blocks.count == 0 { return identity }
        // Each place is written by whoever takes its block, and by nobody else.
        nonisolated(unsafe) let sums = unsafe blocks.makePlaces(for: R.self)
        defer { unsafe sums.deallocate() }
        let merging = merging
        Share(blocks.count).work { some in
            _ = merging
            for block in some {
                var sum = identity
                for i in blocks[block] { sum = combine(sum, map(i)) }
                unsafe (sums + block).initialize(to: sum)
            }
        }
        return unsafe blocks.folded(sums, 0, blocks.count, combine)
    }

    /// Combines a value for every element of a collection into one, with the same bits on any number of workers.
    ///
    ///     let longest = Parallel.reduce(lines, 0, map: { $0.count }, combine: max)
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - identity: What each block begins with, and the result for no elements: a value that changes nothing.
    ///   - map: The value of an element.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all.
    /// - Throws: The first error, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of a range.
    @inlinable
    @inline(__always)
    public static func reduce<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ identity: R, map: @Sendable (C.Element) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().reduce(elements, identity, map: map, combine: combine)
    }

    /// Combines a value for every element of a collection into one, as the value says.
    ///
    ///     let longest = Parallel(progress: progress).reduce(lines, 0, map: { $0.count }, combine: max)
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - identity: What each block begins with, and the result for no elements: a value that changes nothing.
    ///   - map: The value of an element.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of a range.
    @inlinable
    @inline(__always)
    public func reduce<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ identity: R, map: @Sendable (C.Element) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        if E.self == Never.self && isPlain {
            let blocks = Blocks(0..<elements.count, grain: grain)
            return Parallel.combined(elements, blocks, identity, isShort: false) { element in
                do throws(E) { return try map(element) } catch { Parallel.trapThrown() }
            } _: { earlier, later in
                do throws(E) { return try combine(earlier, later) } catch { Parallel.trapThrown() }
            }
        }
        return try reduced(
            Blocks(0..<elements.count, grain: grain), identity,
            { i throws(E) in try map(elements[elements.index(elements.startIndex, offsetBy: i)]) }, combine)
    }

    @inlinable
    @inline(__always)
    static func combined<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, _ blocks: Blocks, _ identity: R, isShort: Bool, _ map: (C.Element) -> R, _ combine: (R, R) -> R
    ) -> R {
        if blocks.count == 0 { return identity }
        nonisolated(unsafe) let sums = unsafe blocks.makePlaces(for: R.self)
        defer { unsafe sums.deallocate() }
        let merging = merging
        Share(blocks.count, isShort: isShort).work { some in
            _ = merging
            for block in some {
                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                var sum = identity
                for _ in blocks[block] {
                    sum = combine(sum, map(elements[index]))
                    elements.formIndex(after: &index)
                }
                unsafe (sums + block).initialize(to: sum)
            }
        }
        return unsafe blocks.folded(sums, 0, blocks.count, combine)
    }

    /// Combines the elements of a collection into one value, with the same bits on any number of workers.
    ///
    ///     let total = Parallel.reduce(prices, 0, +)
    ///
    /// - Parameters:
    ///   - elements: What to combine.
    ///   - identity: A value that changes nothing.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all.
    /// - Throws: The first error, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of a range; numbers and other plain values 1,024 at a time.
    @inlinable
    @inline(__always)
    public static func reduce<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> C.Element where C.Element: Sendable {
        try Parallel().reduce(elements, identity, combine)
    }

    /// Combines the elements of a collection into one value, as the value says.
    ///
    ///     let total = Parallel(on: solvers).reduce(prices, 0, +)
    ///
    /// - Parameters:
    ///   - elements: What to combine.
    ///   - identity: A value that changes nothing.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of a range; numbers and other plain values 1,024 at a time, or as many as the grain.
    @inlinable
    @inline(__always)
    public func reduce<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> C.Element where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count, grain: grain, combining: C.Element.self)
        if E.self == Never.self && isPlain {
            return Parallel.combined(elements, blocks, identity, isShort: blocks.size > 1) { $0 } _: { earlier, later in
                do throws(E) { return try combine(earlier, later) } catch { Parallel.trapThrown() }
            }
        }
        return try reduced(
            blocks, identity, { i throws(E) in elements[elements.index(elements.startIndex, offsetBy: i)] }, combine)
    }

    /// Where a closure may throw, or more is asked than a grain.
    @inlinable
    func reduced<R: Sendable, E: Error>(
        _ blocks: Blocks, _ identity: R, _ map: (Int) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(self)
        let result = reduced(blocks, identity, effort, map, combine)
        try effort.end()
        return result ?? identity
    }

    /// Nil for an empty range, and where a part is missing.
    @inlinable
    func reduced<R: Sendable, E: Error>(
        _ blocks: Blocks, _ identity: R, _ effort: Effort<E>,
        _ map: (Int) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) -> R? {
        if blocks.count == 0 { return nil }
        return Parallel.asExternalThread(of: scheduler) {
            blocks.tree(0, blocks.count, { block -> R? in
                effort.result(block.count) { () throws(E) -> R in
                    var sum = identity
                    for i in block { sum = try combine(sum, try map(i)) }
                    return sum
                }
            }, { earlier, later in
                guard let earlier, let later else { return nil }
                return effort.result(0) { () throws(E) -> R in try combine(earlier, later) }
            })
        }
    }
}
