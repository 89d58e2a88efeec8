// Owns the parallel inclusive scan (prefix sum) in two passes. Programs call it. Results never depend on the number
// of workers.

extension Parallel {
    /// Returns the running combinations of the elements: an inclusive scan, or prefix sum.
    ///
    ///     Parallel().scan([1, 2, 3, 4], 0, +) // [1, 3, 6, 10]
    ///
    /// - Parameters:
    ///   - elements: The elements to combine.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum.
    ///   - combine: Combines two values, the earlier one first. It must be associative.
    /// - Returns: One value per element; the last one combines all elements. The bits are the same on any number
    ///   of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Combinations keep the elements' order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: Two passes over the elements, of which the second writes. Plain values are combined 1,024 at a time
    ///   unless a grain is set. Two allocations: the result and a small one. With settings other than a grain, or
    ///   errors, also one array for each of at most 1,024 blocks.
    @inlinable
    @inline(__always)
    public func scan<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        if E.self == Never.self && isPlain {
            return Parallel.scanned(elements, identity, grain: grain) { earlier, later in
                do throws(E) { return try combine(earlier, later) } catch { Parallel.trapThrown() }
            }
        }
        let effort = Effort<E>(self)
        let result = try scanned(elements, identity, effort, combine)
        try effort.end()
        return result
    }

    @inlinable
    @inline(__always)
    static func scanned<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, grain: Int?, _ combine: (C.Element, C.Element) -> C.Element
    ) -> [C.Element] where C.Element: Sendable {
        let count = elements.count
        if count == 0 { return [] }
        let blocks = Blocks(0..<count, grain: grain, combining: C.Element.self)
        nonisolated(unsafe) let before = unsafe blocks.makePlaces(for: C.Element.self)
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
                unsafe (before + block).initialize(to: sum)
            }
        }
        var sum = identity
        for block in 0..<blocks.count { unsafe (before[block], sum) = unsafe (sum, combine(sum, before[block])) }
        defer {
            unsafe before.deinitialize(count: blocks.count)
            unsafe before.deallocate()
        }
        return unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            nonisolated(unsafe) let places = unsafe places
            unsafe preferLargePages(places)
            Loop(grain: nil).run(0..<blocks.count) { some in
                _ = merging
                for block in some {
                    var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                    var sum = unsafe before[block]
                    for i in blocks[block] {
                        sum = combine(sum, elements[index])
                        unsafe places.initializeElement(at: i, to: sum)
                        elements.formIndex(after: &index)
                    }
                }
            }
            written = count
        }
    }

    /// Returns an empty array if a part was skipped or threw. Elements count as progress in the second pass only.
    @inlinable
    func scanned<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ effort: Effort<E>,
        _ combine: (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count, grain: grain, combining: C.Element.self)
        let sums = values(of: blocks, effort, isCounted: false) { block throws(E) -> C.Element in
            var sum = identity
            try Parallel.visit(elements, block) { element throws(E) in sum = try combine(sum, element) }
            return sum
        }
        var before: [C.Element] = []
        var sum = identity
        for blockSum in sums {
            guard let blockSum else { return [] }
            before.append(sum)
            sum = try combine(sum, blockSum)
        }
        let parts = values(of: blocks, effort) { block throws(E) -> [C.Element] in
            var part: [C.Element] = []
            part.reserveCapacity(block.count)
            var sum = before[block.lowerBound / blocks.size]
            try Parallel.visit(elements, block) { element throws(E) in
                sum = try combine(sum, element)
                part.append(sum)
            }
            return part
        }
        return Parallel.concatenated(parts.map { $0 ?? [] })
    }
}
