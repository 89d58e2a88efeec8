internal import CScheduler

extension TaskQueue {
    /// Submits a closure and returns at once.
    ///
    ///     queue.async(group: group) { resize(image) }
    ///
    /// - Parameters:
    ///   - group: Counts the closure until it is done or cancelled.
    ///   - qos: Raises the closure above the queue's own quality of service; a lower one changes nothing, unless
    ///     `flags` enforces it.
    ///   - flags: ``Flags/barrier`` and what else makes it differ from a plain submission.
    ///   - body: Runs once on a worker. After a shutdown it is discarded and counted as cancelled. If the scheduler
    ///     cannot start its first thread, the process ends with an error message.
    /// - Ordering: Closures submitted by one thread start in order; see ``TaskQueue``.
    /// - Threading: Any thread. A queue with a pending limit may keep the caller waiting, run the closure on it, or
    ///   discard the closure: see ``BackPressure``.
    /// - Cost: No allocation beside the closure's own captures, no lock on a concurrent queue, at most one
    ///   worker woken.
    public func async(
        group: WaitGroup? = nil, qos: QoS? = nil, flags: Flags = [], execute body: sending @escaping () -> Void
    ) {
        switch route {
        case .engine(let queue, _):
            if flags.isEmpty, unsafe !(Specifics.of(queue)?.isTracked ?? false) {
                unsafe submitClosure(body, queue, group?.handle, qos?.rawValue ?? -1)
            } else {
                unsafe submitApart(body, to: queue, group: group, qos: qos, flags: flags)
            }
        case .dispatch(let route):
            route.async(group: group, qos: qos, flags: flags, body)
        }
    }

    /// The rest of ``async(group:qos:flags:execute:)``, out of the way of who asks for nothing more: a tracked queue's closures come
    /// in a counting one, and flags have words of the engine's.
    @inline(never)
    private func submitApart(
        _ body: sending @escaping () -> Void, to queue: OpaquePointer, group: WaitGroup?, qos: QoS?, flags: Flags
    ) {
        let (band, flags) = engineTerms(qos: qos, flags: flags)
        if let tracked = unsafe Specifics.of(queue)?.tracker {
            unsafe submitClosure(tracked.counting(body), queue, group?.handle, band, flags)
        } else {
            unsafe submitClosure(body, queue, group?.handle, band, flags)
        }
    }

    @available(
        *, unavailable,
        message: "a queue's closure cannot await: write Task(executorPreference: queue.taskExecutor) { … }, or give an actor the queue's actorExecutor"
    )
    public func async(
        group: WaitGroup? = nil, qos: QoS? = nil, flags: Flags = [], execute body: @escaping () async -> Void
    ) {
        fatalError("unavailable")
    }

    /// What the engine is told of a submission's quality of service and flags.
    func engineTerms(qos: QoS?, flags: Flags) -> (band: Int32, flags: UInt32) {
        let qos = QoS.asked(qos, flags)
        var terms = UInt32(0)
        if flags.contains(.enforceQoS), qos != nil { terms |= UInt32(OD_ENFORCE_BAND) }
        if flags.contains(.barrier), !isGlobal { terms |= UInt32(OD_BARRIER) }
        return (qos?.rawValue ?? -1, terms)
    }

    /// Calls a closure on the queue, in the calling task.
    ///
    ///     let digest = try await queue.run { checksum(of: bytes) }
    ///
    /// The closure is cancelled with the calling task: one that has not started never runs, and in one that
    /// runs ``Cancellation/isRequested`` turns true. ``cancelAll()`` does the same, and a shutdown cancels it while it
    /// waits. A full queue takes the closure all the same, unless it rejects: the task is held back by waiting for it,
    /// and no thread is.
    ///
    /// - Parameter body: What to run. It sees the task's priority and task-local values; quality of service and specific values are
    ///   the queue's.
    /// - Returns: What `body` returns, back in the caller's isolation.
    /// - Throws: What `body` throws; `CancellationError` when it was cancelled before it started;
    ///   ``PendingLimitReached`` when a queue that rejects is full.
    /// - Ordering: As a closure's of ``async(group:qos:flags:execute:)``; what `body` wrote is visible to the caller.
    /// - Threading: Any task; no thread is held while the closure waits. `body` runs on a worker, in no actor's isolation but that of
    ///   actors on the queue.
    /// - Cost: One allocation. A serial or limited queue takes 0.17 µs if it is empty and the task, without an actor,
    ///   is on a worker of the scheduler. Otherwise the call takes one switch to the queue and one to the caller's
    ///   executor: 0.5 to 1 µs.
    public nonisolated(nonsending) func run<R>(_ body: sending @escaping () throws -> sending R) async throws -> sending R {
        if Task.isCancelled { throw CancellationError() }
        let closure = AwaitedClosure(on: self)
        if try closure.beginsWithin(#isolation) { return try closure.callWithin(body) }
        defer { Handoff.received(by: closure) }
        // The closure is handed from here to the queue, and its result back, once each.
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) let result = try await unsafe goTo(closure, body)
        return unsafe result
    }

    /// Calls a function on the queue, in the calling task.
    ///
    ///     let work: @Sendable () throws -> Int = { 6 * 7 }
    ///     print(try await queue.run(work)) // 42
    ///
    /// Closure literals take the other form, whose result need not be `Sendable`.
    ///
    /// - Parameter function: The function to call. The call sees the task's priority and task-local values.
    /// - Returns: The result of `function`, back in the caller's isolation.
    /// - Throws: The errors of `function`; `CancellationError` for a call that was cancelled before it started;
    ///   ``PendingLimitReached`` for a full queue that rejects.
    /// - Ordering: The same order as a closure of ``async(group:qos:flags:execute:)``.
    /// - Threading: Any task; a waiting call holds no thread. `function` runs on a worker.
    /// - Cost: The cost of the form for closures, and one allocation.
    @_disfavoredOverload
    public nonisolated(nonsending) func run<R: Sendable>(_ function: sending @escaping () throws -> R) async throws -> R {
        try await run { () throws -> sending R in try function() }
    }

    /// Goes to the closure, waits there for its turn, and comes back. Its isolation is a parameter, which what follows
    /// captures: a closure of no isolation would take a turn in the pool on its way in, and one on its way back.
    private func goTo<R>(
        _ closure: AwaitedClosure, isolation: isolated (any Actor)? = #isolation, _ body: @escaping () throws -> R
    ) async throws -> sending R {
        nonisolated(unsafe) let body = body
        return try await withTaskCancellationHandler {
            _ = isolation
            nonisolated(unsafe) let result = try await unsafe closure.call(body)
            return unsafe result
        } onCancel: {
            closure.cancel()
        }
    }
}
