// Owns the joins of many branches with one shared closure, which receives the branch number. So no closure is
// allocated per branch. Programs call it; it never divides a range into parts.

public import CScheduler


extension Parallel {
    /// Runs a closure once for each of a few numbers, in parallel if workers are free, and combines the results.
    ///
    ///     func count(_ node: Node) -> Int {
    ///         Parallel.join(count: node.children.count, 1, +) { i in count(node.children[i]) }
    ///     }
    ///
    /// Each call is a separate fork, as in a join of two. Use this operation for the children of a node, or for the
    /// moves in a position, when each call may take long. For many small pieces of work, use `reduce`.
    ///
    /// Read a captured `InlineArray` through its `span`. Each subscript of the array itself would copy all elements.
    /// Capture a large value by a pointer, because Swift copies a captured array element by element for each call:
    ///
    ///     withUnsafePointer(to: board) { board in
    ///         nonisolated(unsafe) let board = board
    ///         return Parallel.join(count: moves, 0, &+) { i in search(board.pointee.after(i)) }
    ///     }
    ///
    /// - Parameters:
    ///   - count: The number of calls.
    ///   - end: The value that the last result is combined with; also the result for 0 calls.
    ///   - combine: Combines a result with the combination of the later results. Runs on the calling thread.
    ///   - branch: Called with each number below `count`. The calling thread starts with the last number and
    ///     descends; other threads start with the first number.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`, always in this order. So the result has the same
    ///   bits on any number of workers.
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work. While the caller waits for a call, it runs
    ///   only forks of that call.
    /// - Cost: About 2 ns for each call that no thief takes: no allocation, no locked instruction. Each level of
    ///   nesting uses one stack frame, and 32 bytes for each waiting call, of which there are at most 1,023. A stolen
    ///   call with a result of more than 16 bytes costs one allocation.
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
    ///   - count: The number of calls.
    ///   - end: The value that the last result is combined with; also the result for 0 calls.
    ///   - combine: Combines a result with the combination of the later results. Runs on the calling thread.
    ///   - branch: Called with each number below `count`, unless an error occurs first.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`.
    /// - Throws: The first error, after all started calls have finished. Other calls do not start, and in running
    ///   calls ``Cancellation/isRequested`` becomes true.
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation more than without errors, and about 20 ns for each call.
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
    ///   - count: The number of calls.
    ///   - end: The value that the last result is combined with; also the result for 0 calls.
    ///   - combine: Combines a result with the combination of the later results.
    ///   - branch: Called with each number below `count`, unless the operation ends early.
    /// - Returns: `combine(r0, combine(r1, … combine(r, end)))`.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation, and about 20 ns for each call.
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

    /// Runs a closure once for each of a few numbers, in parallel if workers are free.
    ///
    ///     Parallel().invoke(count: node.children.count) { i in visit(node.children[i]) }
    ///
    /// Each call is a separate fork. For many small pieces of work, use `forEach`.
    ///
    /// - Parameters:
    ///   - count: The number of calls.
    ///   - body: Called with each number below `count`, unless the operation ends early.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: 2 ns for each call that no thief takes. With settings other than a grain, or errors, one allocation,
    ///   and about 20 ns for each call.
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

    /// Runs three closures, at the same time if workers are free. For two closures, use `join`.
    ///
    ///     try Parallel().invoke { try load(meshes) } _: { try load(textures) } _: { try load(sounds) }
    ///
    /// - Parameters:
    ///   - a: Runs first, on the calling thread.
    ///   - b: Runs once, on any thread, unless an error occurs first.
    ///   - c: Runs once, on any thread, unless an error occurs first.
    /// - Throws: The error of the first parameter that threw, after all three have finished.
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: Two forks.
    @inlinable
    @inline(__always)
    public func invoke<E: Error>(
        _ a: @Sendable () throws(E) -> Void, _ b: @Sendable () throws(E) -> Void, _ c: @Sendable () throws(E) -> Void
    ) throws(E) {
        _ = try join(a) { () throws(E) in _ = try Parallel.join(b, c) }
    }

    /// The maximum number of branches that one frame offers at once, which leaves room for outer frames.
    @inlinable
    @inline(__always)
    static var mostBranches: Int { 1024 }

    /// Up to this number, branches use less space in the fork stack than their frame uses on the thread's stack.
    @inlinable
    @inline(__always)
    static var fewBranches: Int { 8 }

    /// Offers `elsewhere` with every number below `count` except the last. Then calls `here` with the last number
    /// and, in descending order, with each untaken number. For each stolen number it calls `taken` with the result
    /// instead.
    @inlinable
    @inline(__always)
    static func branches<R>(
        _ count: Int, _ elsewhere: (Int) -> R, here: (Int) -> Void, taken: (R) -> Void
    ) {
        if count == 0 { return }
        if UInt(bitPattern: count) > UInt(UInt32.max) { trapBranches(count) }
        od_fork_numbered_closure_here()
        var number = count
        while number > 0 {
            // With many branches a level, the fork stack fills faster than the thread's stack; near its end, run in
            // place.
            let most = number > fewBranches && od_fork_is_crowded() ? 1 : mostBranches
            let first = Swift.max(0, number - most)
            var newest: UnsafeMutablePointer<od_fork_slot>?
            var offered = first
            while offered < number - 1 {
                unsafe newest = forkNumbered(elsewhere, UInt32(truncatingIfNeeded: offered))
                offered += 1
            }
            // There is only one call of `here`, so that the optimiser inlines its body once, with one frame.
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

    /// The thread that runs, or has run, a joined branch.
    @usableFromInline
    enum Whose {
        case ours
        /// A thief had taken the branch, and the joiner took it back before the thief ran it.
        case oursAgain
        case stolen
    }

    @usableFromInline
    static func trapBranches(_ count: Int) -> Never {
        trap("Parallel.join(count:): out of range (\(count)). Choose 0 to 4,294,967,295.")
    }
}
