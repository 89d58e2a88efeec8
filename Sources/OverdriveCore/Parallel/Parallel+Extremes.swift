// The smallest and the largest element, by orders that may throw, until cancelled, and for tasks.

extension Parallel {
    /// The first element that no other comes before, in an order of your own that may throw; nil for none.
    ///
    ///     let oldest = try Parallel.min(files) { a, b throws(IOError) in try a.date() < b.date() }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - precedes: Whether its first argument comes before its second.
    /// - Throws: The first error. Comparisons that had not begun then do not begin.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``reduce(_:_:_:)``, one allocation, and some nanoseconds more for each comparison.
    @inlinable
    public static func min<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler? = nil,
        by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        let effort = Effort<E>()
        let smallest = staying(on: scheduler) { min(elements) { a, b in effort.compare(a, b, precedes) } }
        try effort.check()
        return smallest
    }

    /// The first element that no other comes before, unless the search is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func min<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler? = nil, token: CancellationToken,
        by precedes: @Sendable (C.Element, C.Element) throws -> Bool
    ) throws -> C.Element? where C.Element: Sendable {
        let effort = Effort<any Error>(token: token, endsWhenCancelled: true)
        let smallest = staying(on: scheduler) { min(elements) { a, b in effort.compare(a, b, precedes) } }
        try effort.checkCancelled()
        return smallest
    }

    /// The first element that comes before no other, in an order of your own that may throw; nil for none. See
    /// `min(_:on:by:)`.
    @inlinable
    public static func max<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler? = nil,
        by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        let effort = Effort<E>()
        let largest = staying(on: scheduler) { max(elements) { a, b in effort.compare(a, b, precedes) } }
        try effort.check()
        return largest
    }

    /// The first element that comes before no other, unless the search is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func max<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler? = nil, token: CancellationToken,
        by precedes: @Sendable (C.Element, C.Element) throws -> Bool
    ) throws -> C.Element? where C.Element: Sendable {
        let effort = Effort<any Error>(token: token, endsWhenCancelled: true)
        let largest = staying(on: scheduler) { max(elements) { a, b in effort.compare(a, b, precedes) } }
        try effort.checkCancelled()
        return largest
    }

    /// The smallest element, found while the calling task is suspended; see ``min(_:)`` and ``run(on:_:)``.
    public static func min<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared
    ) async -> C.Element? where C.Element: Comparable & Sendable {
        await run(on: scheduler) { min(elements) }
    }

    /// The largest element, found while the calling task is suspended; see ``max(_:)`` and ``run(on:_:)``.
    public static func max<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared
    ) async -> C.Element? where C.Element: Comparable & Sendable {
        await run(on: scheduler) { max(elements) }
    }

    /// The first element that no other comes before, found while the calling task is suspended; see
    /// ``min(_:on:token:by:)``.
    public static func min<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        by precedes: @escaping @Sendable (C.Element, C.Element) throws -> Bool
    ) async throws -> C.Element? where C.Element: Sendable {
        try await run(on: scheduler) { try min(elements, token: token, by: precedes) }
    }

    /// The first element that comes before no other, found while the calling task is suspended; see
    /// ``max(_:on:token:by:)``.
    public static func max<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        by precedes: @escaping @Sendable (C.Element, C.Element) throws -> Bool
    ) async throws -> C.Element? where C.Element: Sendable {
        try await run(on: scheduler) { try max(elements, token: token, by: precedes) }
    }
}
