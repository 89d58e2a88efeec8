extension Parallel {
    /// The results of a closure that are not nil, in the elements' order.
    ///
    ///     let numbers = Parallel().compactMap(lines) { Int($0) }
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: Its results but for nil.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
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
