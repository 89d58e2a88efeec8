// The loops over the elements of a collection.

extension Parallel {
    /// Calls a closure for every element of a collection, on as many workers as are free.
    ///
    ///     Parallel.forEach(images) { image in image.makeThumbnail() }
    ///
    /// - Parameters:
    ///   - elements: What to go through. Asking for an element must not change the collection.
    ///   - grain: So many neighbours at least stay together.
    ///   - body: Called once for each element.
    /// - Ordering: In no order between parts; within a part from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``forEach(_:grain:_:)``.
    @inlinable
    @inline(__always)
    public static func forEach<C: RandomAccessCollection & Sendable>(
        _ elements: C, grain: Int? = nil, _ body: @Sendable (C.Element) -> Void
    ) {
        Loop(grain: grain).run(0..<elements.count) { part in
            var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
            for _ in part {
                body(elements[index])
                elements.formIndex(after: &index)
            }
        }
    }

    /// Calls a closure that may throw for every element of a collection; the parameters are those of
    /// ``map(_:on:placement:progress:_:)``.
    @inlinable
    public static func forEach<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @Sendable (C.Element) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        run(0..<elements.count, on: scheduler, grain: grain, placement: placement, effort) { part throws(E) in
            try visit(elements, part, body)
        }
        try effort.check()
    }

    /// Calls a closure for every element of a collection, until it is cancelled; see
    /// ``forEach(_:on:grain:placement:token:progress:_:)``.
    @inlinable
    public static func forEach<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken, progress: Progress? = nil, _ body: @Sendable (C.Element) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        run(0..<elements.count, on: scheduler, grain: grain, placement: placement, effort) { part in
            try visit(elements, part, body)
        }
        try effort.checkCancelled()
    }

    @inlinable
    static func visit<C: RandomAccessCollection, E: Error>(
        _ elements: C, _ part: Range<Int>, _ body: (C.Element) throws(E) -> Void
    ) throws(E) {
        var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
        for _ in part {
            try body(elements[index])
            elements.formIndex(after: &index)
        }
    }

    /// Combines the elements of a collection into one value, with a closure that may throw; the parameters are
    /// those of ``reduce(_:_:_:)`` and `forEach(_:on:grain:placement:progress:_:)`.
    @inlinable
    public static func reduce<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler? = nil, progress: Progress? = nil,
        _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> C.Element where C.Element: Sendable {
        let effort = Effort<E>(progress: progress)
        let result = reduced(
            0..<elements.count, identity, on: scheduler, effort, { i throws(E) in element(i, of: elements) }, combine)
        try effort.check()
        return result ?? identity
    }

    /// Combines the elements of a collection into one value, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func reduce<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler? = nil, token: CancellationToken,
        progress: Progress? = nil, _ combine: @Sendable (C.Element, C.Element) throws -> C.Element
    ) throws -> C.Element where C.Element: Sendable {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        let result = reduced(
            0..<elements.count, identity, on: scheduler, effort, { element($0, of: elements) }, combine)
        try effort.checkCancelled()
        return result ?? identity
    }

    @inlinable
    static func element<C: RandomAccessCollection>(_ place: Int, of elements: C) -> C.Element {
        elements[elements.index(elements.startIndex, offsetBy: place)]
    }

    /// The combinations of each element with all before it, made by a closure that may throw; the parameters are
    /// those of ``scan(_:_:_:)`` and `forEach(_:on:grain:placement:progress:_:)`.
    ///
    /// - Cost: Two passes over the elements; one array for each of at most 1,024 blocks, and the result.
    @inlinable
    public static func scan<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler? = nil, progress: Progress? = nil,
        _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        let effort = Effort<E>(progress: progress)
        let result = try scanned(elements, identity, on: scheduler, effort, combine)
        try effort.check()
        return result
    }

    /// The combinations of each element with all before it, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func scan<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler? = nil, token: CancellationToken,
        progress: Progress? = nil, _ combine: @Sendable (C.Element, C.Element) throws -> C.Element
    ) throws -> [C.Element] where C.Element: Sendable {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        let result = try scanned(elements, identity, on: scheduler, effort, combine)
        try effort.checkCancelled()
        return result
    }

    /// Empty where a part is missing. The elements count as done in the second pass.
    @inlinable
    static func scanned<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, on scheduler: Scheduler?, _ effort: Effort<E>,
        _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count)
        let sums = staying(on: scheduler) {
            map(0..<blocks.count) { block in
                effort.result(0) { () throws(E) -> C.Element in
                    var sum = identity
                    try visit(elements, blocks[block]) { element throws(E) in sum = try combine(sum, element) }
                    return sum
                }
            }
        }
        var before: [C.Element] = []
        var sum = identity
        for blockSum in sums {
            guard let blockSum else { return [] }
            before.append(sum)
            sum = try combine(sum, blockSum)
        }
        return staying(on: scheduler) { [before] in
            concatenated(
                map(0..<blocks.count) { block -> [C.Element] in
                    let part = effort.result(blocks[block].count) { () throws(E) -> [C.Element] in
                        var part: [C.Element] = []
                        part.reserveCapacity(blocks[block].count)
                        var sum = before[block]
                        try visit(elements, blocks[block]) { element throws(E) in
                            sum = try combine(sum, element)
                            part.append(sum)
                        }
                        return part
                    }
                    return part ?? []
                })
        }
    }

    /// The first element that no other comes before, in an order of your own; nil for none.
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - precedes: Whether its first argument comes before its second.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``reduce(_:_:_:)``.
    @inlinable
    public static func min<C: RandomAccessCollection & Sendable>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) -> Bool
    ) -> C.Element? where C.Element: Sendable {
        extreme(elements) { candidate, best in precedes(candidate, best) }
    }

    /// The first element that comes before no other, in an order of your own; nil for none.
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - precedes: Whether its first argument comes before its second.
    /// - Ordering: Comparisons come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``reduce(_:_:_:)``.
    @inlinable
    public static func max<C: RandomAccessCollection & Sendable>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) -> Bool
    ) -> C.Element? where C.Element: Sendable {
        extreme(elements) { candidate, best in precedes(best, candidate) }
    }

    /// Runs two closures that may throw, at the same time if a worker is free.
    ///
    ///     try Parallel.invoke { try load(textures) } _: { try load(sounds) }
    ///
    /// - Throws: What `a` threw, else what `b` threw, after both have ended; see `join(_:_:)`.
    @inlinable
    @inline(__always)
    public static func invoke<E: Error>(
        _ a: @Sendable () throws(E) -> Void, _ b: @Sendable () throws(E) -> Void
    ) throws(E) {
        _ = try join(a, b)
    }

    /// Runs three closures that may throw, at the same time if workers are free; see `join(_:_:)`.
    @inlinable
    @inline(__always)
    public static func invoke<E: Error>(
        _ a: @Sendable () throws(E) -> Void, _ b: @Sendable () throws(E) -> Void, _ c: @Sendable () throws(E) -> Void
    ) throws(E) {
        _ = try join(a, { () throws(E) in try invoke(b, c) })
    }

    /// Runs all closures of an array, which may throw, at the same time as far as workers are free.
    ///
    /// - Parameters:
    ///   - bodies: What to run, each once, unless an error comes first. (Errors without a type of their own: for
    ///     an array of closures that have one, Swift 6.3 makes no code.)
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    /// - Throws: The first error, as `forEach(_:on:grain:placement:progress:_:)`.
    /// - Ordering: In no order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `forEach(_:on:grain:placement:progress:_:)`.
    @inlinable
    public static func invoke(throwing bodies: [@Sendable () throws -> Void], on scheduler: Scheduler? = nil) throws {
        try forEach(0..<bodies.count, on: scheduler) { i in try bodies[i]() }
    }
}
