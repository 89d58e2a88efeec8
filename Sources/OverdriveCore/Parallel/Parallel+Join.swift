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
    /// `a` runs on the calling thread. `b` is offered to idle workers meanwhile; if none took it, the caller
    /// runs it next, as a direct call. So nothing needs to be asked about the size of the work.
    ///
    /// - Parameters:
    ///   - a: Runs here, first.
    ///   - b: Runs here after it, or on another worker.
    /// - Returns: What both returned.
    /// - Ordering: What happened before the call is visible to both closures; what they wrote is visible after
    ///   it. Between the two there is no order.
    /// - Threading: Any thread. One that is no worker takes part as a guest of ``Scheduler/shared`` and counts
    ///   as one of its workers meanwhile. While it waits for `b`, the caller runs only what `b` itself forked.
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
    ///   - a: Runs here, first. If it throws, `b` does not start any more; where it has started elsewhere,
    ///     ``Cancellation/isRequested`` turns true in it.
    ///   - b: Runs here after it, or on another worker.
    /// - Returns: What both returned.
    /// - Throws: What `a` threw, else what `b` threw, after both have ended.
    /// - Ordering: As without errors.
    /// - Threading: Any thread.
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

    @inlinable
    @inline(__always)
    static func forked<A, B>(_ a: () -> A, _ b: () -> B, _ thunk: () -> Void) -> (A, B?) {
        od_fork_closure_here()
        let slot = forkClosure(thunk)
        let first = a()
        if od_fork_pop(slot) { return (first, b()) }
        joinClosure(thunk)
        return (first, nil)
    }

    @inlinable
    @inline(__always)
    static func forkedThrowing<A, B, E: Error>(
        _ a: () throws(E) -> A, _ b: () throws(E) -> B, _ branch: borrowing ForkedBranch, _ thunk: () -> Void
    ) throws(E) -> (A, B?) {
        od_fork_closure_here()
        let slot = forkClosure(thunk)
        let first: A
        do throws(E) {
            first = try a()
        } catch {
            if !od_fork_pop(slot) {
                branch.abandon()
                joinClosure(thunk)
                branch.end()
            }
            throw error
        }
        if od_fork_pop(slot) { return (first, try b()) }
        joinClosure(thunk)
        branch.end()
        return (first, nil)
    }

    /// Two branches without results, which may write what does not overlap.
    @inlinable
    @inline(__always)
    static func both(_ first: () -> Void, _ second: () -> Void) {
        od_fork_closure_here()
        let slot = forkClosure(second)
        first()
        let isPrivate = od_fork_pop(slot)
        if isPrivate || takeBackClosure(second) {
            second()
            if !isPrivate { od_join_end() }
        }
    }

    @usableFromInline
    static func trapUnfinished() -> Never {
        trap("Parallel.join: a branch came back without a result")
    }
}
