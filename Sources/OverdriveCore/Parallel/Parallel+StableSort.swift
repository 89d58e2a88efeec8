extension Parallel {
    /// Sorts an array in place; equal elements keep their order.
    ///
    ///     Parallel().stableSort(&lines)
    ///
    /// - Parameter array: What to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: n log n comparisons; n where the array is in order already. Room for as many elements again; strings as of
    ///   ``sort(_:)``.
    @inlinable
    public func stableSort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        sort(&array, keepsOrder: true)
    }

    /// Sorts an array in place by an order of your own; equal elements keep their order.
    ///
    ///     Parallel().stableSort(&people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - array: What to sort. After an error it has all its elements, in some order.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``stableSort(_:)``; with a token, progress or errors one allocation, and some nanoseconds more for each
    ///   comparison.
    @inlinable
    @inline(__always)
    public func stableSort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try sort(&array, keepsOrder: true, precedes)
    }
}
