public import CScheduler

extension Parallel {
    /// Runs a closure that forks as many children as it likes, and returns when all of them are done.
    ///
    ///     Parallel.scope { scope in
    ///         for column in 0..<n where board.isFree(column) {
    ///             scope.fork { place(board.with(column)) }
    ///         }
    ///     }
    ///
    /// - Parameter body: Runs here. The scope it gets cannot leave it, nor go into a child: children open scopes
    ///   of their own, in which this one does not fork.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, after all children are done.
    /// - Ordering: Children start in any order. What they wrote is visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A child takes its closure's own allocation and some nanoseconds.
    @inlinable
    public static func scope<R, E: Error>(_ body: (inout Scope) throws(E) -> R) throws(E) -> R {
        var scope = Scope()
        defer { scope.joinAll() }
        return try body(&scope)
    }

    /// What forks children that ``Parallel/scope(_:)`` waits for.
    public struct Scope: ~Copyable {
        @usableFromInline var children = 0
        /// Where the first child is; the others follow.
        @usableFromInline var first: UnsafeMutablePointer<od_fork_slot>?
        /// The thread has no room for many more forks: children run at once.
        @usableFromInline var isFull = false

        @usableFromInline
        init() {}

        /// Offers a child to whoever is free. If nobody takes it, it runs here when the scope ends; or at once,
        /// where the thread has millions of them already.
        ///
        /// - Parameter child: Runs once.
        @inlinable
        @inline(__always)
        public mutating func fork(_ child: @escaping @Sendable () -> Void) {
            if isFull { return child() }
            od_fork_owned_here()
            let slot = forkOwned(child)
            if let slot, slot != (first ?? slot) + children { Parallel.trapScope() }
            if children == 0 { first = slot }
            children += 1
            if children & 1023 == 0 { isFull = od_fork_is_crowded() }
        }

        @inlinable
        mutating func joinAll() {
            if let first, children > 0, !od_fork_is_newest(first + (children - 1)) { Parallel.trapForeignScope() }
            while children > 0 {
                od_join_owned()
                children -= 1
            }
        }
    }

    @usableFromInline
    static func trapScope() -> Never {
        trap("Parallel.Scope.fork: a scope that was opened after this one is still open: fork before it, or there")
    }

    @usableFromInline
    static func trapForeignScope() -> Never {
        trap(
            "Parallel.Scope.fork: the scope was opened on another thread or scheduler, or exchanged for another: fork "
                + "where it was opened")
    }
}
