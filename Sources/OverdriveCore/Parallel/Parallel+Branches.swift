public import CScheduler

// Several branches from one frame: one closure that is told which of them it is, so that none has to be made for each.

extension Parallel {
    /// Runs a closure once for each of a few numbers, at the same time as far as workers are free, and combines what
    /// the calls return.
    ///
    ///     func count(_ node: Node) -> Int {
    ///         Parallel.join(count: node.children.count, 1, +) { i in count(node.children[i]) }
    ///     }
    ///
    /// Each call is a fork of its own, as in `join(_:_:)`: for the children of a node or the moves in a position, of
    /// which each may be much work. For numbers of which each is little there is ``reduce(_:_:map:combine:)``.
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - end: What the last result is combined with, and the result for no calls at all.
    ///   - combine: Combines a result with what came of those behind it. It runs here.
    ///   - branch: Called with each number below `count`: here with the last, and then with those before it that
    ///     nobody has taken; elsewhere with the others, the first first.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`: in this order always, so that it has the same bits
    ///   on any number of workers.
    /// - Ordering: Calls come in any order. What they wrote is visible afterwards.
    /// - Threading: Any thread, which takes part. While it waits for a call, it runs only what that has forked.
    /// - Cost: Some two nanoseconds for each call that nobody takes: no allocation, no locked instruction. However
    ///   many calls there are, a level of nesting takes one frame, and 32 bytes for each that waits, of which there
    ///   are 1,023 at most. A result of more than 16 bytes takes an allocation where its branch was taken.
    @inlinable
    @inline(__always)
    public static func join<R: Sendable>(
        count: Int, _ end: R, _ combine: (R, R) -> R, _ branch: @Sendable (Int) -> R
    ) -> R {
        var all = end
        if MemoryLayout<R>.size <= 16 && MemoryLayout<R>.alignment <= 16 {
            branches(count, branch) { number in
                all = combine(branch(number), all)
            } taken: { (result: R) in
                all = combine(result, all)
            }
        } else {
            branches(count) { number in
                let place = UnsafeMutablePointer<R>.allocate(capacity: 1)
                place.initialize(to: branch(number))
                return place
            } here: { number in
                all = combine(branch(number), all)
            } taken: { (place: UnsafeMutablePointer<R>) in
                all = combine(place.move(), all)
                place.deallocate()
            }
        }
        return all
    }

    /// Runs a closure that may throw once for each of a few numbers, at the same time as far as workers are free, and
    /// combines what the calls return; the parameters are those of ``join(count:_:_:_:)``.
    ///
    /// - Throws: The first error. Calls that had not begun then do not begin, and in those that run
    ///   ``Cancellation/isRequested`` turns true; all have ended when it is thrown.
    /// - Cost: One allocation more than without errors, and some 20 ns for each call.
    @inlinable
    public static func join<R: Sendable, E: Error>(
        count: Int, _ end: R, _ combine: (R, R) throws(E) -> R, _ branch: @Sendable (Int) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>()
        let all = effort.whole {
            join(count: count, Optional(end)) { result, behind -> R? in
                guard let result, let behind else { return nil }
                return effort.result(0) { () throws(E) in try combine(result, behind) }
            } _: { number -> R? in
                effort.result(1) { () throws(E) in try branch(number) }
            }
        }
        try effort.check()
        guard let all else { trapUnfinished() }
        return all
    }

    /// Runs a closure once for each of a few numbers, at the same time as far as workers are free.
    ///
    ///     Parallel.invoke(count: node.children.count) { i in visit(node.children[i]) }
    ///
    /// Each call is a fork of its own. For numbers of which each is little there is `forEach(_:grain:_:)`.
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - body: Called with each number below `count`.
    /// - Ordering: In no order. What the calls wrote is visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `join(count:_:_:_:)`.
    @inlinable
    @inline(__always)
    public static func invoke(count: Int, _ body: @Sendable (Int) -> Void) {
        branches(count, body, here: body, taken: {})
    }

    /// Runs a closure that may throw once for each of a few numbers, at the same time as far as workers are free.
    ///
    /// - Throws: The first error, as `join(count:_:_:_:)`.
    @inlinable
    public static func invoke<E: Error>(count: Int, _ body: @Sendable (Int) throws(E) -> Void) throws(E) {
        let effort = Effort<E>()
        effort.whole {
            invoke(count: count) { number in
                effort.part(1) { () throws(E) in try body(number) }
            }
        }
        try effort.check()
    }

    /// So many branches of one frame are offered at once, that there is room for those of the frames above.
    @inlinable
    @inline(__always)
    static var mostBranches: Int { 1024 }

    /// So many take less of the stack of forks than their frame takes of the other one.
    @inlinable
    @inline(__always)
    static var fewBranches: Int { 8 }

    /// Offers `elsewhere` with every number below `count` but the last; runs `here` with the last, and then
    /// downwards with those that nobody has taken, and `taken` with the results of the others.
    @inlinable
    @inline(__always)
    static func branches<R>(
        _ count: Int, _ elsewhere: (Int) -> R, here: (Int) -> Void, taken: (R) -> Void
    ) {
        if UInt(bitPattern: count &- 1) >= UInt(UInt32.max) { return trapBranches(count) }
        od_fork_numbered_closure_here()
        var number = count
        while number > 0 {
            // Many branches a level are more on the stack of forks than the level is on the other one.
            let most = number > fewBranches && od_fork_is_crowded() ? 1 : mostBranches
            let first = Swift.max(0, number - most)
            var newest: UnsafeMutablePointer<od_fork_slot>?
            var offered = first
            while offered < number - 1 {
                newest = forkNumbered(elsewhere, UInt32(truncatingIfNeeded: offered))
                offered += 1
            }
            // One place that calls `here`, so that what is merged into it is there once, and has one frame.
            var whose = Whose.ours
            number -= 1
            while true {
                if whose == .stolen {
                    if let slot = newest { taken(UnsafeMutableRawPointer(slot + 1).assumingMemoryBound(to: R.self).move()) }
                } else {
                    here(number)
                }
                if whose != .ours { od_join_end() }
                guard number > first, let slot = newest else { break }
                number -= 1
                newest = slot - 1
                whose = od_fork_pop(slot) ? .ours : takeBackNumbered(elsewhere) ? .oursAgain : .stolen
            }
        }
    }

    /// Who has run a branch that is joined, or runs it.
    @usableFromInline
    enum Whose {
        case ours
        /// Offered, and not run by who took it.
        case oursAgain
        case stolen
    }

    /// None at all is no mistake.
    @usableFromInline
    static func trapBranches(_ count: Int) {
        if count != 0 { trap("Parallel: \(count) branches are asked for: ask for none or more, up to 4,294,967,295") }
    }
}
