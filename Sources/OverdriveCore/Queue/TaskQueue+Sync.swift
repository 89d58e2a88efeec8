// Owns `sync`: running a closure on the calling thread in the order of the queue. Programs call it. It never moves
// the closure to a worker.

public import CScheduler

extension TaskQueue {
    /// Runs a closure in the queue's order, on the calling thread, and returns its result.
    ///
    ///     let count = counters.sync { total }
    ///
    /// On a concurrent queue the closure runs at once. On a serial or limited queue the caller waits for its turn,
    /// and a spare replaces a waiting worker. On ``main`` the closure runs on the main thread.
    ///
    /// - Parameters:
    ///   - flags: With ``Flags/barrier``, the closure waits for all earlier submissions and delays all later ones,
    ///     even on a concurrent queue.
    ///   - body: Runs once.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`.
    /// - Ordering: On a serial queue, after all earlier submissions and before all later ones. Inside a closure of
    ///   the same concurrent or limited queue, `body` runs at once, within the slot of that closure.
    /// - Threading: Any thread. Traps if the caller would wait for itself: in a closure of the same serial queue, and
    ///   on ``main`` from the main thread. As a barrier, it traps in any closure of the queue.
    /// - Cost: Two short critical sections on a serial or limited queue without waiting closures. The compiler
    ///   specialises the call for the closure.
    @inlinable
    public func sync<R, E: Error>(flags: Flags = [], execute body: () throws(E) -> R) throws(E) -> R {
        var scope = unsafe od_scope()
        return try unsafe withUnsafeMutablePointer(to: &scope) { scope throws(E) in
            guard unsafe beginSync(scope, flags) else { return try syncOnDispatchQueue(flags: flags, body) }
            defer { unsafe od_queue_sync_end(scope) }
            return try body()
        }
    }

    /// Waits for the caller's turn. Returns false for a dispatch queue, which needs another path.
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
