// Owns the parallel grouping, on top of `reduce(_:into:_:combine:)`. Programs call it. Groups never depend on the
// number of workers.

extension Parallel {
    /// Groups the elements of a collection by a key.
    ///
    ///     let byHost = Parallel().grouping(requests, by: \.host)
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - key: Returns the key of an element. Called once for each element, unless the operation ends early.
    /// - Returns: A dictionary of the elements of each key, in their order.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: A dictionary for each of at most 256 blocks; the dictionaries are then merged in pairs.
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
