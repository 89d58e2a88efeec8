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
        if token != nil || progress != nil { return stableSort(&array) { $0 < $1 } }
        if array.count < 2 { return }
        unsafe array.withUnsafeMutableBufferPointer { elements in
            guard let base = elements.baseAddress else { return }
            if scheduler == nil { return unsafe Sorting.stable(base, elements.count, Ascending()) }
            let count = elements.count
            Parallel.staying(on: scheduler) { unsafe Sorting.stable(base, count, Ascending()) }
        }
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
        if E.self == Never.self && isPlain {
            if array.count < 2 { return }
            return Parallel.ordering({ a, b in
                do throws(E) { return try precedes(a, b) } catch { Parallel.trapThrown() }
            }) { order in
                unsafe array.withUnsafeMutableBufferPointer { elements in
                    guard let base = elements.baseAddress else { return }
                    unsafe Sorting.stable(base, elements.count, order)
                }
            }
        }
        try sort(&array, keepsOrder: true, precedes)
    }
}
