// The suspending forms whose closures cannot throw: nor can these. They do all of their work, whoever is cancelled
// meanwhile; what is to end early has a token, or a closure that throws.

extension Parallel {
    /// Runs `body` on the calling thread, also in an async function: `Parallel`'s calls in it block instead of suspending.
    ///
    ///     Parallel.synchronously { Parallel.sort(&samples) }
    ///
    /// - Parameter body: What to run, once.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Threading: Any thread. On one of Swift's own, which are as many as CPUs, nothing else runs meanwhile.
    @inlinable
    public static func synchronously<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        try body()
    }

    /// Calls a closure for every number of a range, and suspends the calling task meanwhile.
    ///
    ///     await Parallel.forEach(0..<frames.count) { i in render(frames[i]) }
    ///
    /// All numbers have their call, also where the task is cancelled: ``Cancellation/isRequested`` says so to `body`.
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - scheduler: Whose workers do it.
    ///   - grain: So many iterations at least stay together.
    ///   - placement: Whether parts of the range belong to NUMA nodes.
    ///   - progress: Counts the iterations that are done.
    ///   - body: Called once for each number.
    /// - Ordering: In no order between parts; within a part upwards.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and ``forEach(_:on:grain:placement:progress:_:)``.
    public static func forEach(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @escaping @Sendable (Int) -> Void
    ) async {
        await run(on: scheduler) { forEach(range, grain: grain, placement: placement, progress: progress, body) }
    }

    /// Calls a closure for parts of a range, and suspends the calling task meanwhile.
    public static func forEachChunk(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @escaping @Sendable (Range<Int>) -> Void
    ) async {
        await run(on: scheduler) { forEachChunk(range, grain: grain, placement: placement, progress: progress, body) }
    }

    /// Calls a closure for parts of a range, with something to work in, and suspends the calling task meanwhile.
    public static func forEachChunk<Scratch: Sendable>(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, scratch: @escaping @Sendable () -> Scratch,
        _ body: @escaping @Sendable (Range<Int>, inout Scratch) -> Void
    ) async {
        await run(on: scheduler) {
            forEachChunk(range, grain: grain, placement: placement, progress: progress, scratch: scratch, body)
        }
    }

    /// Calls a closure for every element of a collection while the calling task is suspended.
    public static func forEach<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @escaping @Sendable (C.Element) -> Void
    ) async {
        await run(on: scheduler) { forEach(elements, grain: grain, placement: placement, progress: progress, body) }
    }

    /// The results of a closure for every element, while the calling task is suspended.
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, progress: Progress? = nil,
        _ transform: @escaping @Sendable (C.Element) -> R
    ) async -> [R] {
        await run(on: scheduler) { map(elements, progress: progress, transform) }
    }

    /// The elements that a closure says yes to, while the calling task is suspended.
    public static func filter<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, progress: Progress? = nil,
        _ isIncluded: @escaping @Sendable (C.Element) -> Bool
    ) async -> [C.Element] where C.Element: Sendable {
        await run(on: scheduler) { filter(elements, progress: progress, isIncluded) }
    }

    /// Combines values into one while the calling task is suspended.
    public static func reduce<R: Sendable>(
        _ range: Range<Int>, _ identity: R, on scheduler: Scheduler = .shared, progress: Progress? = nil,
        map: @escaping @Sendable (Int) -> R, combine: @escaping @Sendable (R, R) -> R
    ) async -> R {
        await run(on: scheduler) { reduce(range, identity, progress: progress, map: map, combine: combine) }
    }

    /// Combines the elements of a collection into one value while the calling task is suspended.
    public static func reduce<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler = .shared, progress: Progress? = nil,
        _ combine: @escaping @Sendable (C.Element, C.Element) -> C.Element
    ) async -> C.Element where C.Element: Sendable {
        await run(on: scheduler) { reduce(elements, identity, progress: progress, combine) }
    }

    /// The combinations of each element with all before it, made while the calling task is suspended.
    public static func scan<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler = .shared, progress: Progress? = nil,
        _ combine: @escaping @Sendable (C.Element, C.Element) -> C.Element
    ) async -> [C.Element] where C.Element: Sendable {
        await run(on: scheduler) { scan(elements, identity, progress: progress, combine) }
    }

    /// Sorts an array in place by an order of your own while the calling task is suspended.
    public static func sort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler = .shared, progress: Progress? = nil,
        by precedes: @escaping @Sendable (Element, Element) -> Bool
    ) async {
        await handing(&array, to: scheduler) { sort(&$0, progress: progress, by: precedes) }
    }

    /// Sorts an array in place by an order of your own while the calling task is suspended; equal elements keep their order.
    public static func stableSort<Element: Sendable>(
        _ array: inout [Element], on scheduler: Scheduler = .shared, progress: Progress? = nil,
        by precedes: @escaping @Sendable (Element, Element) -> Bool
    ) async {
        await handing(&array, to: scheduler) { stableSort(&$0, progress: progress, by: precedes) }
    }

    /// Calls a closure that may change it for every element of an array while the calling task is suspended.
    public static func forEach<Element: Sendable>(
        mutating array: inout [Element], on scheduler: Scheduler = .shared, grain: Int? = nil,
        placement: Placement = .anywhere, progress: Progress? = nil,
        _ body: @escaping @Sendable (Int, inout Element) -> Void
    ) async {
        await handing(&array, to: scheduler) {
            forEach(mutating: &$0, grain: grain, placement: placement, progress: progress, body)
        }
    }

    /// Calls a closure with neighbouring parts of an array, which it may change, while the calling task is suspended.
    public static func chunks<Element: Sendable>(
        of array: inout [Element], size: Int, on scheduler: Scheduler = .shared, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @escaping @Sendable (Int, inout MutableSpan<Element>) -> Void
    ) async {
        await handing(&array, to: scheduler) {
            chunks(of: &$0, size: size, placement: placement, progress: progress, body)
        }
    }

    /// The first element that no other comes before, found while the calling task is suspended.
    public static func min<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, by precedes: @escaping @Sendable (C.Element, C.Element) -> Bool
    ) async -> C.Element? where C.Element: Sendable {
        await run(on: scheduler) { min(elements, by: precedes) }
    }

    /// The first element that comes before no other, found while the calling task is suspended.
    public static func max<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, by precedes: @escaping @Sendable (C.Element, C.Element) -> Bool
    ) async -> C.Element? where C.Element: Sendable {
        await run(on: scheduler) { max(elements, by: precedes) }
    }
}
