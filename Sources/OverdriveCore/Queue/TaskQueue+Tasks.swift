// Owns the connection between a queue and its tasks of the `Overdrive` target, which calls it. It never knows the
// type of a task.

internal import CScheduler
internal import Synchronization

/// The tasks of a queue that the engine does not count.
package struct ParkedTasks {
    /// Tasks that wait for dependencies, conditions or their next attempt.
    package var waiting = 0
    /// Tasks whose bodies have returned without an outcome.
    package var unfinished = 0
    /// Tasks whose bodies continue outside of the queue's closures: asynchronous bodies, and blocks.
    package var elsewhere = 0

    package init() {}

    package var count: Int { waiting + unfinished + elsewhere }
}

/// The operations of a queue's task registry, which `Overdrive` implements.
package protocol TaskRegistry: AnyObject, Sendable {
    /// The numbers of tasks that the engine does not count.
    var parked: ParkedTasks { get }

    /// Whether all added tasks have finished.
    var isEmpty: Bool { get }

    /// Blocks until all added tasks have finished.
    func waitUntilEmpty()

    /// Suspends the calling task until all added tasks have finished.
    func becameEmpty() async

    /// Cancels all tasks. Returns the number of parked tasks that had not started; running tasks see a cancellation.
    func cancelParked() -> Int

    /// Returns this registry, or the registry of the current process in a forked child.
    func ofThisProcess(for queue: TaskQueue) -> any TaskRegistry
}

