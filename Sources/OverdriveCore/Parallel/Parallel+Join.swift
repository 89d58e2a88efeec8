// Owns the joins of two closures and the unchecked forks under other operations. Programs and the sorts call it. It
// never allocates unless a thief takes a throwing branch or settings are given.

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
    /// next, as a direct call. So a join is cheap even for small closures.
    ///
    /// - Parameters:
    ///   - a: Runs first, on the calling thread.
    ///   - b: Runs on the calling thread after `a`, or on another worker.
    /// - Returns: Both results.
    /// - Ordering: Writes before the call are visible to both closures, and their writes are visible after the call.
    ///   The two closures are not ordered.
    /// - Threading: Any thread. During the call, a thread that is not a worker counts as one of ``Scheduler/shared``,
    ///   even while it blocks in a closure without ``blocking(_:)``. While the caller waits for `b`, it runs only
    ///   forks of `b`.
    /// - Cost: A few nanoseconds if no worker takes `b`: no allocation, no locked instruction, no call. Each level
    ///   of nesting uses about 100 bytes of stack.
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
    ///   - a: Runs first, on the calling thread. If `a` throws, `b` does not start. If `b` runs elsewhere already,
    ///     ``Cancellation/isRequested`` becomes true in it.
    ///   - b: Runs on the calling thread after `a`, or on another worker.
    /// - Returns: Both results.
    /// - Throws: The error of `a`, or else the error of `b`, after both have finished.
    /// - Ordering: The same as without errors.
    /// - Threading: Any thread; the calling thread takes part in the work.
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

    /// Runs two closures with the settings of this value, at the same time if a worker is free.
    ///
    ///     let (a, b) = Parallel(on: renderers).join { left() } _: { right() }
    ///
    /// Nested operations in the closures stay on that scheduler, so nested joins need no setting. A token never
    /// ends a join; the closures see it through ``Cancellation/isRequested``.
    ///
    /// - Parameters:
    ///   - a: Runs first, on the calling thread.
    ///   - b: Runs on the calling thread after `a`, or on another worker.
    /// - Returns: Both results.
    /// - Throws: The error of `a`, or else the error of `b`, after both have finished.
    /// - Ordering: The two closures are not ordered. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: About 100 ns to become an external thread of another scheduler; a token costs one allocation.
    @inlinable
    @inline(__always)
    public func join<A: Sendable, B: Sendable, E: Error>(
        _ a: @Sendable () throws(E) -> A, _ b: @Sendable () throws(E) -> B
    ) throws(E) -> (A, B) {
        if isHere { return try Parallel.join(a, b) }
        return try forking { () throws(E) in try Parallel.join(a, b) }
    }

    /// Runs two closures, each with one part of a span, at the same time if a worker is free.
    ///
    ///     func mergeSort(_ span: inout MutableSpan<Int>) {
    ///         if span.count < 64 { return insertionSort(&span) }
    ///         let middle = span.count / 2
    ///         _ = Parallel().join(splitting: &span, at: middle) { left in mergeSort(&left) } _: { right in mergeSort(&right) }
    ///         merge(&span, middle)
    ///     }
    ///
    /// - Parameters:
    ///   - span: The span to divide, such as `array.mutableSpan`.
    ///   - index: The start of the second part, 0 to `span.count`.
    ///   - a: Gets the elements before `index`. Runs first, on the calling thread.
    ///   - b: Gets the other elements. Runs on the calling thread after `a`, or on another worker.
    /// - Returns: Both results.
    /// - Throws: The error of `a`, or else the error of `b`, after both have finished.
    /// - Ordering: The two closures are not ordered. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as a join whose closures may throw.
    @inlinable
    public func join<Element: Sendable, A: Sendable, B: Sendable, E: Error>(
        splitting span: inout MutableSpan<Element>, at index: Int,
        _ a: @Sendable (inout MutableSpan<Element>) throws(E) -> A,
        _ b: @Sendable (inout MutableSpan<Element>) throws(E) -> B
    ) throws(E) -> (A, B) {
        if index < 0 || index > span.count { Parallel.trapSplit(index, span.count) }
        return try unsafe span.withUnsafeMutableBufferPointer { elements throws(E) in
            // The two parts are disjoint, and the exclusive access to the span keeps other code out.
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

    /// Runs two closures without results in parallel. They may write disjoint memory.
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
