// The loops with everything that may be said about them. Those without these parameters are in files of their
// own and do not pay for them.

extension Parallel {
    /// Calls a closure that may throw for every number of a range.
    ///
    ///     try Parallel.forEach(0..<files.count, on: readers) { i in try check(files[i]) }
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - grain: So many iterations at least stay together.
    ///   - placement: Whether parts of the range belong to NUMA nodes.
    ///   - progress: Counts the iterations that are done.
    ///   - body: Called once for each number, unless an error comes first.
    /// - Throws: The first error. Parts that had not started then do not start, and in those that run
    ///   ``Cancellation/isRequested`` turns true; all have ended when it is thrown.
    /// - Ordering: In no order between parts; within a part upwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation, and some 20 ns for each chunk of some microseconds.
    @inlinable
    public static func forEach<E: Error>(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @Sendable (Int) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        run(range, on: scheduler, grain: grain, placement: placement, effort) { part throws(E) in
            for i in part { try body(i) }
        }
        try effort.check()
    }

    /// Calls a closure for every number of a range, until it is cancelled.
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - grain: So many iterations at least stay together.
    ///   - placement: Whether parts of the range belong to NUMA nodes.
    ///   - token: Ends the loop early; so does the cancellation of the caller's work or Swift task.
    ///   - progress: Counts the numbers that are done.
    ///   - body: Is called once for each number, unless the loop ends early.
    /// - Throws: The body's first error, or `CancellationError`, after all parts that had started have ended.
    @inlinable
    public static func forEach(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken, progress: Progress? = nil, _ body: @Sendable (Int) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        run(range, on: scheduler, grain: grain, placement: placement, effort) { part in
            for i in part { try body(i) }
        }
        try effort.checkCancelled()
    }

    /// Calls a closure that may throw for parts of a range that together are all of it; the parameters are
    /// those of `forEach(_:on:grain:placement:progress:_:)`.
    @inlinable
    public static func forEachChunk<E: Error>(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @Sendable (Range<Int>) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        run(range, on: scheduler, grain: grain, placement: placement, effort, body)
        try effort.check()
    }