extension TaskQueue {
    /// Submits a task to the queue. The engine calls `od_task_run(task)` or `od_task_discard(task)`, exactly once.
    ///
    /// - Parameters:
    ///   - task: The retained task; the called function takes over the reference.
    ///   - qos: Raises the task above the queue's quality of service.
    ///   - byProducer: Whether the pending limit applies.
    ///   - run: The function that runs the task if the queue is a dispatch queue.
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
            // The task goes to the dispatch queue once, and this thread does not keep it.
            nonisolated(unsafe) let task = unsafe task
            route.async(group: nil, qos: qos) { unsafe run(task) }
        }
    }

    /// Submits a task that the calling job has made ready with its last action. If a worker of this queue calls it, the
    /// worker may run the task next: ``takeNextTask()`` then returns it.
    package func submitNext(
        task: UnsafeMutableRawPointer, qos: QoS?, run: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        guard case .engine(let queue, _) = route else {
            return unsafe submit(task: task, qos: qos, byProducer: false, run: run)
        }
        unsafe od_queue_async_next_task(queue, qos?.rawValue ?? -1, task)
    }

    /// Ends the calling job and begins the next task's job, if the job has submitted one with
    /// ``submitNext(task:qos:run:)``. Returns nil if there is none.
    package static func takeNextTask() -> UnsafeMutableRawPointer? { unsafe od_next_task() }

    /// The scheduler for the queue's asynchronous bodies; nil for the main queue and other dispatch queues.
    package var scheduler: Scheduler? {
        guard case .engine(_, let scheduler) = route else { return nil }
        return scheduler
    }

    /// Keeps the concurrency slots of the calling thread's closure beyond its return, in this queue and its targets.
    /// Returns nil if no queue is limited, or else the argument for ``releasePlaces(_:)``.
    package func holdPlaces() -> UInt32? {
        guard case .engine(let queue, _) = route else { return nil }
        let places = unsafe od_queue_hold(queue)
        return places == 0 ? nil : places
    }

    package func releasePlaces(_ places: UInt32) {
        if case .engine(let queue, _) = route { unsafe od_queue_unhold(queue, places) }
    }

    /// Whether this is the main queue and the calling thread serves it.
    package var isMainAndHere: Bool {
        guard case .dispatch(let route) = route else { return false }
        return route.isMain && TaskQueue.isOnMain
    }

    /// Calls `body` with the task-side object, a second object for the same engine queue, which the queue's tasks
    /// retain.
    ///
    /// The queue retains its tasks. If tasks retained the program's object, both would live forever: a suspended
    /// queue that the program has released would never resume. A shared queue is its own task-side object. The call
    /// does not retain the object.
    @inline(__always)
    package func withTaskSide<R>(_ body: (TaskQueue) -> R) -> R {
        unsafe taskSideReference._withUnsafeGuaranteedRef(body)
    }

    /// The object of ``withTaskSide(_:)``, for callers in other modules. This object keeps it alive.
    package var taskSideReference: Unmanaged<TaskQueue> {
        if isGlobal || isTaskSide { return unsafe .passUnretained(self) }
        // Acquire: pairs with the release in `makeTaskSide`.
        let side = unsafe UnsafeRawPointer(bitPattern: taskSide.load(ordering: .acquiring)) ?? makeTaskSide()
        return unsafe .fromOpaque(side)
    }

    private func makeTaskSide() -> UnsafeRawPointer {
        let mine = unsafe Unmanaged.passRetained(TaskQueue(taskSideOf: self))
        // Release: publishes the new object. Acquire: makes the object of another thread visible.
        let (stored, found) = unsafe taskSide.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe UnsafeRawPointer(bitPattern: found) else { return unsafe UnsafeRawPointer(mine.toOpaque()) }
        // The losing object shares the engine's queue and must not release it.
        unsafe mine.takeUnretainedValue().isSpare.store(true, ordering: .relaxed)
        unsafe mine.release()
        return unsafe found
    }

    /// Ends all suspensions after the program has released the queue, so that its waiting closures and tasks run.
    func leaveToTasks() {
        guard case .engine(let queue, _) = route else { return }
        keepTargetsSpecifics()
        executors.withLock { unsafe $0?.keep(Specifics.of(queue)) }
        unsafe Specifics.of(queue)?.endTracking()
        unsafe od_queue_activate(queue)
        while unsafe od_queue_is_suspended(queue) { unsafe od_queue_resume(queue) }
    }

    /// The address of the engine's queue, or 0 for a dispatch queue.
    package var engineQueue: UInt {
        if case .engine(let queue, _) = route { UInt(bitPattern: queue) } else { 0 }
    }

    private struct Entry {
        weak var registry: (any TaskRegistry)?
    }

    /// The registries of the process by their queues, for dumps.
    private static let registries = Locked<[UInt: Entry]>([:])

    /// Adds the registry of a queue that has its first task.
    package static func note(_ registry: any TaskRegistry, of queue: UInt) {
        guard queue != 0 else { return }
        registries.withLock(orAnew: [:]) { $0[queue] = Entry(registry: registry) }
    }

    /// Removes a registry that is being released, unless the queue's memory serves another queue by now.
    package static func forgetRegistry(of queue: UInt) {
        // The other queue's registry is released after the lock, because its deinitialiser may come here.
        let other = registries.withLock(orAnew: [:]) { entries in
            let other = entries[queue]?.registry
            if other == nil { entries[queue] = nil }
            return other
        }
        withExtendedLifetime(other) {}
    }

    /// The parked tasks of all queues that have some, by ``engineQueue``.
    static var parkedTasks: [UInt: ParkedTasks] {
        let all = registries.withLock(orAnew: [:]) { $0.compactMapValues(\.registry) }
        return all.mapValues(\.parked).filter { $0.value.count > 0 }
    }

    /// The task registry, or nil if the queue has had no tasks.
    var taskRegistry: (any TaskRegistry)? {
        if !isGlobal, !isTaskSide, taskSide.load(ordering: .acquiring) == 0 { return nil }
        return withTaskSide { $0.storedRegistry }
    }

    private var storedRegistry: (any TaskRegistry)? {
        guard let storage = unsafe UnsafeRawPointer(bitPattern: taskStorage.load(ordering: .acquiring)) else { return nil }
        return unsafe (Unmanaged<AnyObject>.fromOpaque(storage).takeUnretainedValue() as? any TaskRegistry)?.ofThisProcess(for: self)
    }
}
