extension Parallel {
    /// Sorts an array in place; equal elements may change places.
    ///
    ///     Parallel.sort(&samples)
    ///
    /// - Parameter array: What to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: n log n comparisons, without a branch for each where elements are plain bits; n where the array is
    ///   in order, or in the opposite order, already. No memory beside the array; of strings, which are sorted eight bytes
    ///   at a time if they are ASCII, 24 bytes for each.
    @inlinable
    public static func sort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        if array.count < 2 { return }
        array.withUnsafeMutableBufferPointer { elements in
            guard let base = elements.baseAddress, elements.count > 1 else { return }
            Sorting.unstable(base, elements.count, Ascending())
        }
    }

    /// Sorts an array in place by an order of your own; equal elements may change places.
    ///
    ///     Parallel.sort(&people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - array: What to sort.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `sort(_:)`.
    @inlinable
    @inline(__always)
    public static func sort<Element: Sendable>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) -> Bool
    ) {
        if array.count < 2 { return }
        withoutActuallyEscaping(precedes) { precedes in
            let order = OrderBy(precedes)
            array.withUnsafeMutableBufferPointer { elements in
                guard let base = elements.baseAddress, elements.count > 1 else { return }
                Sorting.unstable(base, elements.count, order)
            }
        }
    }

    /// Sorts an array in place; equal elements keep their order.
    ///
    ///     Parallel.stableSort(&lines)
    ///
    /// - Parameter array: What to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: n log n comparisons; n where the array is in order already. Room for as many elements again; strings as of
    ///   ``sort(_:)``.
    @inlinable
    public static func stableSort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        if array.count < 2 { return }
        array.withUnsafeMutableBufferPointer { elements in
            guard let base = elements.baseAddress, elements.count > 1 else { return }
            Sorting.stable(base, elements.count, Ascending())
        }
    }

    /// Sorts an array in place by an order of your own; equal elements keep their order.
    ///
    /// - Parameters:
    ///   - array: What to sort.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `stableSort(_:)`.
    @inlinable
    @inline(__always)
    public static func stableSort<Element: Sendable>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) -> Bool
    ) {
        if array.count < 2 { return }
        withoutActuallyEscaping(precedes) { precedes in
            let order = OrderBy(precedes)
            array.withUnsafeMutableBufferPointer { elements in
                guard let base = elements.baseAddress, elements.count > 1 else { return }
                Sorting.stable(base, elements.count, order)
            }
        }
    }
}
