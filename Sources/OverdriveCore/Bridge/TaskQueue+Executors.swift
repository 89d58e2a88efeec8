// Owns the executors that a task queue offers to Swift Concurrency. Programs ask for them, and the Swift runtime
// calls them. They never discard a job.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// The queue as an executor of actors, which run in the order of the queue.
    ///
    ///     actor Journal {
    ///         private let queue = TaskQueue.serial(label: "journal")
    ///         nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }
    ///         nonisolated func flush() { queue.sync { assumeIsolated { $0.write() } } }
    ///         private func write() { … }
    ///     }
    ///
    /// The actor's jobs and the queue's closures run one at a time, in the order of submission. Closures of the
    /// queue, and of ``sync(flags:execute:)``, run in the isolation of its actors: `assumeIsolated` and
    /// `preconditionIsolated` succeed there. Several actors may share a queue. The executor keeps the queue alive.
    ///
    /// Suspension and quality of service of the queue apply to the jobs. A task priority above `.medium` raises the
    /// jobs of the task. ``cancelAll()`` and pending limits do not apply, because a job must not be skipped.
    /// ``pendingTaskCount`` and ``drained()`` do not count jobs. After a shutdown, jobs continue one at a time on
    /// ``Scheduler/shared``.
    ///
    /// - Threading: Any thread. Traps for a queue that is not serial, for ``main`` (write `@MainActor`) and for other
    ///   dispatch queues. Later changes of ``maxConcurrentTaskCount`` trap.
    /// - Cost: Each job costs as much as a closure of a queue with this target: two short critical sections, no
    ///   allocation.
    public var actorExecutor: ActorExecutor {
        guard case .engine(let queue, let scheduler) = route else {
            trap(
                "TaskQueue.actorExecutor: the queue runs on a dispatch queue (\"\(label)\"). "
                    + (isMainQueue ? "Write @MainActor." : "Make a TaskQueue.serial."))
        }
        return executors.withLock { executors in
            if let actor = executors?.actor { return actor }
            guard !isGlobal, unsafe od_queue_width(queue) == 1 else {
                trap("TaskQueue.actorExecutor: the queue is not serial (\"\(label)\"). Make a TaskQueue.serial.")
            }
            let actor = unsafe ActorExecutor(on: queue, label: label, qos: qos, scheduler: scheduler)
            executors = executors ?? QueueExecutors()
            executors?.actor = actor
            return actor
        }
    }

    /// The queue as a preferred executor of tasks, with its limit, quality of service and suspension.
    ///
    ///     let downloads = TaskQueue(qos: .utility, maxConcurrentTaskCount: 4)
    ///     await withTaskExecutorPreference(downloads.taskExecutor) { await fetchAll() }
    ///
    /// A job is the part of a task between two suspensions. While a task is suspended, it uses no slot of the limit.
    /// The executor gives no isolation: jobs of actors run on their actors. ``cancelAll()`` and pending limits do not
    /// apply to jobs. After a shutdown, jobs run on the executor of tasks without a preference.
    ///
    /// - Threading: Any thread.
    /// - Cost: The same as ``actorExecutor``.
    public var taskExecutor: PreferredExecutor {
        executors.withLock { executors in
            if let preferred = executors?.preferred { return preferred }
            let preferred =
                switch route {
                case .engine(let queue, let scheduler):
                    unsafe PreferredExecutor(
                        .engine(
                            JobsOfQueue(
                                on: queue, width: Int32(OD_UNLIMITED), label: label, qos: qos, scheduler: scheduler)))
                case .dispatch(let route):
                    PreferredExecutor(.dispatch(route))
                }
            executors = executors ?? QueueExecutors()
            executors?.preferred = preferred
            return preferred
        }
    }

    private var isMainQueue: Bool {
        if case .dispatch(let route) = route { route.isMain } else { false }
    }

    /// A serial queue as a `SerialExecutor`; see ``TaskQueue/actorExecutor``.
    public final class ActorExecutor: SerialExecutor {
        private let label: String
        fileprivate let jobs: JobsOfQueue
        // Keeps the order of jobs after a shutdown, on the shared scheduler. Jobs then still enter the original queue
        // in order, because a stuck job may hold it.
        private let afterShutdown = Locked<TaskQueue?>(nil)

        fileprivate init(on queue: OpaquePointer, label: String, qos: QoS, scheduler: Scheduler) {
            self.label = label
            jobs = unsafe JobsOfQueue(on: queue, width: 1, label: label, qos: qos, scheduler: scheduler)
        }

        public func enqueue(_ job: consuming ExecutorJob) {
            let priority = job.priority
            let job = UnownedJob(job)
            if jobs.isStopped || afterShutdown.withLock({ $0 != nil }) { return runAfterShutdown(job) }
            JobWord.set(.actors(self), in: job)
            // The job keeps this object alive, but may finish before the submission returns.
            let alive = unsafe Unmanaged.passRetained(self)
            defer { unsafe alive.release() }
            jobs.submit(job, priority)
        }

        func run(_ job: UnownedJob) {
            unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        }

        func runAfterShutdown(_ job: UnownedJob) {
            let queue = afterShutdown.withLock { queue in
                let present = queue ?? TaskQueue.serial(label: label)
                queue = present
                return present
            }
            queue.async { self.jobs.inOrder { self.run(job) } }
        }

        public func checkIsolated() {
            guard jobs.areCurrent else {
                trap("assumeIsolated: not on the actor's queue (\"\(label)\"). Call the actor with await.")
            }
        }

        public func isIsolatingCurrentContext() -> Bool? {
            jobs.areCurrent
        }
    }

    /// A queue as a `TaskExecutor`; see ``TaskQueue/taskExecutor``.
    public final class PreferredExecutor: TaskExecutor {
        fileprivate enum Place: Sendable {
            case engine(JobsOfQueue)
            case dispatch(DispatchRoute)
        }

        fileprivate let place: Place

        fileprivate init(_ place: Place) {
            self.place = place
        }

        public func enqueue(_ job: consuming ExecutorJob) {
            let priority = job.priority
            let job = UnownedJob(job)
            switch place {
            case .engine(let jobs) where jobs.isStopped:
                globalConcurrentExecutor.enqueue(job)
            case .engine(let jobs):
                JobWord.set(.tasks(self), in: job)
                // The job keeps this object alive, but may finish before the submission returns.
                let alive = unsafe Unmanaged.passRetained(self)
                defer { unsafe alive.release() }
                jobs.submit(job, priority)
            case .dispatch(let route):
                route.async(group: nil, qos: nil) { self.run(job) }
            }
        }

        func run(_ job: UnownedJob) {
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// The executors of a queue, created at their first use.
struct QueueExecutors {
    var actor: TaskQueue.ActorExecutor?
    var preferred: TaskQueue.PreferredExecutor?

    /// Keeps the specific values of the queue, whose handle is about to be released. Later jobs may still read them.
    func keep(_ values: Specifics?) {
        actor?.jobs.specifics.withLock { $0 = values }
        if case .engine(let jobs) = preferred?.place { jobs.specifics.withLock { $0 = values } }
    }
}

/// The Swift jobs of a queue, as an engine queue whose target is that queue. So its order, limit and suspension
/// apply, but a cancellation of its closures does not discard jobs.
@safe final class JobsOfQueue: Sendable {
    // The engine's queues are thread-safe, and the pointers never change.
    private nonisolated(unsafe) let own, queue: OpaquePointer
    // The scheduler of the queues, retained so that it outlives them.
    private let scheduler: Scheduler
    fileprivate let specifics = Locked<Specifics?>(nil)

    fileprivate init(on queue: OpaquePointer, width: Int32, label: String, qos: TaskQueue.QoS, scheduler: Scheduler) {
        let own = unsafe label.withCString { label in
            var options = unsafe od_queue_options()
            unsafe options.band = qos.band
            unsafe options.width = width
            unsafe options.label = label
            unsafe options.target = queue
            return unsafe od_queue_create_with(scheduler.handle, &options)
        }
        guard let own = unsafe own else { trap("TaskQueue.actorExecutor: out of memory. Raise the memory limit.") }
        unsafe self.own = own
        unsafe self.queue = queue
        self.scheduler = scheduler
    }

    deinit {
        unsafe od_queue_release(own)
    }

    fileprivate var isStopped: Bool {
        unsafe od_pool_is_stopped(scheduler.handle)
    }

    /// Whether the calling thread runs a closure or job of the queue, at any nesting depth.
    fileprivate var areCurrent: Bool {
        unsafe od_queue_is_current(queue)
    }

    fileprivate func submit(_ job: UnownedJob, _ priority: JobPriority) {
        // Every Swift task has a priority, even if the program chose none. So only a priority above the default raises a job.
        let asked = TaskQueue.QoS(priority.rawValue)
        unsafe od_queue_async_executor_job(
            own, asked > .default ? asked.rawValue : Int32(OD_QUEUE_BAND),
            unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
    }

    /// Calls `body` on the calling thread, in the order of the queue.
    fileprivate func inOrder(_ body: () -> Void) {
        var scope = unsafe od_scope()
        unsafe withUnsafeMutablePointer(to: &scope) { scope in
            unsafe od_queue_sync_begin(own, scope)
            body()
            unsafe od_queue_sync_end(scope)
        }
    }
}
