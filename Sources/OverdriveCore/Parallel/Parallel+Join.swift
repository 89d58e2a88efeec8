public import CScheduler

extension Parallel {
    /// Runs two closures, at the same time if a worker is free, and returns both results.
    ///
    ///     func sum(_ tree: Tree) -> Int {
    ///         guard let left = tree.left, let right = tree.right else { return tree.value }
    ///         let (a, b) = Parallel.join { sum(left) } _: { sum(right) }
    ///         return a + b
    ///     }
    ///
    /// `a` runs on the calling thread, and idle workers may take `b`. If no worker takes `b`, the caller runs it
    /// next, as a direct call. So the size of the work does not matter.
    ///
    /// - Parameters:
    ///   - a: Runs here, first.
    ///   - b: Runs here after it, or on another worker.
    /// - Returns: What both returned.
    /// - Ordering: What happened before the call is visible to both closures; what they wrote is visible after
    ///   it. Between the two there is no order.
    /// - Threading: Any thread. A thread that is not a worker counts as one of ``Scheduler/shared`` during the call,
    ///   also while it blocks in a closure without ``blocking(_:)``. While it waits for `b`, the caller runs only
    ///   forks of `b`.
    /// - Cost: A few nanoseconds when nobody takes `b`: no allocation, no locked instruction, no call. A level
    ///   of nesting takes some 100 bytes of stack.
    @inlinable
    @inline(__always)
    public static func join<A: Sendable, B: Sendable>(
        _ a: @Sendable () -> A, _ b: @Sendable () -> B
    ) -> (A, B) {
        joined(a, b)
    }

    @inlinable
    @inline(__always)
    static func joined<A, B>(_ a: () -> A, _ b: () -> B) -> (A, B) {
        var stolen: B?
        let (first, second) = forked(a, b) { stolen = b() }
        guard let second = second ?? stolen else { Parallel.trapUnfinished() }
        return (first, second)
    }

    /// Runs two closures that may throw, at the same time if a worker is free.
    ///
    ///     let (head, tail) = try Parallel.join { try parse(first) } _: { try parse(second) }
    ///
    /// - Parameters:
    ///   - a: Runs here, first. If it throws, `b` does not start; in a `b` that has started elsewhere,
    ///     ``Cancellation/isRequested`` turns true.
    ///   - b: Runs here after it, or on another worker.
    /// - Returns: What both returned.
    /// - Throws: What `a` threw, else what `b` threw, after both have ended.
    /// - Ordering: As without errors.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Some nanoseconds more than without errors.
    @inlinable
    @inline(__always)
    public static func join<A: Sendable, B: Sendable, E: Error>(
        _ a: @Sendable () throws(E) -> A, _ b: @Sendable () throws(E) -> B
    ) throws(E) -> (A, B) {
        var stolen: Result<B, E>?
        let branch = ForkedBranch()
        let (first, second) = try forkedThrowing(a, b, branch) {
            branch.run { do throws(E) { stolen = .success(try b()) } catch { stolen = .failure(error) } }
        }
        if let second { return (first, second) }
        guard let stolen else { Parallel.trapUnfinished() }
        return (first, try stolen.get())
    }

    /// Runs two closures, at the same time if a worker is free, as the value says.
    ///
    ///     let (a, b) = Parallel(on: renderers).join { left() } _: { right() }
    ///
    /// Operations inside of the closures stay on that scheduler: nested joins need not say so again. A token only tells the
    /// closures, by ``Cancellation/isRequested``: the join ends when they do.
    ///
    /// - Parameters:
    ///   - a: Runs here, first.
    ///   - b: Runs here after it, or on another worker.
    /// - Returns: What both returned.
    /// - Throws: What `a` threw, else what `b` threw, after both have ended.
    /// - Ordering: None between the two. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Becoming an external thread of another scheduler takes some 100 ns, a token one allocation.
    @inlinable
    @inline(__always)
    public func join<A: Sendable, B: Sendable, E: Error>(
        _ a: @Sendable () throws(E) -> A, _ b: @Sendable () throws(E) -> B
    ) throws(E) -> (A, B) {
        if isHere { return try Parallel.join(a, b) }
        return try forking { () throws(E) in try Parallel.join(a, b) }
    }

