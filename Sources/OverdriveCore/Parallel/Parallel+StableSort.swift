// Owns the public stable sorts. Programs call it. The algorithm is in Sorting.swift.

extension Parallel {
    /// Sorts an array in place; equal elements keep their order.
    ///
    ///     Parallel().stableSort(&lines)
    ///
    /// - Parameter array: The array to sort.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: n log n comparisons; n if the array is already sorted. Memory for as many elements again; for strings
    ///   see ``sort(_:)``.
    @inlinable
    public func stableSort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        sort(&array, keepsOrder: true)
    }

    /// Sorts an array in place by a given order; equal elements keep their order.
    ///
    ///     Parallel().stableSort(&people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - array: The array to sort. After an error it contains all of its elements, in any order.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as ``stableSort(_:)``. With a token, progress or errors, one allocation, and some nanoseconds
    ///   more for each comparison.
    @inlinable
    @inline(__always)
    public func stableSort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try sort(&array, keepsOrder: true, precedes)
    }
}
