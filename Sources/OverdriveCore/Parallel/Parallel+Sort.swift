// Owns the public unstable sorts, and the paths that all sorts share. Programs call it. The algorithms are in
// Sorting.swift and SortingStrings.swift.

extension Parallel {
    /// Sorts an array in place; the order of equal elements may change.
    ///
    ///     Parallel().sort(&samples)
    ///
    /// - Parameter array: The array to sort.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: n log n comparisons, without a branch for each if elements are plain values. A sorted or reversed
    ///   array takes n comparisons. No memory beside the array; strings take 24 bytes each, and ASCII strings are
    ///   compared 8 bytes at a time.
    @inlinable
    public func sort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        sort(&array, keepsOrder: false)
    }

    /// Sorts an array in place by a given order; the order of equal elements may change.
    ///
    ///     Parallel().sort(&people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - array: The array to sort. After an error it contains all of its elements, in any order.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:)-swift.method``; with a token, progress or errors one allocation, and some nanoseconds more for each
    ///   comparison.
    @inlinable
    @inline(__always)
    public func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try sort(&array, keepsOrder: false, precedes)
    }

    /// Sorts an array in place by a key path; the order of elements with equal keys may change.
    ///
    ///     Parallel().sort(&people, by: \.age)
    ///
    /// - Parameters:
    ///   - array: What to sort.
    ///   - key: The path to the value to compare.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:)-swift.method``, and finding two keys for each comparison.
    @inlinable
    @inline(__always)
    public func sort<Element: Sendable, Key: Comparable & Sendable>(
        _ array: inout [Element], by key: any KeyPath<Element, Key> & Sendable
    ) {
        sort(&array) { $0[keyPath: key] < $1[keyPath: key] }
    }

    /// Returns the elements of a collection in ascending order; the order of equal elements may change.
    ///
    ///     let ranking = Parallel().sorted(scores)
    ///
    /// - Parameter elements: The elements to sort.
    /// - Returns: All of them.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and ``sort(_:)-swift.method``.
    @inlinable
    public func sorted<C: Collection>(_ elements: C) -> [C.Element] where C.Element: Comparable & Sendable {
        var array = Array(elements)
        sort(&array)
        return array
    }

    /// Returns the elements of a collection in a given order; the order of equal elements may change.
    ///
    ///     let ranking = Parallel().sorted(players) { $0.score > $1.score }
    ///
    /// - Parameters:
    ///   - elements: The elements to sort.
    ///   - precedes: Returns whether its first argument orders before its second: a strict weak order.
    /// - Returns: All elements, sorted.
    /// - Throws: The first error, or `CancellationError`. Comparisons that have not started by then do not run.
    /// - Ordering: Comparisons run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: A copy to an array, and the sort.
    @inlinable
    @inline(__always)
    public func sorted<C: Collection, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        var array = Array(elements)
        try sort(&array, by: precedes)
        return array
    }

    /// Sorts in ascending order, with the stable or the unstable sort.
    @inlinable
    @inline(__always)
    func sort<Element: Comparable & Sendable>(_ array: inout [Element], keepsOrder: Bool) {
        if token != nil || progress != nil { return sort(&array, keepsOrder: keepsOrder) { $0 < $1 } }
        if array.count < 2 { return }
        unsafe array.withUnsafeMutableBufferPointer { elements in
            guard let base = elements.baseAddress else { return }
            if scheduler == nil { return unsafe Sorting.sort(base, elements.count, Ascending(), keepsOrder: keepsOrder) }
            let count = elements.count
            Parallel.asExternalThread(of: scheduler) { unsafe Sorting.sort(base, count, Ascending(), keepsOrder: keepsOrder) }
        }
    }

    /// Sorts by a closure, with the stable or the unstable sort.
    @inlinable
    @inline(__always)
    func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], keepsOrder: Bool, _ precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        guard E.self == Never.self && isPlain else { return try sort(watched: &array, keepsOrder: keepsOrder, precedes) }
        if array.count < 2 { return }
        Parallel.ordering({ a, b in
            do throws(E) { return try precedes(a, b) } catch { Parallel.trapThrown() }
        }) { order in
            unsafe array.withUnsafeMutableBufferPointer { elements in
                guard let base = elements.baseAddress else { return }
                unsafe Sorting.sort(base, elements.count, order, keepsOrder: keepsOrder)
            }
        }
    }

    /// Calls `body` with an order that wraps the closure. No reference to the order remains when `body` returns.
    @inlinable
    @inline(__always)
    static func ordering<Element>(
        _ precedes: @Sendable (Element, Element) -> Bool, _ body: (OrderBy<Element>) -> Void
    ) {
        withoutActuallyEscaping(precedes) { precedes in body(OrderBy(precedes)) }
    }

    /// The slow path, for an order that may throw and for settings other than a grain.
    @inlinable
    func sort<Element: Sendable, E: Error>(
        watched array: inout [Element], keepsOrder: Bool, _ precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        let effort = Effort<E>(self)
        if array.count < 2 {
            effort.isDone(halves: 2 * array.count)
            return try effort.end()
        }
        withoutActuallyEscaping(precedes) { precedes in
            let order = OrderOfEffort<Element, E>({ a, b in effort.compare(a, b, precedes) }, effort)
            unsafe array.withUnsafeMutableBufferPointer { elements in
                guard let base = elements.baseAddress else { return }
                let count = elements.count
                Parallel.asExternalThread(of: scheduler) {
                    unsafe Sorting.sort(base, count, order, keepsOrder: keepsOrder)
                }
            }
        }
        try effort.end()
    }

    /// The elements of a collection in the order of the values at a key path; equal ones may change places.
    ///
    ///     let people = Parallel().sorted(people, by: \.age)
    ///
    /// - Parameters:
    ///   - elements: The elements to sort.
    ///   - key: Leads to the compared values.
    /// - Returns: All elements.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A copy to an array, and the sort.
    @inlinable
    @inline(__always)
    public func sorted<C: Collection, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> [C.Element] where C.Element: Sendable {
        sorted(elements) { $0[keyPath: key] < $1[keyPath: key] }
    }
}

extension Effort {
    /// Returns whether `a` orders before `b`; always false after an early end. With all elements equal, the sorts
    /// finish soon.
    @usableFromInline
    func compare<Element>(_ a: Element, _ b: Element, _ precedes: (Element, Element) throws(E) -> Bool) -> Bool {
        if isOver { return false }
        do throws(E) {
            return try precedes(a, b)
        } catch {
            fail(error)
            return false
        }
    }
}
