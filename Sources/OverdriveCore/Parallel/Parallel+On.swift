extension Parallel {
    /// Runs two closures on a scheduler of your choice; see `join(_:_:)`.
    ///
    ///     let (a, b) = Parallel.join(on: renderers) { left() } _: { right() }
    ///
    /// Operations inside the closures stay on that scheduler.
    ///
    /// - Parameters:
    ///   - scheduler: Its workers help. A caller that is none of them takes part as a guest.
    ///   - a: Runs here, first.
    ///   - b: Runs here after it, or on a worker.
    /// - Returns: What both returned.
    /// - Throws: What `a` threw, else what `b` threw.
    /// - Ordering: As without a scheduler.
    /// - Threading: Any thread.
    /// - Cost: Becoming a guest takes some 100 ns; nested joins need no `on:`.
    @inlinable
    public static func join<A: Sendable, B: Sendable, E: Error>(
        on scheduler: Scheduler, _ a: @Sendable () throws(E) -> A, _ b: @Sendable () throws(E) -> B
    ) throws(E) -> (A, B) {
        try staying(on: scheduler) { () throws(E) in try join(a, b) }
    }

    /// Runs two closures, each with its part of a span, on a scheduler of your choice; see
    /// ``join(splitting:at:_:_:)``.
    @inlinable
    public static func join<Element: Sendable, A: Sendable, B: Sendable, E: Error>(
        splitting span: inout MutableSpan<Element>, at index: Int, on scheduler: Scheduler,
        _ a: @Sendable (inout MutableSpan<Element>) throws(E) -> A,
        _ b: @Sendable (inout MutableSpan<Element>) throws(E) -> B
    ) throws(E) -> (A, B) {
        try staying(on: scheduler) { () throws(E) in try join(splitting: &span, at: index, a, b) }
    }

    /// Runs closures on a scheduler of your choice; see `invoke(_:_:)`.
    @inlinable
    public static func invoke(on scheduler: Scheduler, _ bodies: [@Sendable () -> Void]) {
        staying(on: scheduler) { invoke(bodies) }
    }

    /// Combines what a closure returns for a few numbers, called on a scheduler of your choice; see
    /// `join(count:_:_:_:)`.
    @inlinable
    public static func join<R: Sendable>(
        count: Int, _ end: R, on scheduler: Scheduler, _ combine: (R, R) -> R, _ branch: @Sendable (Int) -> R
    ) -> R {
        staying(on: scheduler) { join(count: count, end, combine, branch) }
    }

    /// The same with closures that may throw.
    @inlinable
    public static func join<R: Sendable, E: Error>(
        count: Int, _ end: R, on scheduler: Scheduler,
        _ combine: (R, R) throws(E) -> R, _ branch: @Sendable (Int) throws(E) -> R
    ) throws(E) -> R {
        try staying(on: scheduler) { () throws(E) in try join(count: count, end, combine, branch) }
    }

    /// Runs a closure once for each of a few numbers, on a scheduler of your choice; see `invoke(count:_:)`.
    @inlinable
    public static func invoke(count: Int, on scheduler: Scheduler, _ body: @Sendable (Int) -> Void) {
        staying(on: scheduler) { invoke(count: count, body) }
    }

    /// The same with a closure that may throw.
    @inlinable
    public static func invoke<E: Error>(
        count: Int, on scheduler: Scheduler, _ body: @Sendable (Int) throws(E) -> Void
    ) throws(E) {
        try staying(on: scheduler) { () throws(E) in try invoke(count: count, body) }
    }

    /// Opens a scope on a scheduler of your choice; see ``scope(_:)``.
    @inlinable
    public static func scope<R, E: Error>(
        on scheduler: Scheduler, _ body: (inout Scope) throws(E) -> R
    ) throws(E) -> R {
        try staying(on: scheduler) { () throws(E) in try scope(body) }
    }

    /// The smallest element, found on a scheduler of your choice; see ``min(_:)``.
    @inlinable
    public static func min<C: RandomAccessCollection & Sendable>(_ elements: C, on scheduler: Scheduler) -> C.Element?
    where C.Element: Comparable & Sendable {
        staying(on: scheduler) { min(elements) }
    }

    /// The largest element, found on a scheduler of your choice; see ``max(_:)``.
    @inlinable
    public static func max<C: RandomAccessCollection & Sendable>(_ elements: C, on scheduler: Scheduler) -> C.Element?
    where C.Element: Comparable & Sendable {
        staying(on: scheduler) { max(elements) }
    }

    /// Combines a collection on a scheduler of your choice; see ``reduce(_:_:_:)``.
    @inlinable
    public static func reduce<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler,
        _ combine: @Sendable (C.Element, C.Element) -> C.Element
    ) -> C.Element where C.Element: Sendable {
        staying(on: scheduler) { reduce(elements, identity, combine) }
    }

    /// The combinations of each element with all before it, made on a scheduler of your choice; see
    /// ``scan(_:_:_:)``.
    @inlinable
    public static func scan<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler,
        _ combine: @Sendable (C.Element, C.Element) -> C.Element
    ) -> [C.Element] where C.Element: Sendable {
        staying(on: scheduler) { scan(elements, identity, combine) }
    }

    /// Sorts an array in place on a scheduler of your choice; see `sort(_:)`.
    @inlinable
    public static func sort<Element: Comparable & Sendable>(_ array: inout [Element], on scheduler: Scheduler) {
        staying(on: scheduler) { sort(&array) }
    }

    /// Sorts an array in place on a scheduler of your choice; see ``sort(_:by:)``.
    @inlinable
    public static func sort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler, by precedes: @Sendable (Element, Element) -> Bool
    ) {
        staying(on: scheduler) { sort(&array, by: precedes) }
    }

    /// Sorts an array in place, keeping equal elements in order, on a scheduler of your choice; see
    /// `stableSort(_:)`.
    @inlinable
    public static func stableSort<Element: Comparable & Sendable>(_ array: inout [Element], on scheduler: Scheduler) {
        staying(on: scheduler) { stableSort(&array) }
    }

    /// Sorts an array in place, keeping equal elements in order, on a scheduler of your choice; see
    /// ``stableSort(_:by:)``.
    @inlinable
    public static func stableSort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler, by precedes: @Sendable (Element, Element) -> Bool
    ) {
        staying(on: scheduler) { stableSort(&array, by: precedes) }
    }
}
