internal import Synchronization

// Sorts, changes and scans for tasks, which suspend meanwhile. The array that is changed is taken from the caller and
// given back, so that nobody copies it.

extension Parallel {
    /// Sorts an array in place while the calling task is suspended; equal elements may change places.
    ///
    ///     await Parallel.sort(&samples)
    ///
    /// - Parameter array: What to sort.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and ``sort(_:)``.
    public static func sort<Element: Comparable & Sendable>(_ array: inout [Element]) async {
        await sort(&array, on: .shared)
    }

    /// Sorts an array in place on a scheduler of your choice while the calling task is suspended; see
    /// `sort(_:)`.
    public static func sort<Element: Comparable & Sendable>(
        _ array: inout [Element], on scheduler: Scheduler
    ) async {
        await handing(&array, to: scheduler) { sort(&$0) }
    }

    /// Sorts an array in place by an order of your own while the calling task is suspended.
    ///
    /// - Parameters:
    ///   - array: What to sort. After an error it has all its elements, in some order.
    ///   - scheduler: Whose workers do it.
    ///   - token: Ends the sort early, as the task's cancellation does.
    ///   - progress: Counts the elements that are in their places.
    ///   - precedes: Whether its first argument comes before its second: a strict weak order.
    /// - Throws: The order's first error, or `CancellationError`.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and ``sort(_:on:token:progress:by:)``.
    public static func sort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        progress: Progress? = nil, by precedes: @escaping @Sendable (Element, Element) throws -> Bool
    ) async throws {
        try await handing(&array, to: scheduler) { array -> Result<Void, any Error> in
            Result { try sort(&array, token: token, progress: progress, by: precedes) }
        }.get()
    }

    /// Sorts an array in place while the calling task is suspended; equal elements keep their order. See
    /// ``stableSort(_:)``.
    public static func stableSort<Element: Comparable & Sendable>(_ array: inout [Element]) async {
        await stableSort(&array, on: .shared)
    }

    /// Sorts an array in place on a scheduler of your choice while the calling task is suspended; equal elements
    /// keep their order. See `stableSort(_:)`.
    public static func stableSort<Element: Comparable & Sendable>(
        _ array: inout [Element], on scheduler: Scheduler
    ) async {
        await handing(&array, to: scheduler) { stableSort(&$0) }
    }

    /// Sorts an array in place by an order of your own while the calling task is suspended; equal elements keep
    /// their order. See ``stableSort(_:on:token:progress:by:)``.
    public static func stableSort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        progress: Progress? = nil, by precedes: @escaping @Sendable (Element, Element) throws -> Bool
    ) async throws {
        try await handing(&array, to: scheduler) { array -> Result<Void, any Error> in
            Result { try stableSort(&array, token: token, progress: progress, by: precedes) }
        }.get()
    }

    /// The combinations of each element with all before it, made while the calling task is suspended; see
    /// ``scan(_:_:on:token:progress:_:)``.
    public static func scan<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler = .shared,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ combine: @escaping @Sendable (C.Element, C.Element) throws -> C.Element
    ) async throws -> [C.Element] where C.Element: Sendable {
        try await run(on: scheduler) { try scan(elements, identity, token: token, progress: progress, combine) }
    }

    /// Combines the elements of a collection into one value while the calling task is suspended; see
    /// ``reduce(_:_:on:token:progress:_:)``.
    public static func reduce<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler = .shared,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ combine: @escaping @Sendable (C.Element, C.Element) throws -> C.Element
    ) async throws -> C.Element where C.Element: Sendable {
        try await run(on: scheduler) { try reduce(elements, identity, token: token, progress: progress, combine) }
    }

    /// Calls a closure for every element of a collection while the calling task is suspended; see
    /// ``forEach(_:on:grain:placement:token:progress:_:)``.
    public static func forEach<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ body: @escaping @Sendable (C.Element) throws -> Void
    ) async throws {
        try await run(on: scheduler) {
            try forEach(elements, grain: grain, placement: placement, token: token, progress: progress, body)
        }
    }

    /// Calls a closure that may change it for every element of an array while the calling task is suspended; see
    /// ``forEach(mutating:on:grain:placement:token:progress:_:)``.
    public static func forEach<Element: Sendable>(
        mutating array: inout [Element], on scheduler: Scheduler = .shared, grain: Int? = nil,
        placement: Placement = .anywhere, token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ body: @escaping @Sendable (Int, inout Element) throws -> Void
    ) async throws {
        try await handing(&array, to: scheduler) { array -> Result<Void, any Error> in
            Result {
                try forEach(
                    mutating: &array, grain: grain, placement: placement, token: token, progress: progress, body)
            }
        }.get()
    }

    /// Calls a closure with neighbouring parts of an array, which it may change, while the calling task is suspended;
    /// see ``chunks(of:size:on:placement:token:progress:_:)``.
    public static func chunks<Element: Sendable>(
        of array: inout [Element], size: Int, on scheduler: Scheduler = .shared, placement: Placement = .anywhere,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ body: @escaping @Sendable (Int, inout MutableSpan<Element>) throws -> Void
    ) async throws {
        try await handing(&array, to: scheduler) { array -> Result<Void, any Error> in
            Result {
                try chunks(of: &array, size: size, placement: placement, token: token, progress: progress, body)
            }
        }.get()
    }

    /// Runs `body` on a worker with the caller's array, of which nobody else has a copy meanwhile.
    static func handing<Element: Sendable, R: Sendable>(
        _ array: inout [Element], to scheduler: Scheduler, _ body: @escaping @Sendable (inout [Element]) -> R
    ) async -> R {
        let hand = Hand(array)
        array = []
        let result = await run(on: scheduler) { hand.elements.withLock { elements in body(&elements) } }
        // Taken out: the worker may still hold the hand.
        array = hand.elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
        return result
    }
}

/// An array on its way to a worker and back.
private final class Hand<Element: Sendable>: Sendable {
    let elements: Locked<[Element]>

    init(_ elements: consuming [Element]) {
        self.elements = Locked(elements)
    }
}
