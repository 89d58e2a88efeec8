// Owns the parallel reductions to one value. Programs call them. Elements are combined block by block, and then in
// pairs. The shape depends only on the number of elements, never on the workers. So the bits of the result do not
// vary, even if a closure rounds.

extension Parallel {
    /// Combines a value for every number of a range, with the same bits on any number of workers.
    ///
    ///     let norm = Parallel.reduce(0..<vector.count, 0.0, map: { vector[$0] * vector[$0] }, combine: +)
    ///
    /// - Parameters:
    ///   - range: The numbers to visit.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum; also the result of an empty range.
    ///   - map: Returns the value of a number.
    ///   - combine: Combines two values, the earlier one first. It must be associative, but need not be commutative.
    /// - Returns: The combination of all values.
    /// - Throws: The first error, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: A plain loop for each of at most 1,024 blocks, one allocation, and about 20 ns for each 2 µs of work.
    ///   On helping workers, a closure with captures is called once per number.
    @inlinable
    @inline(__always)
    public static func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, map: @Sendable (Int) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().reduce(range, identity, map: map, combine: combine)
    }

    /// Combines a value for every number of a range, with the settings of this value.
    ///
    ///     let norm = Parallel(on: solvers).reduce(0..<vector.count, 0.0, map: { vector[$0] * vector[$0] }, combine: +)
    ///
    /// - Parameters:
    ///   - range: The numbers to visit.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum; also the result of an empty range.
    ///   - map: Returns the value of a number.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values, with the same bits on any number of workers. Another grain
    ///   changes the blocks, and so may change the bits.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as the short form; with settings other than a grain, or errors, one allocation.
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
        combined(
            Blocks(range, grain: grain), identity,
            { block in
                var sum = identity
                for i in block { sum = combine(sum, map(i)) }
                return sum
            }, combine)
    }

    /// Combines a value for every chunk of a range, with the same bits on any number of workers.
    ///
    ///     let total = Parallel.reduce(0..<samples.count, 0.0, chunk: { sum(of: samples[$0]) }, combine: +)
    ///
    /// Use it if a chunk has a faster loop than one number at a time, such as a vectorised sum.
    ///
    /// - Parameters:
    ///   - range: The range to divide.
    ///   - identity: The result of an empty range.
    ///   - chunk: Returns the value of a chunk, which is never empty.
    ///   - combine: Combines two values, the earlier one first. It must be associative, but need not be commutative.
    /// - Returns: The combination of all values. The chunks depend only on the length of the range and on the grain.
    /// - Throws: The first error, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the chunks.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One call for each of at most 1,024 chunks, and one allocation.
    @inlinable
    @inline(__always)
    public static func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, chunk: @Sendable (Range<Int>) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().reduce(range, identity, chunk: chunk, combine: combine)
    }

    /// Combines a value for every chunk of a range, with the settings of this value.
    ///
    ///     let total = Parallel(grain: 64).reduce(0..<samples.count, 0.0, chunk: { sum(of: samples[$0]) }, combine: +)
    ///
    /// - Parameters:
    ///   - range: The range to divide.
    ///   - identity: The result of an empty range.
    ///   - chunk: Returns the value of a chunk. With a grain, only the last chunk may be shorter than the grain.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the chunks.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as the short form; with settings other than a grain, or errors, one allocation more.
    @inlinable
    @inline(__always)
    public func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, chunk: @Sendable (Range<Int>) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        let blocks = Blocks(range, grain: grain)
        if E.self == Never.self && isPlain {
            return Parallel.combined(blocks, identity) { block in
                do throws(E) { return try chunk(block) } catch { Parallel.trapThrown() }
            } _: { earlier, later in
                do throws(E) { return try combine(earlier, later) } catch { Parallel.trapThrown() }
            }
        }
        let effort = Effort<E>(self)
        let result = reduced(blocks, effort, chunk, combine)
        try effort.end()
        return result ?? identity
    }

    @inlinable
    @inline(__always)
    static func combined<R: Sendable>(
        _ blocks: Blocks, _ identity: R, _ chunk: (Range<Int>) -> R, _ combine: (R, R) -> R
    ) -> R {
        if blocks.count == 0 { return identity }
        // Only the thread that takes a block writes its slot.
        nonisolated(unsafe) let values = unsafe blocks.makePlaces(for: R.self)
        defer { unsafe values.deallocate() }
        let merging = merging
        Share(blocks.count).work { some in
            _ = merging
            for block in some { unsafe (values + block).initialize(to: chunk(blocks[block])) }
        }
        return unsafe blocks.folded(values, 0, blocks.count, combine)
    }

    /// Combines a value for every element of a collection, with the same bits on any number of workers.
    ///
    ///     let longest = Parallel.reduce(lines, 0, map: { $0.count }, combine: max)
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum; also the result for no elements.
    ///   - map: Returns the value of an element.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values.
    /// - Throws: The first error, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range.
    @inlinable
    @inline(__always)
    public static func reduce<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ identity: R, map: @Sendable (C.Element) throws(E) -> R,
        combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().reduce(elements, identity, map: map, combine: combine)
    }

    /// Combines a value for every element of a collection, with the settings of this value.
    ///
    ///     let longest = Parallel(progress: progress).reduce(lines, 0, map: { $0.count }, combine: max)
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum; also the result for no elements.
    ///   - map: Returns the value of an element.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range.
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

    /// Combines the elements of a collection, with the same bits on any number of workers.
    ///
    ///     let total = Parallel.reduce(prices, 0, +)
    ///
    /// - Parameters:
    ///   - elements: The elements to combine.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values.
    /// - Throws: The first error, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range; plain values such as numbers are combined 1,024 at a time.
    @inlinable
    @inline(__always)
    public static func reduce<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> C.Element where C.Element: Sendable {
        try Parallel().reduce(elements, identity, combine)
    }

    /// Combines the elements of a collection, with the settings of this value.
    ///
    ///     let total = Parallel(on: solvers).reduce(prices, 0, +)
    ///
    /// - Parameters:
    ///   - elements: The elements to combine.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range. Plain values such as numbers are combined 1,024 at a time, or in parts of the
    ///   grain.
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

    /// The slow path, for closures that may throw and for settings other than a grain.
    @inlinable
    func reduced<R: Sendable, E: Error>(
        _ blocks: Blocks, _ identity: R, _ map: (Int) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(self)
        let result = reduced(blocks, identity, effort, map, combine)
        try effort.end()
        return result ?? identity
    }

    @inlinable
    func reduced<R: Sendable, E: Error>(
        _ blocks: Blocks, _ identity: R, _ effort: Effort<E>,
        _ map: (Int) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) -> R? {
        reduced(blocks, effort, { block throws(E) -> R in
            var sum = identity
            for i in block { sum = try combine(sum, try map(i)) }
            return sum
        }, combine)
    }

    /// Returns nil for an empty range, and if a part was skipped or threw.
    @inlinable
    @inline(__always)
    func reduced<R: Sendable, E: Error>(
        _ blocks: Blocks, _ effort: Effort<E>, _ chunk: (Range<Int>) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) -> R? {
        if blocks.count == 0 { return nil }
        return Parallel.asExternalThread(of: scheduler) {
            blocks.tree(0, blocks.count, { block -> R? in
                effort.result(block.count) { () throws(E) -> R in try chunk(block) }
            }, { earlier, later in
                guard let earlier, let later else { return nil }
                return effort.result(0) { () throws(E) -> R in try combine(earlier, later) }
            })
        }
    }
}
