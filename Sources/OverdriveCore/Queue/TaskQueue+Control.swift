// Owns the control of a queue: suspension, limit, cancel, counts and waits. Programs call it. It never stops a
// running closure.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// Stops further closures from starting until ``resume()``. Calls nest. Running closures continue.
    ///
    /// - Ordering: Later submissions wait. A closure that starts during the call may still run.
    /// - Threading: Any thread. Traps on the shared queues ``main``, ``background`` and ``global(qos:)``.
    /// - Cost: One short critical section. The first call on a queue without a limit also issues a fence on every
    ///   CPU. Each later closure of that queue then takes a short critical section, as after a barrier.
    public func suspend() {
        unsafe od_queue_suspend(ownQueue("suspend()"))
    }

    /// Reverts one ``suspend()``. Traps if no call is left to revert.
    ///
    /// - Ordering: Waiting closures start in the order of their submission.
    /// - Threading: Any thread. Traps on ``main``, ``background`` and ``global(qos:)``.
    /// - Cost: One short critical section; the waiting closures go to the workers.
    public func resume() {
        unsafe od_queue_resume(ownQueue("resume()"))
    }

    /// Activates a queue that was created with `initiallyInactive`.
    ///
    ///     let queue = TaskQueue.serial(label: "import", initiallyInactive: true)
    ///     for file in files { queue.async { read(file) } }
    ///     queue.activate()
    ///
    /// Repeated calls, and calls on an active queue, have no effect. An inactive queue keeps its submissions, as a
    /// suspended queue does; ``suspend()`` and ``resume()`` count separately. Releasing an inactive queue activates
    /// it.
    ///
    /// - Ordering: Waiting closures start in the order of their submission.
    /// - Threading: Any thread, and any queue.
    /// - Cost: One short critical section; the waiting closures go to the workers.
    public func activate() {
        if case .engine(let queue, _) = route { unsafe od_queue_activate(queue) }
    }

    /// False for a queue that was created with `initiallyInactive`, until ``activate()``.
    public var isActive: Bool {
        guard case .engine(let queue, _) = route else { return true }
        return unsafe od_queue_is_active(queue)
    }

    /// Whether closures are prevented from starting. The setter changes one flag, separate from the count of
    /// ``suspend()``, so setting it twice has no further effect.
    public var isSuspended: Bool {
        get {
            guard case .engine(let queue, _) = route else { return false }
            return unsafe od_queue_is_suspended(queue)
        }
        set {
            let queue = unsafe ownQueue("isSuspended")
            let resumes = suspensionFlag.withLock { flag in
                guard flag != newValue else { return false }
                flag = newValue
                if newValue { unsafe od_queue_suspend(queue) }
                return !newValue
            }
            // Resume outside the lock: without workers, the call runs closures, which may set the flag.
            if resumes { unsafe od_queue_resume(queue) }
        }
    }

    /// The maximum number of concurrent closures: 1 or more, or ``unlimited``. A lower limit applies to closures that
    /// start after the change. A queue with an ``actorExecutor`` stays serial: another limit traps.
    public var maxConcurrentTaskCount: Int {
        get {
            guard case .engine(let queue, _) = route else { return isMain ? 1 : TaskQueue.unlimited }
            let width = unsafe od_queue_width(queue)
            return width == Int32(OD_UNLIMITED) ? TaskQueue.unlimited : Int(width)
        }
        set {
            let queue = unsafe ownQueue("maxConcurrentTaskCount")
            if newValue != 1, executors.withLock({ $0?.actor != nil }) {
                trap(
                    "TaskQueue.maxConcurrentTaskCount: a queue with an actorExecutor stays serial (\"\(label)\", "
                        + "\(newValue)). Use another queue.")
            }
            unsafe od_queue_set_width(queue, TaskQueue.width(newValue))
        }
    }

    /// Discards all closures that have not started, and sends a cancellation to running bodies.
    ///
    /// In the running body of a task, an item or `run(_:)`, ``Cancellation/isRequested`` and `isCancelled` become
    /// true. A task finishes as cancelled when its body returns; `run(_:)` returns the result of its body. A
    /// running plain closure continues, because it has no such flag.
    ///
    /// - Returns: The exact number of closures that will never run. Groups count them as finished.
    /// - Ordering: Later submissions run. A closure that starts during the call either runs or is counted.
    /// - Threading: Any thread. Traps on ``main``, because libdispatch cannot cancel closures.
    /// - Cost: One pass over the waiting closures; the calling thread releases their captures.
    @discardableResult
    public func cancelAll() -> Int {
        guard case .engine(let queue, _) = route else {
            trap(
                "TaskQueue.cancelAll(): a dispatch queue's closures cannot be cancelled (\"\(label)\"). "
                    + "Cancel a WorkItem.")
        }
        let closures = unsafe Int(od_queue_cancel_all(queue))
        // End the epoch after the cancellation: bodies that start until now were submitted before or during this call.
        endCancelEpoch()
        return closures + (taskRegistry?.cancelParked() ?? 0)
    }

    /// The number of submitted closures that have not finished; a hint while other threads submit.
    public var pendingTaskCount: Int {
        switch route {
        case .engine(let queue, _): unsafe Int(od_queue_pending(queue)) + (taskRegistry?.parked.count ?? 0)
        case .dispatch(let route): unsafe Int(od_group_pending(route.pending.handle)) + (taskRegistry?.parked.count ?? 0)
        }
    }

    /// The number of closures that have started and not returned, a part of ``pendingTaskCount``.
    ///
    ///     print("\(queue.runningTaskCount) of \(queue.pendingTaskCount) run")
    ///
    /// The number includes closures of ``async(group:qos:flags:execute:)``, `run(_:)`, timers, items and tasks, on
    /// any thread. A blocked or waiting closure counts as running. Callers of ``sync(flags:execute:)`` do not count,
    /// and are not pending either. A task whose body has returned does not count.
    ///
    /// - Returns: The exact number if no closure of the queue starts or finishes during the call. Otherwise each
    ///   thread is read once, at different moments. A closure that finishes during the call may count. Every closure
    ///   that runs during the whole call counts.
    /// - Threading: Any thread.
    /// - Cost: Two short critical sections, and a read of each worker's state.
    public var runningTaskCount: Int {
        switch route {
        case .engine(let queue, _): unsafe Int(clamping: od_queue_running(queue))
        case .dispatch(let route): route.runningCount
        }
    }

    /// Blocks until no closure is pending.
    ///
    /// - Ordering: Writes of earlier closures are visible. The call also waits for submissions during the call.
    /// - Threading: Any thread, except in a closure of the queue, which would wait for itself and traps. A spare
    ///   replaces a waiting worker.
    /// - Cost: A few loads if no closure is pending; otherwise a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await drained()")
    public func waitUntilAllTasksAreFinished() {
        trapOnSelfWait()
        repeat {
            taskRegistry?.waitUntilEmpty()
            switch route {
            case .engine(let queue, _): _ = unsafe od_queue_wait(queue, .max)
            case .dispatch(let route): route.pending.wait()
            }
        } while taskRegistry?.isEmpty == false
    }

    private func trapOnSelfWait() {
        switch route {
        case .engine(let queue, _):
            if let blocked = unsafe od_queue_blocked_target(queue) {
                unsafe trap(
                    "TaskQueue.waitUntilAllTasksAreFinished(): a closure of the target would wait for itself (\"\(label)\" on "
                        + "\"\(String(cString: od_queue_label(blocked)))\"). Wait elsewhere.")
            }
            guard unsafe od_queue_is_current(queue) else { return }
        case .dispatch(let route):
            if route.isMain && TaskQueue.isOnMain {
                trap("TaskQueue.main.waitUntilAllTasksAreFinished(): the main thread would wait for itself. Use drained().")
            }
            guard !route.isMain && route.isCurrent else { return }
        }
        trap(
            "TaskQueue.waitUntilAllTasksAreFinished(): a closure of the queue would wait for itself (\"\(label)\"). "
                + "Wait elsewhere.")
    }

    /// Suspends the calling task until no closure is pending.
    ///
    /// - Ordering: Writes of earlier closures are visible. The call also waits for submissions during the call.
    /// - Threading: Any task; the wait holds no thread. A closure of the queue that waits for the result never ends.
    /// - Cost: One allocation and one suspension.
    public func drained() async {
        repeat {
            await taskRegistry?.becameEmpty()
            switch route {
            case .engine(let queue, _):
                await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                    let told = unsafe od_queue_notify(
                        queue, Callback.function, Callback { unsafe continuation.resume() }.context)
                    Callback.demand(told, by: "TaskQueue.drained()")
                }
            case .dispatch(let route):
                await route.pending.wait()
            }
        } while taskRegistry?.isEmpty == false
    }

    private var isMain: Bool {
        if case .dispatch(let route) = route { route.isMain } else { false }
    }

    /// Returns the engine's queue for a change, or traps if the queue is shared or a dispatch queue.
    private func ownQueue(_ call: StaticString) -> OpaquePointer {
        if case .dispatch(let route) = route, !route.isMain {
            trap("TaskQueue.\(call): the queue runs on a dispatch queue (\"\(label)\"). Make another TaskQueue.")
        }
        guard !isGlobal, case .engine(let queue, _) = route else {
            trap("TaskQueue.\(call): the queue is shared (\"\(label)\"). Make another TaskQueue.")
        }
        return unsafe queue
    }
}
