public import CScheduler

extension TaskQueue {
    /// Runs a closure in the queue's order, on the calling thread, and returns its result.
    ///
    ///     let count = counters.sync { total }
    ///
    /// On a concurrent queue the closure runs at once. On a serial or limited queue the caller waits for its turn,
    /// and a spare replaces a waiting worker. On ``main`` the closure runs on the main queue's thread.
    ///
    /// - Parameters:
    ///   - flags: With ``Flags/barrier`` it waits for everything submitted before and holds back everything
    ///     after, on a concurrent queue too.
    ///   - body: What to run.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Ordering: After everything that was submitted to a serial queue before, before everything after. From a
    ///   concurrent or limited queue's own closures it just runs: it has its place already.
    /// - Threading: Any thread. Traps if the caller would wait for itself: in a closure of the same serial queue, and
    ///   on ``main`` from the main thread. As a barrier, it traps in any closure of the queue.
    /// - Cost: Two short critical sections on a serial or limited queue, when nobody is before the caller; the
    ///   closure is specialised where it is written.
    @inlinable
    public func sync<R, E: Error>(flags: Flags = [], execute body: () throws(E) -> R) throws(E) -> R {
        var scope = unsafe od_scope()
        return try unsafe withUnsafeMutablePointer(to: &scope) { scope throws(E) in
            guard unsafe beginSync(scope, flags) else { return try syncOnDispatchQueue(flags: flags, body) }
            defer { unsafe od_queue_sync_end(scope) }
            return try body()
        }
    }

    /// Waits for the caller's turn; false when the queue is a dispatch queue, which has no such wait.
    @usableFromInline
    func beginSync(_ scope: UnsafeMutablePointer<od_scope>, _ flags: Flags) -> Bool {
        guard case .engine(let queue, _) = route else { return false }
        if flags.contains(.barrier), !isGlobal {
            unsafe od_queue_sync_barrier_begin(queue, scope)
        } else {
            unsafe od_queue_sync_begin(queue, scope)
        }
        return true
    }

    @usableFromInline
    func syncOnDispatchQueue<R, E: Error>(flags: Flags, _ body: () throws(E) -> R) throws(E) -> R {
        guard case .dispatch(let route) = route else { trap("TaskQueue.sync: the queue no longer runs on a dispatch queue") }
        if route.isMain && TaskQueue.isOnMain {
            trap("TaskQueue.main.sync: the main thread would wait for itself. Call the function directly.")
        }
        return try route.sync(flags: flags, body)
    }
}
