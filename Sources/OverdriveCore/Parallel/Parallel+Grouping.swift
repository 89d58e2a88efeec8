extension Parallel {
    /// The elements by what a closure says of them.
    ///
    ///     let byHost = Parallel().grouping(requests, by: \.host)
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - key: Called once for each element, unless the operation ends early: the group that it belongs to.
    /// - Returns: The elements of each group, in their order.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A dictionary for each of at most 256 blocks, which are put together in pairs.
    @inlinable
    public func grouping<C: RandomAccessCollection & Sendable, Key: Hashable & Sendable, E: Error>(
        _ elements: C, by key: @Sendable (C.Element) throws(E) -> Key
    ) throws(E) -> [Key: [C.Element]] where C.Element: Sendable {
        try reduce(elements, into: [:]) { (groups: inout [Key: [C.Element]], element) throws(E) in
            groups[try key(element), default: []].append(element)
        } combine: { (groups, later) throws(E) in
            for (key, elements) in later { groups[key, default: []].append(contentsOf: elements) }
        }
    }
}