    /// Runs two closures, each with its part of a span, at the same time if a worker is free.
    ///
    ///     func mergeSort(_ span: inout MutableSpan<Int>) {
    ///         if span.count < 64 { return insertionSort(&span) }
    ///         let middle = span.count / 2
    ///         _ = Parallel().join(splitting: &span, at: middle) { left in mergeSort(&left) } _: { right in mergeSort(&right) }
    ///         merge(&span, middle)
    ///     }
    ///
    /// - Parameters:
    ///   - span: What is divided; `array.mutableSpan` is one.
    ///   - index: Where the second part begins, 0 to `span.count`.
    ///   - a: Gets what is before `index`. Runs here, first.
    ///   - b: Gets the rest. Runs here after it, or on a worker.
    /// - Returns: What both returned.
    /// - Throws: What `a` threw, else what `b` threw, after both have ended.
    /// - Ordering: None between the two. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of a join whose closures may throw.
    @inlinable
    public func join<Element: Sendable, A: Sendable, B: Sendable, E: Error>(
        splitting span: inout MutableSpan<Element>, at index: Int,
        _ a: @Sendable (inout MutableSpan<Element>) throws(E) -> A,
        _ b: @Sendable (inout MutableSpan<Element>) throws(E) -> B
    ) throws(E) -> (A, B) {
        if index < 0 || index > span.count { Parallel.trapSplit(index, span.count) }
        return try unsafe span.withUnsafeMutableBufferPointer { elements throws(E) in
            // The two parts do not overlap, and nobody else has the span meanwhile.
            nonisolated(unsafe) let elements = unsafe elements
            return try join { () throws(E) -> A in
                var left = unsafe UnsafeMutableBufferPointer(rebasing: elements[..<index]).mutableSpan
                return try a(&left)
            } _: { () throws(E) -> B in
                var right = unsafe UnsafeMutableBufferPointer(rebasing: elements[index...]).mutableSpan
                return try b(&right)
            }
        }
    }

    @inlinable
    @inline(__always)
    static func forked<A, B>(_ a: () -> A, _ b: () -> B, _ thunk: () -> Void) -> (A, B?) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(thunk)
        let first = a()
        if unsafe od_fork_pop(slot) { return (first, b()) }
        joinClosure(thunk)
        return (first, nil)
    }

    @inlinable
    @inline(__always)
    static func forkedThrowing<A, B, E: Error>(
        _ a: () throws(E) -> A, _ b: () throws(E) -> B, _ branch: borrowing ForkedBranch, _ thunk: () -> Void
    ) throws(E) -> (A, B?) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(thunk)
        let first: A
        do throws(E) {
            first = try a()
        } catch {
            if unsafe !od_fork_pop(slot) {
                branch.abandon()
                joinClosure(thunk)
                branch.end()
            }
            throw error
        }
        if unsafe od_fork_pop(slot) { return (first, try b()) }
        joinClosure(thunk)
        branch.end()
        return (first, nil)
    }

    /// Two branches without results, which may write what does not overlap.
    @inlinable
    @inline(__always)
    static func both(_ first: () -> Void, _ second: () -> Void) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(second)
        first()
        let isPrivate = unsafe od_fork_pop(slot)
        if isPrivate || takeBackClosure(second) {
            second()
            if !isPrivate { od_join_end() }
        }
    }

    @usableFromInline
    static func trapUnfinished() -> Never {
        trap("Parallel.join: a branch returned no result")
    }

    @usableFromInline
    static func trapSplit(_ index: Int, _ count: Int) -> Never {
        trap("Parallel.join(splitting:at:): outside the span (\(index) of \(count) elements). Choose an index in the span.")
    }
}
