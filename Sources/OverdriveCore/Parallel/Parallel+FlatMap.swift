extension Parallel {
    /// The results of a closure for each element, concatenated in the elements' order.
    ///
    ///     let words = Parallel().flatMap(lines) { $0.split(separator: " ") }
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: All that its results contain.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
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
