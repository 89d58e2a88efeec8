public import CScheduler

// Several branches from one frame: one closure that is told which of them it is, so that none has to be made for each.

extension Parallel {
    /// Runs a closure once for each of a few numbers, in parallel if workers are free, and combines the results.
    ///
    ///     func count(_ node: Node) -> Int {
    ///         Parallel.join(count: node.children.count, 1, +) { i in count(node.children[i]) }
    ///     }
    ///
    /// Each call is a separate fork, as in a join of two. Use it for the children of a node or the moves in a
    /// position, where each may be much work. For many small pieces of work, use `reduce`.
    ///
    /// Capture a large value by a pointer. Swift copies a captured `InlineArray` element by element at each level:
    ///
    ///     withUnsafePointer(to: board) { board in
    ///         nonisolated(unsafe) let board = board
    ///         return Parallel.join(count: moves, 0, &+) { i in search(board.pointee.after(i)) }
    ///     }
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - end: What the last result is combined with, and the result for no calls at all.
    ///   - combine: Combines a result with what came of those behind it. It runs here.
    ///   - branch: Called with each number below `count`. The calling thread starts with the last number and
    ///     continues downwards; other threads start with the first.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`: in this order always, so that it has the same bits
    ///   on any number of workers.
    /// - Ordering: Calls come in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part. While it waits for a call, it runs only what that has forked.
    /// - Cost: About two nanoseconds for each call that no thief takes: no allocation, no locked instruction. A level
    ///   of nesting takes one frame, and 32 bytes for each waiting call, of which there are at most 1,023. A stolen
    ///   branch with a result of more than 16 bytes takes one allocation.
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
            unsafe branches(count) { number in
                let place = UnsafeMutablePointer<R>.allocate(capacity: 1)
                unsafe place.initialize(to: branch(number))
                return unsafe place
            } here: { number in
                all = combine(branch(number), all)
            } taken: { (place: UnsafeMutablePointer<R>) in
                all = unsafe combine(place.move(), all)
                unsafe place.deallocate()
            }
        }
        return all
    }

    /// Runs a throwing closure once for each of a few numbers, in parallel if workers are free, and combines the
    /// results.
    ///
    ///     let size = try Parallel.join(count: entries.count, 0, +) { i in try sizeOnDisk(entries[i]) }
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - end: What the last result is combined with, and the result for no calls at all.
    ///   - combine: Combines a result with what came of those behind it. It runs here.
    ///   - branch: Called with each number below `count`, unless an error comes first.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`.
    /// - Throws: The first error. Calls that had not begun then do not begin, and in those that run
    ///   ``Cancellation/isRequested`` turns true; all have ended when it is thrown.
    /// - Ordering: Calls come in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation more than without errors, and some 20 ns for each call.
    @inlinable
    public static func join<R: Sendable, E: Error>(
        count: Int, _ end: R, _ combine: (R, R) throws(E) -> R, _ branch: @Sendable (Int) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().join(count: count, end, combine, branch)
    }

    /// Runs a closure once for each of a few numbers, with the settings of this value, and combines the results.
    ///
    ///     let size = try Parallel(token: token).join(count: entries.count, 0, +) { i in try sizeOnDisk(entries[i]) }
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - end: What the last result is combined with, and the result for no calls at all.
    ///   - combine: Combines a result with what came of those behind it.
    ///   - branch: Called with each number below `count`, unless the operation ends early.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: Calls come in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation, and some 20 ns for each call.
    @inlinable
    public func join<R: Sendable, E: Error>(
        count: Int, _ end: R, _ combine: (R, R) throws(E) -> R, _ branch: @Sendable (Int) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(self)
        let all = effort.whole {
            Parallel.asExternalThread(of: scheduler) {
                Parallel.join(count: count, Optional(end)) { result, behind -> R? in
                    guard let result, let behind else { return nil }
                    return effort.result(0) { () throws(E) in try combine(result, behind) }
                } _: { number -> R? in
                    effort.result(1) { () throws(E) in try branch(number) }
                }
            }
        }
        try effort.end()
        guard let all else { Parallel.trapUnfinished() }
        return all
    }

    /// Runs a closure once for each of a few numbers, at the same time as far as workers are free.
    ///
    ///     Parallel().invoke(count: node.children.count) { i in visit(node.children[i]) }
    ///
    /// Each call is a separate fork. For many small pieces of work, use `forEach`.
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - body: Called with each number below `count`, unless the operation ends early.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended.
    /// - Ordering: In no order. Writes of the calls are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Two nanoseconds for each call that nobody takes; with more than a grain, or errors, one allocation, and some 20 ns for
    ///   each call.
    @inlinable
    @inline(__always)
    public func invoke<E: Error>(count: Int, _ body: @Sendable (Int) throws(E) -> Void) throws(E) {
        if E.self == Never.self && isPlain {
            return Parallel.invoked(count) { number in
                do throws(E) { try body(number) } catch { Parallel.trapThrown() }
            }
        }
        let effort = Effort<E>(self)
        effort.whole {
            Parallel.asExternalThread(of: scheduler) {
                Parallel.invoked(count) { number in
                    effort.part(1) { () throws(E) in try body(number) }
                }
            }
        }
        try effort.end()
    }

    @inlinable
    @inline(__always)
    static func invoked(_ count: Int, _ body: (Int) -> Void) {
        branches(count, body, here: body, taken: {})
    }

    /// Runs three closures, at the same time if workers are free. (Two are a join.)
    ///
    ///     try Parallel().invoke { try load(meshes) } _: { try load(textures) } _: { try load(sounds) }
    ///
    /// - Parameters:
    ///   - a: Runs here, first.
    ///   - b: Runs once, here or elsewhere, unless an error comes first.
    ///   - c: Runs once, here or elsewhere, unless an error comes first.
    /// - Throws: What the first of them threw that threw, after all have ended.
    /// - Ordering: In no order. Writes of the calls are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Two forks.
    @inlinable
    @inline(__always)
    public func invoke<E: Error>(
        _ a: @Sendable () throws(E) -> Void, _ b: @Sendable () throws(E) -> Void, _ c: @Sendable () throws(E) -> Void
    ) throws(E) {
        _ = try join(a) { () throws(E) in _ = try Parallel.join(b, c) }
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
                unsafe newest = forkNumbered(elsewhere, UInt32(truncatingIfNeeded: offered))
                offered += 1
            }
            // One place that calls `here`, so that what is merged into it is there once, and has one frame.
            var whose = Whose.ours
            number -= 1
            while true {
                if whose == .stolen {
                    if let slot = unsafe newest { unsafe taken(UnsafeMutableRawPointer(slot + 1).assumingMemoryBound(to: R.self).move()) }
                } else {
                    here(number)
                }
                if whose != .ours { od_join_end() }
                guard number > first, let slot = unsafe newest else { break }
                number -= 1
                unsafe newest = slot - 1
                whose = unsafe od_fork_pop(slot) ? .ours : takeBackNumbered(elsewhere) ? .oursAgain : .stolen
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
        if count != 0 { trap("Parallel.join(count:): out of range (\(count)). Choose 0 to 4,294,967,295.") }
    }
}
