// Owns scopes: a dynamic number of forked children, joined at the end of the scope. Programs call it. A child never
// outlives its scope.

public import CScheduler

extension Parallel {
    /// Runs a closure that forks any number of children, and returns when all children have finished.
    ///
    ///     Parallel.scope { scope in
    ///         for column in 0..<n where board.isFree(column) {
    ///             scope.fork { place(board.with(column)) }
    ///         }
    ///     }
    ///
    /// - Parameter body: Runs on the calling thread. Its scope cannot escape, and a child cannot capture it. A child
    ///   that needs to fork opens its own scope.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`, after all children have finished.
    /// - Ordering: Children start in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The allocation of the child's closure, and some nanoseconds, for each child.
    @inlinable
    public static func scope<R, E: Error>(_ body: (inout Scope) throws(E) -> R) throws(E) -> R {
        var scope = Scope()
        defer { scope.joinAll() }
        return try body(&scope)
    }

    /// Runs a closure that forks any number of children, with the settings of this value, and waits for them.
    ///
    ///     Parallel(on: readers).scope { scope in
    ///         for file in files { scope.fork { index(file) } }
    ///     }
    ///
    /// - Parameter body: Runs on the calling thread. Its scope cannot escape, and a child cannot capture it.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`, after all children have finished.
    /// - Ordering: Children start in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: About 100 ns to become an external thread of another scheduler; a token costs one allocation.
    @inlinable
    public func scope<R, E: Error>(_ body: (inout Scope) throws(E) -> R) throws(E) -> R {
        try forking { () throws(E) in try Parallel.scope(body) }
    }

    /// Runs a closure that forks children which may throw, and returns when all children have finished.
    ///
    ///     try Parallel().scope(throwing: IOError.self) { scope throws(IOError) in
    ///         for file in files { scope.fork { () throws(IOError) in try check(file) } }
    ///     }
    ///
    /// - Parameters:
    ///   - type: The error type of the children.
    ///   - body: Runs on the calling thread. Its scope cannot escape, and a child cannot capture it.
    /// - Returns: The result of `body`.
    /// - Throws: The first error of `body` or of a child, or `CancellationError`. Children that have not started by
    ///   then do not start.
    /// - Ordering: Children start in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation, and two for each child.
    @inlinable
    public func scope<R, E: Error>(
        throwing type: E.Type, _ body: (inout ThrowingScope<E>) throws(E) -> R
    ) throws(E) -> R {
        let effort = Effort<E>(self)
        // Children inherit the effort as their current work, so it stays current until the last child is joined.
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

    /// Forks children, for which ``Parallel/scope(_:)-swift.type.method`` waits.
    @safe public struct Scope: ~Copyable {
        @usableFromInline var children = 0
        /// The slot of the first child. The slots of later children follow directly.
        @usableFromInline var first: UnsafeMutablePointer<od_fork_slot>?
        /// True if the thread has little room for further forks. Then children run at once.
        @usableFromInline var isFull = false

        @usableFromInline
        init() {}

        /// Offers a child to idle workers. If no worker takes the child, it runs on this thread at the end of the
        /// scope. If the thread already has millions of forks, the child runs at once.
        ///
        ///     scope.fork { index(file) }
        ///
        /// - Parameter child: Runs once.
        /// - Ordering: The child sees all earlier writes of its forker. Children are not ordered among each other.
        /// - Threading: Only the thread that opened the scope.
        /// - Cost: The allocation of the closure, and some nanoseconds.
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

    /// Forks children, for which ``Parallel/scope(throwing:_:)-swift.method`` waits.
    public struct ThrowingScope<E: Error>: ~Copyable {
        @usableFromInline var inner = Scope()
        @usableFromInline let effort: Effort<E>

        @usableFromInline
        init(_ effort: Effort<E>) {
            self.effort = effort
        }

        /// Offers a child to idle workers. The child does not start after `body` or another child has thrown.
        ///
        ///     scope.fork { () throws(IOError) in try check(file) }
        ///
        /// - Parameter child: Runs at most once.
        /// - Ordering: The child sees all earlier writes of its forker. Children are not ordered among each other.
        /// - Threading: Only the thread that opened the scope.
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
