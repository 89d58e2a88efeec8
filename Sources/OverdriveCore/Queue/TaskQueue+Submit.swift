// Owns the submission of closures, and `run`, which awaits one closure. Programs call it. It never runs a closure on
// the submitter, except under a pending limit with `callerRuns`.

internal import CScheduler

extension TaskQueue {
    /// Submits a closure and returns at once.
    ///
    ///     queue.async(group: group) { resize(image) }
    ///
    /// - Parameters:
    ///   - group: Counts the closure until it has run or was cancelled.
    ///   - qos: Raises the closure above the queue's quality of service. A lower value has no effect unless
    ///     `flags` enforces it.
    ///   - flags: Options of the submission, such as ``Flags/barrier``.
    ///   - body: Runs once on a worker. After a shutdown it is discarded and counted as cancelled. If the scheduler
    ///     cannot start its first thread, the process ends with an error message.
    /// - Ordering: Closures submitted by one thread start in order; see ``TaskQueue``.
    /// - Threading: Any thread. A queue with a pending limit may block the caller, run the closure on it, or
    ///   discard the closure: see ``BackPressure``.
    /// - Cost: No allocation beside the closure's captures, no lock on a concurrent queue, and at most one wake of a
    ///   worker.
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

    /// The slow path of ``async(group:qos:flags:execute:)``, for flags and for queues with progress. A queue with
    /// progress wraps each closure in a counting one.
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

    /// Converts the quality of service and flags of a submission to the engine's values.
    func engineTerms(qos: QoS?, flags: Flags) -> (band: Int32, flags: UInt32) {
        let qos = QoS.asked(qos, flags)
        var terms = UInt32(0)
        if flags.contains(.enforceQoS), qos != nil { terms |= UInt32(OD_ENFORCE_BAND) }
        if flags.contains(.barrier), !isGlobal { terms |= UInt32(OD_BARRIER) }
        return (qos?.rawValue ?? -1, terms)
    }

    /// Runs a closure on the queue while the calling task is suspended, and returns its result.
    ///
    ///     let digest = try await queue.run { checksum(of: bytes) }
    ///
    /// The cancellation of the calling task cancels the closure. A closure that has not started never runs; in a
    /// running closure ``Cancellation/isRequested`` becomes true. ``cancelAll()`` has the same effect. A shutdown
    /// cancels a waiting closure. A full queue accepts the closure unless its policy is `.reject`: the task already
    /// waits for the closure, and holds no thread.
    ///
    /// - Parameters:
    ///   - qos: Raises the closure above the queue's own quality of service.
    ///   - body: What to run. It sees the task's priority and task-local values; quality of service and specific values are
    ///     the queue's.
    /// - Returns: The result of `body`, in the caller's isolation.
    /// - Throws: Any error of `body`; `CancellationError` if the closure was cancelled before it started;
    ///   ``PendingLimitReached`` if the queue is full and its policy is `.reject`.
    /// - Ordering: The same as ``async(group:qos:flags:execute:)``; writes of `body` are visible to the caller.
    /// - Threading: Any task; a waiting call holds no thread. `body` runs on a worker, without the isolation of an
    ///   actors on the queue.
    /// - Cost: One allocation. The call takes 0.17 µs if nothing waits before the closure, and the task, without an
    ///   actor, is on a worker of the scheduler. Otherwise it takes one switch to the queue and one to the caller's
    ///   executor: 0.5 to 1 µs.
    public nonisolated(nonsending) func run<R>(
        qos: QoS? = nil, _ body: sending @escaping () throws -> sending R
    ) async throws -> sending R {
        if Task.isCancelled { throw CancellationError() }
        let closure = AwaitedClosure(on: self, qos)
        if try closure.beginsWithin(#isolation) { return try closure.callWithin(body) }
        defer { Handoff.received(by: closure) }
        // The closure goes to the queue once, and the result to the caller once; no other thread keeps them.
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
    /// - Parameters:
    ///   - qos: Raises the call above the queue's own quality of service.
    ///   - function: The function to call. The call sees the task's priority and task-local values.
    /// - Returns: The result of `function`, back in the caller's isolation.
    /// - Throws: The errors of `function`; `CancellationError` for a call that was cancelled before it started;
    ///   ``PendingLimitReached`` for a full queue that rejects.
    /// - Ordering: The same order as a closure of ``async(group:qos:flags:execute:)``.
    /// - Threading: Any task; a waiting call holds no thread. `function` runs on a worker.
    /// - Cost: The cost of the form for closures, and one allocation.
    @_disfavoredOverload
    public nonisolated(nonsending) func run<R: Sendable>(
        qos: QoS? = nil, _ function: sending @escaping () throws -> R
    ) async throws -> R {
        try await run(qos: qos) { () throws -> sending R in try function() }
    }

    /// Calls an asynchronous closure on the queue, in the calling task.
    ///
    ///     let downloads = TaskQueue(maxConcurrentTaskCount: 4)
    ///     let page = try await downloads.run { try await client.get(url) }
    ///
    /// In a serial or limited queue, the closure keeps its place until it returns. Between two suspensions it runs on the
    /// queue's scheduler. Cancelling the calling task cancels it before its turn, and is visible inside as for any task.
    /// Traps on ``main`` and on other dispatch queues. Do not await `run` or ``sync(flags:execute:)`` of the same serial queue
    /// inside: the closure holds its place, so that call never begins.
    ///
    /// - Parameters:
    ///   - qos: Raises the closure's turn above the queue's own quality of service.
    ///   - body: The work. It sees the task's priority and task-local values.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`; `CancellationError` for a closure that was cancelled before its turn;
    ///   ``PendingLimitReached`` for a full queue that rejects.
    /// - Ordering: The closure begins in its turn, as one of ``async(group:qos:flags:execute:)``. ``drained()`` and
    ///   ``pendingTaskCount`` count it until its turn only.
    /// - Threading: Any task; no thread is held while the closure waits.
    /// - Cost: The cost of the form for closures, and a switch of executors for each suspension.
    public func run<R: Sendable>(
        qos: QoS? = nil, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        guard case .engine(_, let scheduler) = route else {
            trap("TaskQueue.run: an asynchronous closure cannot run on a dispatch queue (\"\(label)\"). Use a closure without await, or an actor.")
        }
        let places = try await run(qos: qos) { self.holdPlaces() }
        defer { if let places { releasePlaces(places) } }
        return try await withTaskExecutorPreference(scheduler) { try await body() }
    }

    /// Switches to the queue, waits for the closure's turn, and returns. The isolation is a parameter, which the
    /// closures below capture. Without a captured isolation, Swift would switch to its pool on the way in and again
    /// on the way back.
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
