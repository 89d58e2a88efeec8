internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// Keeps further closures from starting until ``resume()``. Calls nest. Running closures continue.
    ///
    /// - Ordering: Later submissions wait. A closure that starts during the call may still run.
    /// - Threading: Any thread. Traps on ``main``, ``background`` and ``global(qos:)``, which are everybody's.
    /// - Cost: One short critical section. The first call on a queue without a limit also issues a fence on every
    ///   CPU. Each later closure of that queue then takes a short critical section, as after a barrier.
    public func suspend() {
        unsafe od_queue_suspend(ownQueue("suspend()"))
    }

    /// Takes one ``suspend()`` back. Traps when there is none.
    ///
    /// - Ordering: What waits begins in the order of its submission.
    /// - Threading: Any thread. Traps on ``main``, ``background`` and ``global(qos:)``.
    /// - Cost: One short critical section; what waited is handed to the workers.
    public func resume() {
        unsafe od_queue_resume(ownQueue("resume()"))
    }

    /// Lets a queue start that was made with `initiallyInactive`.
    ///
    ///     let queue = TaskQueue.serial(label: "import", initiallyInactive: true)
    ///     for file in files { queue.async { read(file) } }
    ///     queue.activate()
    ///
    /// On a queue that is active it does nothing, however often. An inactive queue keeps what is submitted, as a
    /// suspended one does; ``suspend()`` and ``resume()`` count beside that. Letting go of it activates it.
    ///
    /// - Ordering: What waits begins in the order of its submission.
    /// - Threading: Any thread, and any queue.
    /// - Cost: One short critical section; what waited is handed to the workers.
    public func activate() {
        if case .engine(let queue, _) = route { unsafe od_queue_activate(queue) }
    }

    /// False for a queue that was made with `initiallyInactive`, until ``activate()``.
    public var isActive: Bool {
        guard case .engine(let queue, _) = route else { return true }
        return unsafe od_queue_is_active(queue)
    }

    /// Whether closures are kept from starting. The property is one flag, separate from the count of ``suspend()``:
    /// setting it twice is like setting it once.
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
            // Outside of the lock: without workers it runs closures here, and they may set the flag.
            if resumes { unsafe od_queue_resume(queue) }
        }
    }

    /// How many closures run at a time at most: 1 or more, or ``unlimited``. It may change while they run: a
    /// lower limit holds for what starts from then on. A queue whose ``actorExecutor`` has been asked for stays
    /// serial: another limit traps.
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

    /// Discards what was submitted and has not started, and tells what runs.
    ///
    /// In the running body of a task, an item or `run(_:)`, ``Cancellation/isRequested`` and `isCancelled` turn
    /// true. A task finishes as cancelled when its body returns; `run(_:)` returns the result of its body. A
    /// running plain closure continues, because it has no flag.
    ///
    /// - Returns: How many closures will never run, exactly. Groups count them as done.
    /// - Ordering: Later submissions run. A closure that starts during the call either runs or is counted.
    /// - Threading: Any thread. Traps on ``main``, whose closures cannot be taken back.
    /// - Cost: A pass over what waits, whose captures are let go of on the calling thread.
    @discardableResult
    public func cancelAll() -> Int {
        guard case .engine(let queue, _) = route else {
            trap(
                "TaskQueue.cancelAll(): a dispatch queue's closures cannot be cancelled (\"\(label)\"). "
                    + "Cancel a WorkItem.")
        }
        let closures = unsafe Int(od_queue_cancel_all(queue))
        // Afterwards: what begins until here had been submitted by then, or is while this goes on.
        endCancelEpoch()
        return closures + (taskRegistry?.cancelParked() ?? 0)
    }

    /// Closures submitted and not yet done; a hint while they come and go.
    public var pendingTaskCount: Int {
        switch route {
        case .engine(let queue, _): unsafe Int(od_queue_pending(queue)) + (taskRegistry?.parkedCount ?? 0)
        case .dispatch(let route): unsafe Int(od_group_pending(route.pending.handle)) + (taskRegistry?.parkedCount ?? 0)
        }
    }

    /// Closures that have begun and not returned, a part of ``pendingTaskCount``.
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
    /// - Cost: Two short critical sections and a look at each worker.
    public var runningTaskCount: Int {
        switch route {
        case .engine(let queue, _): unsafe Int(clamping: od_queue_running(queue))
        case .dispatch(let route): route.runningCount
        }
    }

    /// Blocks until nothing is pending.
    ///
    /// - Ordering: Writes of closures submitted before are visible. Submissions during the call are waited for, too.
    /// - Threading: Any thread but one that runs the queue's own closures, which would wait for themselves. On
    ///   a worker another one takes its place.
    /// - Cost: A few loads where nothing is pending; else a sleep in the kernel.
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

    /// Suspends until nothing is pending.
    ///
    /// - Ordering: Writes of closures submitted before are visible. Submissions during the call are waited for, too.
    /// - Threading: Any task; no thread is held. A closure of the queue that waits for it holds itself up.
    /// - Cost: One allocation and a suspension.
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

    /// The engine's queue, where it is this queue's own to change.
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