    /// Calls a closure for parts of a range until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func forEachChunk(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken, progress: Progress? = nil, _ body: @Sendable (Range<Int>) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        run(range, on: scheduler, grain: grain, placement: placement, effort, body)
        try effort.checkCancelled()
    }

    @inlinable
    static func run<E: Error>(
        _ range: Range<Int>, on scheduler: Scheduler?, grain: Int?, placement: Placement, _ effort: Effort<E>,
        _ body: (Range<Int>) throws(E) -> Void
    ) {
        _ = length(of: range)
        staying(on: scheduler) {
            Loop(grain: grain).run(range, placement) { part in
                effort.part(part.count) { () throws(E) in try body(part) }
            }
        }
    }

    /// The results of a closure that may throw for every element, in the elements' order.
    ///
    ///     let pictures = try Parallel.map(files) { file throws(DecodingProblem) in try decode(file) }
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - placement: Whether parts of the result belong to NUMA nodes.
    ///   - progress: Counts the elements that are done.
    ///   - transform: Called once for each element, unless an error comes first.
    /// - Returns: The results.
    /// - Throws: The first error, as `forEach(_:on:grain:placement:progress:_:)`; results are released.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: The result's allocation and two small ones; some 20 ns for each of at most 1,024 blocks.
    @inlinable
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler? = nil, placement: Placement = .anywhere, progress: Progress? = nil,
        _ transform: @Sendable (C.Element) throws(E) -> R
    ) throws(E) -> [R] {
        let effort = Effort<E>(progress: progress)
        let results = mapped(elements, on: scheduler, placement, effort, transform)
        try effort.check()
        return results
    }

    /// The results of a closure for every element, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, on scheduler: Scheduler? = nil, placement: Placement = .anywhere, token: CancellationToken,
        progress: Progress? = nil, _ transform: @Sendable (C.Element) throws -> R
    ) throws -> [R] {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        let results = mapped(elements, on: scheduler, placement, effort, transform)
        try effort.checkCancelled()
        return results
    }

    /// All results; or none, where a part is missing.
    @inlinable
    static func mapped<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler?, _ placement: Placement, _ effort: Effort<E>,
        _ transform: (C.Element) throws(E) -> R
    ) -> [R] {
        let count = elements.count
        if count == 0 { return [] }
        let blocks = Blocks(0..<count)
        return Array(unsafeUninitializedCapacity: count) { places, written in
            // How many results each block has: what is to be released where one throws.
            withUnsafeTemporaryAllocation(of: Int.self, capacity: blocks.count) { done in
                done.initialize(repeating: 0)
                staying(on: scheduler) {
                    Loop(grain: nil).run(0..<blocks.count, placement) { some in
                        for block in some {
                            effort.part(blocks[block].count) { () throws(E) in
                                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                                for i in blocks[block] {
                                    places.initializeElement(at: i, to: try transform(elements[index]))
                                    done[block] += 1
                                    elements.formIndex(after: &index)
                                }
                            }
                        }
                    }
                }
                if done.reduce(0, +) == count {
                    written = count
                    return
                }
                for block in 0..<blocks.count {
                    let start = blocks[block].lowerBound
                    _ = places[start..<start + done[block]].deinitialize()
                }
            }
        }
    }

    /// The elements that a closure that may throw says yes to, in their order; the parameters are those of
    /// ``map(_:on:placement:progress:_:)``.
    @inlinable
    public static func filter<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler? = nil, progress: Progress? = nil,
        _ isIncluded: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        let effort = Effort<E>(progress: progress)
        let kept = filtered(elements, on: scheduler, effort, isIncluded)
        try effort.check()
        return kept
    }

    /// The elements that a closure says yes to, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func filter<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler? = nil, token: CancellationToken, progress: Progress? = nil,
        _ isIncluded: @Sendable (C.Element) throws -> Bool
    ) throws -> [C.Element] where C.Element: Sendable {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        let kept = filtered(elements, on: scheduler, effort, isIncluded)
        try effort.checkCancelled()
        return kept
    }

    @inlinable
    static func filtered<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, on scheduler: Scheduler?, _ effort: Effort<E>, _ isIncluded: @Sendable (C.Element) throws(E) -> Bool
    ) -> [C.Element] where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count)
        return staying(on: scheduler) {
            concatenated(
                map(0..<blocks.count) { block -> [C.Element] in
                    let kept = effort.result(blocks[block].count) { () throws(E) -> [C.Element] in
                        var kept: [C.Element] = []
                        var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                        for _ in blocks[block] {
                            let element = elements[index]
                            if try isIncluded(element) { kept.append(element) }
                            elements.formIndex(after: &index)
                        }
                        return kept
                    }
                    return kept ?? []
                })
        }
    }

    /// Combines values into one, with closures that may throw; the parameters are those of
    /// ``reduce(_:_:map:combine:)`` and `forEach(_:on:grain:placement:progress:_:)`.
    @inlinable
    public static func reduce<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, on scheduler: Scheduler? = nil, progress: Progress? = nil,
        map: @Sendable (Int) throws(E) -> R, combine: @Sendable (R, R) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(progress: progress)
        let result = reduced(range, identity, on: scheduler, effort, map, combine)
        try effort.check()
        return result ?? identity
    }

    /// Combines values into one, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    @inlinable
    public static func reduce<R: Sendable>(
        _ range: Range<Int>, _ identity: R, on scheduler: Scheduler? = nil, token: CancellationToken,
        progress: Progress? = nil, map: @Sendable (Int) throws -> R, combine: @Sendable (R, R) throws -> R
    ) throws -> R {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        let result = reduced(range, identity, on: scheduler, effort, map, combine)
        try effort.checkCancelled()
        return result ?? identity
    }

    /// Nil for an empty range, and where a part is missing.
    @inlinable
    static func reduced<R: Sendable, E: Error>(
        _ range: Range<Int>, _ identity: R, on scheduler: Scheduler?, _ effort: Effort<E>,
        _ map: (Int) throws(E) -> R, _ combine: (R, R) throws(E) -> R
    ) -> R? {
        let blocks = Blocks(range)
        if blocks.count == 0 { return nil }
        return staying(on: scheduler) {
            blocks.tree(0, blocks.count, { block -> R? in
                effort.result(block.count) { () throws(E) -> R in
                    var sum = identity
                    for i in block { sum = try combine(sum, try map(i)) }
                    return sum
                }
            }, { earlier, later in
                guard let earlier, let later else { return nil }
                return effort.result(0) { () throws(E) -> R in try combine(earlier, later) }
            })
        }
    }

    /// Runs a closure that forks children which may throw, and returns when all of them are done.
    ///
    ///     try Parallel.scope(throwing: IOError.self) { scope in
    ///         for file in files { scope.fork { () throws(IOError) in try check(file) } }
    ///     }
    ///
    /// - Parameters:
    ///   - type: What children throw.
    ///   - scheduler: Whose workers help.
    ///   - body: Runs here. The scope it gets cannot leave it, nor go into a child.
    /// - Returns: What `body` returns.
    /// - Throws: The first error, of `body` or of a child. Children that had not started then do not start.
    /// - Ordering: As ``scope(_:)``.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation, and two for each child.
    @inlinable
    public static func scope<R, E: Error>(
        throwing type: E.Type, on scheduler: Scheduler? = nil, _ body: (inout ThrowingScope<E>) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>()
        // Its children inherit that the effort is current, until the last of them is joined.
        let result = effort.whole {
            staying(on: scheduler) {
                scope { inner -> R? in
                    var scope = ThrowingScope(effort)
                    defer {
                        inner.first = scope.inner.first
                        inner.children += scope.inner.children
                        scope.inner.children = 0
                    }
                    do throws(E) {
                        return try body(&scope)
                    } catch {
                        effort.fail(error)
                        return nil
                    }
                }
            }
        }
        try effort.check()
        guard let result else { trapUnfinished() }
        return result
    }

    /// What forks children that `Parallel/scope(throwing:on:_:)` waits for.
    public struct ThrowingScope<E: Error>: ~Copyable {
        @usableFromInline var inner = Scope()
        @usableFromInline let effort: Effort<E>

        @usableFromInline
        init(_ effort: Effort<E>) {
            self.effort = effort
        }

        /// Offers a child to whoever is free. It does not start after something of the scope has thrown.
        ///
        /// - Parameter child: Runs at most once.
        @inlinable
        public mutating func fork(_ child: @escaping @Sendable () throws(E) -> Void) {
            inner.fork { [effort] in effort.part(1, child) }
        }
    }
}
