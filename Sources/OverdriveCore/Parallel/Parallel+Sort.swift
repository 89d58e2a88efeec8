extension Parallel {
    /// Sorts an array in place; equal elements may change places.
    ///
    ///     Parallel().sort(&samples)
    ///
    /// - Parameter array: What to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: n log n comparisons, without a branch for each if elements are plain bits. An array in order, or in
    ///   the opposite order, takes n. No memory beside the array; strings take 24 bytes each, and ASCII strings are
    ///   sorted eight bytes at a time.
    @inlinable
    public func sort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        sort(&array, keepsOrder: false)
    }

    /// Sorts an array in place by an order of your own; equal elements may change places.
    ///
    ///     Parallel().sort(&people) { $0.age < $1.age }
    ///
    /// - Parameters:
    ///   - array: What to sort. After an error it has all its elements, in some order.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:)``; with a token, progress or errors one allocation, and some nanoseconds more for each
    ///   comparison.
    @inlinable
    @inline(__always)
    public func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try sort(&array, keepsOrder: false, precedes)
    }

    /// Sorts an array in place by what a key path leads to; elements with equal keys may change places.
    ///
    ///     Parallel().sort(&people, by: \.age)
    ///
    /// - Parameters:
    ///   - array: What to sort.
    ///   - key: Leads to what is compared.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:)``, and finding two keys for each comparison.
    @inlinable
    @inline(__always)
    public func sort<Element: Sendable, Key: Comparable & Sendable>(
        _ array: inout [Element], by key: any KeyPath<Element, Key> & Sendable
    ) {
        sort(&array) { $0[keyPath: key] < $1[keyPath: key] }
    }

    /// The elements of a collection in ascending order; equal ones may change places.
    ///
    ///     let ranking = Parallel().sorted(scores)
    ///
    /// - Parameter elements: What to sort.
    /// - Returns: All of them.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and ``sort(_:)``.
    @inlinable
    public func sorted<C: Collection>(_ elements: C) -> [C.Element] where C.Element: Comparable & Sendable {
        var array = Array(elements)
        sort(&array)
        return array
    }

    /// The elements of a collection in an order of your own; equal ones may change places.
    ///
    ///     let ranking = Parallel().sorted(players) { $0.score > $1.score }
    ///
    /// - Parameters:
    ///   - elements: What to sort.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Returns: All of them.
    /// - Throws: The first error, or `CancellationError`. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: An array, and sorting it.
    @inlinable
    @inline(__always)
    public func sorted<C: Collection, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        var array = Array(elements)
        try sort(&array, by: precedes)
        return array
    }

    /// In ascending order; of the two sorts the one that is asked for.
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

    /// By an order of the caller's.
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

    /// Calls `body` with a closure as an order, which nobody has any more when it returns.
    @inlinable
    @inline(__always)
    static func ordering<Element>(
        _ precedes: @Sendable (Element, Element) -> Bool, _ body: (OrderBy<Element>) -> Void
    ) {
        withoutActuallyEscaping(precedes) { precedes in body(OrderBy(precedes)) }
    }

    /// Where the order may throw, or something is asked.
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
}

extension Effort {
    /// Whether `a` comes before `b`; no, once the operation is over: sorts come to their end soon where
    /// everything is equal.
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
