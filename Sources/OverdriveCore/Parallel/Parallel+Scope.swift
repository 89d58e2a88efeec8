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
    /// - Ordering: Children start in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A child takes its closure's own allocation and some nanoseconds.
    @inlinable
    public static func scope<R, E: Error>(_ body: (inout Scope) throws(E) -> R) throws(E) -> R {
        var scope = Scope()
        defer { scope.joinAll() }
        return try body(&scope)
    }

    /// Runs a closure that forks as many children as it likes, as the value says, and returns when all of them are done.
    ///
    ///     Parallel(on: readers).scope { scope in
    ///         for file in files { scope.fork { index(file) } }
    ///     }
    ///
    /// - Parameter body: Runs here. The scope it gets cannot leave it, nor go into a child.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, after all children are done.
    /// - Ordering: Children start in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Becoming an external thread of another scheduler takes some 100 ns, a token one allocation.
    @inlinable
    public func scope<R, E: Error>(_ body: (inout Scope) throws(E) -> R) throws(E) -> R {
        try forking { () throws(E) in try Parallel.scope(body) }
    }

    /// Runs a closure that forks children which may throw, and returns when all of them are done.
    ///
    ///     try Parallel().scope(throwing: IOError.self) { scope throws(IOError) in
    ///         for file in files { scope.fork { () throws(IOError) in try check(file) } }
    ///     }
    ///
    /// - Parameters:
    ///   - type: What children throw.
    ///   - body: Runs here. The scope it gets cannot leave it, nor go into a child.
    /// - Returns: What `body` returns.
    /// - Throws: The first error, of `body` or of a child, or `CancellationError`. Children that had not started then do not
    ///   start.
    /// - Ordering: Children start in any order. Their writes are visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation, and two for each child.
    @inlinable
    public func scope<R, E: Error>(
        throwing type: E.Type, _ body: (inout ThrowingScope<E>) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(self)
        // Its children inherit that the effort is current, until the last of them is joined.
        let result = effort.whole {
            Parallel.asExternalThread(of: scheduler) {
                Parallel.scope { inner -> R? in
                    var scope = ThrowingScope(effort)
                    defer {
                        unsafe inner.first = scope.inner.first
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
        try effort.end()
        guard let result else { Parallel.trapUnfinished() }
        return result
    }

    /// What forks children that a scope waits for.
    @safe public struct Scope: ~Copyable {
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
        ///     scope.fork { index(file) }
        ///
        /// - Parameter child: Runs once.
        /// - Ordering: After what its forker did before; between children there is none.
        /// - Threading: Where the scope was opened.
        /// - Cost: The closure's own allocation, and some nanoseconds.
        @inlinable
        @inline(__always)
        public mutating func fork(_ child: @escaping @Sendable () -> Void) {
            if isFull { return child() }
            od_fork_owned_here()
            let slot = unsafe forkOwned(child)
            if let slot = unsafe slot, unsafe slot != (first ?? slot) + children { Parallel.trapScope() }
            if children == 0 { unsafe first = slot }
            children += 1
            if children & 1023 == 0 { isFull = od_fork_is_crowded() }
        }

        @inlinable
        mutating func joinAll() {
            if let first = unsafe first, children > 0, unsafe !od_fork_is_newest(first + (children - 1)) { Parallel.trapForeignScope() }
            while children > 0 {
                od_join_owned()
                children -= 1
            }
        }
    }

    /// Forks children, for which ``Parallel/scope(throwing:_:)`` waits.
    public struct ThrowingScope<E: Error>: ~Copyable {
        @usableFromInline var inner = Scope()
        @usableFromInline let effort: Effort<E>

        @usableFromInline
        init(_ effort: Effort<E>) {
            self.effort = effort
        }

        /// Offers a child to whoever is free. It does not start after something of the scope has thrown.
        ///
        ///     scope.fork { () throws(IOError) in try check(file) }
        ///
        /// - Parameter child: Runs at most once.
        /// - Ordering: After what its forker did before; between children there is none.
        /// - Threading: Where the scope was opened.
        /// - Cost: Two allocations, and some nanoseconds.
        @inlinable
        public mutating func fork(_ child: @escaping @Sendable () throws(E) -> Void) {
            inner.fork { [effort] in effort.part(1, child) }
        }
    }

    @usableFromInline
    static func trapScope() -> Never {
        trap("Parallel.Scope.fork: an inner scope is still open. Fork before it, or in it.")
    }

    @usableFromInline
    static func trapForeignScope() -> Never {
        trap(
            "Parallel.Scope.fork: the scope was opened on another thread or scheduler, or replaced. Fork where it "
                + "was opened.")
    }
}
