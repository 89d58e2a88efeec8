// Owns the public stable sorts. Programs call it. The algorithm is in Sorting.swift.

extension Parallel {
    /// Sorts an array in place; equal elements keep their order.
    ///
    ///     Parallel().stableSort(&lines)
    ///
    /// - Parameter array: The array to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: n log n comparisons; n if the array is already sorted. Memory for as many elements again; for strings
    ///   ``sort(_:)-swift.method``.
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
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``stableSort(_:)-swift.method``; with a token, progress or errors one allocation, and some nanoseconds more for each
    ///   comparison.
    @inlinable
    @inline(__always)
    public func stableSort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try sort(&array, keepsOrder: true, precedes)
    }

    /// Sorts an array in place by the values at a key path; elements with equal keys keep their order.
    ///
    ///     Parallel().stableSort(&people, by: \.age)
    ///
    /// - Parameters:
    ///   - array: What to sort.
    ///   - key: Leads to the compared values.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``stableSort(_:)-swift.method``, and two keys for each comparison.
    @inlinable
    @inline(__always)
    public func stableSort<Element: Sendable, Key: Comparable & Sendable>(
        _ array: inout [Element], by key: any KeyPath<Element, Key> & Sendable
    ) {
        stableSort(&array) { $0[keyPath: key] < $1[keyPath: key] }
    }

    /// The elements of a collection in ascending order; equal ones keep their order.
    ///
    ///     let lines = Parallel().stableSorted(words)
    ///
    /// - Parameter elements: What to sort.
    /// - Returns: All elements.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and ``stableSort(_:)-swift.method``.
    @inlinable
    public func stableSorted<C: Collection>(_ elements: C) -> [C.Element] where C.Element: Comparable & Sendable {
        var array = Array(elements)
        stableSort(&array)
        return array
    }

    /// The elements of a collection in an order of your own; equal ones keep their order.
    ///
    ///     let ranking = Parallel().stableSorted(players) { $0.score > $1.score }
    ///
    /// - Parameters:
    ///   - elements: What to sort.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Returns: All elements.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and sorting it.
    @inlinable
    @inline(__always)
    public func stableSorted<C: Collection, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        var array = Array(elements)
        try stableSort(&array, by: precedes)
        return array
    }

    /// The elements of a collection in the order of the values at a key path; equal ones keep their order.
    ///
    ///     let people = Parallel().stableSorted(people, by: \.age)
    ///
    /// - Parameters:
    ///   - elements: What to sort.
    ///   - key: Leads to the compared values.
    /// - Returns: All elements.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and sorting it.
    @inlinable
    @inline(__always)
    public func stableSorted<C: Collection, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> [C.Element] where C.Element: Sendable {
        stableSorted(elements) { $0[keyPath: key] < $1[keyPath: key] }
    }
}
