// Owns the parallel compactMap. Programs call it. Results never depend on the number of workers.

extension Parallel {
    /// Returns the non-nil results of a closure, in the order of the elements.
    ///
    ///     let numbers = Parallel().compactMap(lines) { Int($0) }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: The results other than nil.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public func compactMap<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R?
    ) throws(E) -> [R] {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> [R] in
            var kept: [R] = []
            try Parallel.visit(elements, block) { element throws(E) in
                if let result = try transform(element) { kept.append(result) }
            }
            return kept
        }
        return Parallel.concatenated(parts)
    }
}
