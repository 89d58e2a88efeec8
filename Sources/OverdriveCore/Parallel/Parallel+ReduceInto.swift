// Owns the parallel reduction into values that change in place. Programs and `grouping` call it. The block structure
// never depends on the workers.

extension Parallel {
    /// Collects the elements of a collection in one value, which changes in place.
    ///
    ///     let counts = Parallel().reduce(words, into: [:]) { counts, word in
    ///         counts[word, default: 0] += 1
    ///     } combine: { counts, later in
    ///         counts.merge(later, uniquingKeysWith: +)
    ///     }
    ///
    /// - Parameters:
    ///   - elements: The elements to collect.
    ///   - initial: The initial value of each block, such as an empty dictionary; also the result for no elements.
    ///   - update: Called once for each element, with the value of its block.
    ///   - combine: Adds the value of later elements to the value of earlier elements.
    /// - Returns: The value for all elements, computed in the same steps on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One value for each of at most 256 blocks; the values are then combined in pairs.
    @inlinable
    public func reduce<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, into initial: R, _ update: @Sendable (inout R, C.Element) throws(E) -> Void,
        combine: @Sendable (inout R, R) throws(E) -> Void
    ) throws(E) -> R {
        let blocks = Blocks(0..<elements.count, grain: grain, most: 256)
        let effort = Effort<E>(self)
        if blocks.count == 0 {
            try effort.end()
            return initial
        }
        // A slot is written only by the thread that takes its block, and later by the thread that combines it.
        nonisolated(unsafe) let places = unsafe blocks.makePlaces(for: R.self)
        unsafe places.initialize(repeating: initial, count: blocks.count)
        defer {
            unsafe places.deinitialize(count: blocks.count)
            unsafe places.deallocate()
        }
        Parallel.asExternalThread(of: scheduler) {
            Loop(grain: nil).run(0..<blocks.count, placement) { some in
                for block in some {
                    effort.part(blocks[block].count) { () throws(E) in
                        var value = initial
                        try Parallel.visit(elements, blocks[block]) { element throws(E) in try update(&value, element) }
                        unsafe places[block] = value
                    }
                }
            }
            unsafe Parallel.join(places, blocks.count) { earlier, later in
                effort.part(0) { () throws(E) in try combine(&earlier, later) }
            }
        }
        try effort.end()
        return unsafe places[0]
    }

    /// Adds all values to the first value, as a balanced tree.
    @inlinable
    static func join<R>(_ values: UnsafeMutablePointer<R>, _ count: Int, _ combine: (inout R, R) -> Void) {
        if count == 1 { return }
        let middle = count / 2
        both {
            unsafe join(values, middle, combine)
        } _: {
            unsafe join(values + middle, count - middle, combine)
        }
        unsafe combine(&values[0], values[middle])
    }
}
