extension Parallel {
    /// Collects the elements of a collection in one value that is changed where it lies.
    ///
    ///     let counts = Parallel().reduce(words, into: [:]) { counts, word in
    ///         counts[word, default: 0] += 1
    ///     } combine: { counts, later in
    ///         counts.merge(later, uniquingKeysWith: +)
    ///     }
    ///
    /// - Parameters:
    ///   - elements: What to collect.
    ///   - initial: What each block begins with, and the result for no elements: a value that adds nothing.
    ///   - update: Called once for each element, with the value of its block.
    ///   - combine: Adds a later value to an earlier one.
    /// - Returns: The value for all, made in the same steps on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order; combinations keep the elements' order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A value for each of at most 256 blocks, which are put together in pairs.
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
        // Each place is changed by whoever takes its block, or joins what is in it with another.
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

    /// Adds all values to the first, as a balanced tree.
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
