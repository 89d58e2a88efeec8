// Owns the operations on spans. Programs call them. A span's memory is read during the call only.

extension Parallel {
    /// Calls a closure for every element of a span, in parallel on free workers.
    ///
    ///     Parallel.forEach(samples.span) { sample in process(sample) }
    ///
    /// - Parameters:
    ///   - span: The elements to visit.
    ///   - body: Called once for each element, unless an error occurs first.
    /// - Throws: The first error, after all started parts have finished.
    /// - Ordering: Parts run in any order; each part runs from front to back.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public static func forEach<Element: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ body: @Sendable (Element) throws(E) -> Void
    ) throws(E) {
        try Parallel().forEach(span, body)
    }

    /// Calls a closure for every element of a span, with the settings of this value.
    ///
    ///     Parallel(grain: 64).forEach(samples.span) { sample in process(sample) }
    ///
    /// - Parameters:
    ///   - span: The elements to visit.
    ///   - body: Called once for each element, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order; each part runs from front to back.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public func forEach<Element: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ body: @Sendable (Element) throws(E) -> Void
    ) throws(E) {
        try unsafe span.withUnsafeBufferPointer { buffer throws(E) in try forEach(unsafe Elements(buffer), body) }
    }

    /// Returns the results of a closure for all elements of a span, in their order.
    ///
    ///     let levels = Parallel.map(samples.span) { abs($0) }
    ///
    /// - Parameters:
    ///   - span: The elements to visit.
    ///   - transform: Called once for each element, unless an error occurs first.
    /// - Returns: One result per element.
    /// - Throws: The first error, after all started calls have finished and the results are released.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public static func map<Element: Sendable, R: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ transform: @Sendable (Element) throws(E) -> R
    ) throws(E) -> [R] {
        try Parallel().map(span, transform)
    }

    /// Returns the results of a closure for all elements of a span, with the settings of this value.
    ///
    ///     let levels = try Parallel(token: token).map(samples.span) { sample throws in abs(sample) }
    ///
    /// - Parameters:
    ///   - span: The elements to visit.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: One result per element.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public func map<Element: Sendable, R: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ transform: @Sendable (Element) throws(E) -> R
    ) throws(E) -> [R] {
        try unsafe span.withUnsafeBufferPointer { buffer throws(E) in try map(unsafe Elements(buffer), transform) }
    }

    /// Combines the elements of a span, with the same bits on any number of workers.
    ///
    ///     let total = Parallel.reduce(prices.span, 0, +)
    ///
    /// - Parameters:
    ///   - span: The elements to combine.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values.
    /// - Throws: The first error, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public static func reduce<Element: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ identity: Element, _ combine: @Sendable (Element, Element) throws(E) -> Element
    ) throws(E) -> Element {
        try Parallel().reduce(span, identity, combine)
    }

    /// Combines the elements of a span, with the settings of this value.
    ///
    ///     let total = Parallel(on: solvers).reduce(prices.span, 0, +)
    ///
    /// - Parameters:
    ///   - span: The elements to combine.
    ///   - identity: A neutral value for `combine`, such as 0 for a sum.
    ///   - combine: Combines two values, the earlier one first.
    /// - Returns: The combination of all values, with the same bits on any number of workers.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order; combinations keep the order of the elements.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a collection; nothing is copied.
    @inlinable
    @inline(__always)
    public func reduce<Element: Sendable, E: Error>(
        _ span: borrowing Span<Element>, _ identity: Element, _ combine: @Sendable (Element, Element) throws(E) -> Element
    ) throws(E) -> Element {
        try unsafe span.withUnsafeBufferPointer { buffer throws(E) in
            try reduce(unsafe Elements(buffer), identity, combine)
        }
    }
}
