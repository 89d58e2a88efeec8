// Sorts that may end early. The array has all its elements then, in some order.

extension Parallel {
    /// Sorts an array in place by an order of your own, which may throw; equal elements may change places.
    ///
    ///     try Parallel.sort(&versions) { a, b throws(VersionError) in try a.precedes(b) }
    ///
    /// - Parameters:
    ///   - array: What to sort. After an error it has all its elements, in some order.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - progress: Counts the elements that are in their places.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The first error. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:by:)``, one allocation, and some nanoseconds more for each comparison.
    @inlinable
    public static func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], on scheduler: Scheduler? = nil, progress: Progress? = nil,
        by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        sort(&array, keepsOrder: false, on: scheduler, effort, precedes)
        try effort.check()
    }

    /// Sorts an array in place by an order of your own, until it is cancelled; equal elements may change places.
    ///
    /// - Parameters:
    ///   - array: What to sort. After an error it has all its elements, in some order.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - token: Ends the sort early; so does the cancellation of the caller's work or Swift task.
    ///   - progress: Counts the elements that are in their places.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The order's first error, or `CancellationError`.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``sort(_:by:)``, one allocation, and some nanoseconds more for each comparison.
    @inlinable
    public static func sort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler? = nil, token: CancellationToken,
        progress: Progress? = nil, by precedes: @Sendable (Element, Element) throws -> Bool
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        sort(&array, keepsOrder: false, on: scheduler, effort, precedes)
        try effort.checkCancelled()
    }

    /// Sorts an array in place by an order of your own, which may throw; equal elements keep their order. See
    /// `sort(_:on:progress:by:)`; an element in a run that is still to be merged is half done.
    @inlinable
    public static func stableSort<Element: Sendable, E: Error>(
        _ array: inout [Element], on scheduler: Scheduler? = nil, progress: Progress? = nil,
        by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        sort(&array, keepsOrder: true, on: scheduler, effort, precedes)
        try effort.check()
    }

    /// Sorts an array in place by an order of your own, until it is cancelled; equal elements keep their order.
    /// See `sort(_:on:token:progress:by:)` and `stableSort(_:on:progress:by:)`.
    @inlinable
    public static func stableSort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler? = nil, token: CancellationToken,
        progress: Progress? = nil, by precedes: @Sendable (Element, Element) throws -> Bool
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        sort(&array, keepsOrder: true, on: scheduler, effort, precedes)
        try effort.checkCancelled()
    }

    @inlinable
    static func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], keepsOrder: Bool, on scheduler: Scheduler?, _ effort: Effort<E>,
        _ precedes: (Element, Element) throws(E) -> Bool
    ) {
        if array.count < 2 { return effort.isDone(halves: 2 * array.count) }
        withoutActuallyEscaping(precedes) { precedes in
            // The closure is called by those who sort, all of whom have ended when this returns.
            nonisolated(unsafe) let precedes = precedes
            let order = OrderOfEffort<Element, E>({ a, b in effort.compare(a, b, precedes) }, effort)
            array.withUnsafeMutableBufferPointer { elements in
                guard let base = elements.baseAddress else { return }
                let count = elements.count
                staying(on: scheduler) {
                    if keepsOrder {
                        Sorting.stable(base, count, order)
                    } else {
                        Sorting.unstable(base, count, order)
                    }
                }
            }
        }
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
