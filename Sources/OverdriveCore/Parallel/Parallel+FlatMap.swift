// Owns the parallel flatMap. Programs call it. Results never depend on the number of workers.

extension Parallel {
    /// Returns the concatenated results of a closure, in the order of the elements.
    ///
    ///     let words = Parallel().flatMap(lines) { $0.split(separator: " ") }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: All elements of the results.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public func flatMap<C: RandomAccessCollection & Sendable, S: Sequence, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> S
    ) throws(E) -> [S.Element] where S.Element: Sendable {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> [S.Element] in
            var all: [S.Element] = []
            try Parallel.visit(elements, block) { element throws(E) in all.append(contentsOf: try transform(element)) }
            return all
        }
        return Parallel.concatenated(parts)
    }
}
