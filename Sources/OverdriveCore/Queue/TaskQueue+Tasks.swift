internal import CScheduler
internal import Synchronization

/// What a queue asks of whatever `Overdrive` keeps for the tasks that were added to it.
package protocol TaskRegistry: AnyObject, Sendable {
    /// Tasks of the queue that the engine does not count: they wait for others, or for somebody to finish them, or
    /// their bodies go on although who began them has returned.
    var parkedCount: Int { get }

    /// Whether every task that was added is over.
    var isEmpty: Bool { get }

    /// Blocks until every task that was added was over.
    func waitUntilEmpty()

    /// Suspends until every task that was added was over.
    func becameEmpty() async

    /// Cancels the tasks: those that are parked and have not started, whose number it returns, and those that run, which are
    /// told.
    func cancelParked() -> Int

    /// This one, or in a forked child the child's own in its place.
    func ofThisProcess(for queue: TaskQueue) -> any TaskRegistry
}

extension TaskQueue {
    /// The engine's door for tasks: runs `od_task_run(task)` once, or `od_task_discard(task)` once.
    ///
    /// - Parameters:
    ///   - task: At +1: whichever of the two is called takes it over.
    ///   - qos: Raises the task above the queue's own quality of service.
    ///   - byProducer: Whether a pending limit holds for it.
    ///   - run: What the door runs, for queues that are not the engine's.
    package func submit(
        task: UnsafeMutableRawPointer, qos: QoS?, byProducer: Bool,
        run: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        switch route {
        case .engine(let queue, _):
            if byProducer {
                unsafe od_queue_async_task(queue, qos?.rawValue ?? -1, task)
            } else {
                unsafe od_queue_async_due_task(queue, qos?.rawValue ?? -1, task)
            }
        case .dispatch(let route):
            // Handed from here to the dispatch queue, once.
            nonisolated(unsafe) let task = unsafe task
            route.async(group: nil, qos: qos) { unsafe run(task) }
        }
    }

    /// Where the queue's asynchronous bodies run; nil for the main queue and other dispatch queues.
    package var scheduler: Scheduler? {
        guard case .engine(_, let scheduler) = route else { return nil }
        return scheduler
    }

    /// Keeps the place of the closure that the calling thread runs here beyond its return, where places are
    /// limited, with those of the queues that this one is on. nil, or what ``releasePlaces(_:)`` wants.
    package func holdPlaces() -> UInt32? {
        guard case .engine(let queue, _) = route else { return nil }
        let places = unsafe od_queue_hold(queue)
        return places == 0 ? nil : places
    }

    package func releasePlaces(_ places: UInt32) {
        if case .engine(let queue, _) = route { unsafe od_queue_unhold(queue, places) }
    }

    /// Whether this is the main queue, and the calling thread is its own.
    package var isMainAndHere: Bool {
        guard case .dispatch(let route) = route else { return false }
        return route.isMain && TaskQueue.isOnMain
    }

    /// Calls `body` with the object that the queue's tasks hold, another one on the same engine queue.
    ///
    /// The queue keeps its tasks. Tasks that held the program's own object would keep that in return: a suspended queue that
    /// the program releases would never be resumed. Queues that belong to everybody are that object themselves. The object
    /// is not counted for the call.
    @inline(__always)
    package func withTaskSide<R>(_ body: (TaskQueue) -> R) -> R {
        if isGlobal || isTaskSide { return body(self) }
        // Acquires what it was made of.
        let side = unsafe UnsafeRawPointer(bitPattern: taskSide.load(ordering: .acquiring)) ?? makeTaskSide()
        return unsafe Unmanaged<TaskQueue>.fromOpaque(side)._withUnsafeGuaranteedRef(body)
    }

    private func makeTaskSide() -> UnsafeRawPointer {
        let mine = unsafe Unmanaged.passRetained(TaskQueue(taskSideOf: self))
        // Releases what it was made of, or acquires what another is.
        let (stored, found) = unsafe taskSide.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe UnsafeRawPointer(bitPattern: found) else { return unsafe UnsafeRawPointer(mine.toOpaque()) }
        // The engine's queue is not its own: nothing is given back.
        unsafe mine.takeUnretainedValue().isSpare.store(true, ordering: .relaxed)
        unsafe mine.release()
        return unsafe found
    }

    /// The program has released the queue: the suspensions end, and what waits runs, as where it has no tasks.
    func leaveToTasks() {
        guard case .engine(let queue, _) = route else { return }
        keepTargetsSpecifics()
        executors.withLock { unsafe $0?.keep(Specifics.of(queue)) }
        unsafe Specifics.of(queue)?.endTracking()
        unsafe od_queue_activate(queue)
        while unsafe od_queue_is_suspended(queue) { unsafe od_queue_resume(queue) }
    }

    /// The registry of the tasks that were added, if there are any.
    var taskRegistry: (any TaskRegistry)? {
        if !isGlobal, !isTaskSide, taskSide.load(ordering: .acquiring) == 0 { return nil }
        return withTaskSide { $0.storedRegistry }
    }

    private var storedRegistry: (any TaskRegistry)? {
        guard let storage = unsafe UnsafeRawPointer(bitPattern: taskStorage.load(ordering: .acquiring)) else { return nil }
        return unsafe (Unmanaged<AnyObject>.fromOpaque(storage).takeUnretainedValue() as? any TaskRegistry)?.ofThisProcess(for: self)
    }
}
