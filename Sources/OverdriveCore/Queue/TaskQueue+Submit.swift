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
    ///   - body: Runs once on a worker. After a shutdown it is discarded and counted as cancelled. Where the
    ///     scheduler's first thread cannot be had the process ends with a sentence that says so.
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
            // A tracked queue's closures come in a counting one.
            let tracked = tracker
            if flags.isEmpty {
                if let tracked {
                    unsafe submitClosure(tracked.counting(body), queue, group?.handle, qos?.rawValue ?? -1)
                } else {
                    unsafe submitClosure(body, queue, group?.handle, qos?.rawValue ?? -1)
                }
            } else {
                let (band, flags) = engineTerms(qos: qos, flags: flags)
                if let tracked {
                    unsafe submitClosure(tracked.counting(body), queue, group?.handle, band, flags)
                } else {
                    unsafe submitClosure(body, queue, group?.handle, band, flags)
                }
            }
        case .dispatch(let route):
            route.async(group: group, qos: qos, flags: flags, body)
        }
    }

    @available(
        *, unavailable,
        message: "a closure that awaits keeps no place in a queue: write Task(executorPreference: queue.taskExecutor) { … }, or give an actor the queue's actorExecutor"
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

    /// Runs a closure on the queue while the calling task is suspended.
    ///
    ///     let digest = try await queue.run { checksum(of: bytes) }
    ///
    /// The closure is cancelled with the calling task: one that has not started never runs, and in one that
    /// runs ``Cancellation/isRequested`` turns true. ``cancelAll()`` does the same, and a shutdown cancels it while it
    /// waits. A full queue takes the closure all the same, unless it rejects: the task is held back by waiting for it,
    /// and no thread is.
    ///
    /// - Parameter body: What to run. The worker lets go of what it has captured, maybe a moment after the task has gone on.
    /// - Returns: What `body` returns, back in the caller's isolation.
    /// - Throws: What `body` throws; `CancellationError` when it was cancelled before it started;
    ///   ``PendingLimitReached`` when a queue that rejects is full.
    /// - Ordering: As a closure's of ``async(group:qos:flags:execute:)``; what `body` wrote is visible to the caller.
    /// - Threading: Any task; no thread is held while the closure waits. `body` runs on a worker.
    /// - Cost: Four allocations, a submission, and where the caller is not there yet a turn in its executor: half a
    ///   microsecond to one.
    public nonisolated(nonsending) func run<R>(_ body: sending @escaping () throws -> sending R) async throws -> sending R {
        // No generic type of R beyond these lines: the runtime would look its metadata up in each call.
        // The closure is handed from here to the queue, and its result back, once each.
        nonisolated(unsafe) let (body, result) = (body, UnsafeMutablePointer<R>.allocate(capacity: 1))
        defer { unsafe result.deallocate() }
        let closure = AwaitedClosure(in: currentCancelEpoch)
        try await end(of: closure) { unsafe result.initialize(to: try body()) }
        HandOver.received(by: closure)
        return unsafe result.move()
    }

    /// Suspends the task until the closure has run. Its isolation is a parameter, which what follows captures: a closure of no
    /// isolation would take a turn in the pool on its way in, and one on its way back.
    private func end(
        of closure: AwaitedClosure, isolation: isolated (any Actor)? = #isolation, _ body: @escaping () throws -> Void
    ) async throws {
        try await withTaskCancellationHandler {
            _ = isolation
            try await unsafe withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                guard unsafe closure.begin(continuation) else { return }
                submit(closure, body)
            }
        } onCancel: {
            closure.cancel()
        }
    }

    private func submit(_ closure: AwaitedClosure, _ body: @escaping () throws -> Void) {
        let tracker = tracker  // as of now: what was submitted before another one is not counted there
        let turn = AwaitedClosure.Turn(of: closure, tracker, body)
        switch backPressure {
        case nil:
            async { turn.run() }
        case .reject:
            do throws(PendingLimitReached) { try tryAsync { turn.run() } } catch { closure.refuse(error) }
            withExtendedLifetime(turn) {}  // whose end would say less
        case .wait, .callerRuns:
            guard case .engine(let queue, _) = route else { return }
            nonisolated(unsafe) let submission = { turn.run() }
            unsafe submitAwaitedClosure(tracker?.counting(submission) ?? submission, queue, nil, Int32(OD_QUEUE_BAND))
        }
    }
}
