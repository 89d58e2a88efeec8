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

    /// The registry of the tasks that were added, if there are any.
    var taskRegistry: (any TaskRegistry)? {
        guard let storage = unsafe UnsafeRawPointer(bitPattern: taskStorage.load(ordering: .acquiring)) else { return nil }
        return unsafe (Unmanaged<AnyObject>.fromOpaque(storage).takeUnretainedValue() as? any TaskRegistry)?.ofThisProcess(for: self)
    }
}
