internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// The queue as the executor of actors: their isolation is the queue's order.
    ///
    ///     actor Journal {
    ///         private let queue = TaskQueue.serial(label: "journal")
    ///         nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }
    ///         nonisolated func flush() { queue.sync { assumeIsolated { $0.write() } } }
    ///         private func write() { … }
    ///     }
    ///
    /// The actor's jobs and the queue's closures run one at a time, in the order of submission. Closures of the
    /// queue, and of ``sync(flags:execute:)``, are in the isolation of its actors: `assumeIsolated` and
    /// `preconditionIsolated` hold there. Several actors may share a queue. The executor keeps the queue alive.
    ///
    /// The queue's suspension and quality of service hold for the actor's jobs; a task's priority above `.medium`
    /// raises its jobs. ``cancelAll()`` and pending limits
    /// do not, because a task's job cannot be left out; nor do ``pendingTaskCount`` and ``drained()`` count them. After a
    /// shutdown they go on, one at a time, on ``Scheduler/shared``.
    ///
    /// - Threading: Any thread. Traps for a queue that is not serial, for ``main`` (write `@MainActor`) and for other dispatch
    ///   queues. Afterwards a change of ``maxConcurrentTaskCount`` traps.
    /// - Cost: For each job what a closure of a queue on this one costs: two short critical sections, no allocation.
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

    /// The queue as the preferred executor of tasks: its limit, quality of service and suspension hold for their jobs.
    ///
    ///     let downloads = TaskQueue(qos: .utility, maxConcurrentTaskCount: 4)
    ///     await withTaskExecutorPreference(downloads.taskExecutor) { await fetchAll() }
    ///
    /// A job is what a task does between two suspensions: while a task waits, its place is another one's. Isolation is
    /// no business of it: actors' jobs run on their actors. ``cancelAll()`` and pending limits do not hold for jobs;
    /// after a shutdown they run where those of tasks without a preference do.
    ///
    /// - Threading: Any thread.
    /// - Cost: As of ``actorExecutor``.
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
        // After a shutdown: who keeps the order, on the process's scheduler. Jobs still take their turn of the queue,
        // which a job that is stuck may hold.
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
            // The job keeps this alive, but may be over before the engine is done with the submission.
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
                // The job keeps this alive, but may be over before the engine is done with the submission.
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

/// What a queue is to Swift Concurrency, from the first time that anybody asks.
struct QueueExecutors {
    var actor: TaskQueue.ActorExecutor?
    var preferred: TaskQueue.PreferredExecutor?

    /// The queue's handle goes, and with it what keeps its specific values; jobs may still ask for them.
    func keep(_ values: Specifics?) {
        actor?.jobs.specifics.withLock { $0 = values }
        if case .engine(let jobs) = preferred?.place { jobs.specifics.withLock { $0 = values } }
    }
}

/// A queue's jobs of Swift Concurrency: a queue of the engine's on that one, so that its order, limit and suspension
/// hold for them, and what discards its closures leaves them alone.
@safe final class JobsOfQueue: Sendable {
    // Both are safe to share between threads, and the pointers never change.
    private nonisolated(unsafe) let own, queue: OpaquePointer
    // The queues' pool, which outlives them.
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

    /// Whether the calling thread runs one of the queue's closures or jobs, however deep.
    fileprivate var areCurrent: Bool {
        unsafe od_queue_is_current(queue)
    }

    fileprivate func submit(_ job: UnownedJob, _ priority: JobPriority) {
        // Every task has a priority: one that nobody has chosen raises nothing.
        let asked = TaskQueue.QoS(priority.rawValue)
        unsafe od_queue_async_executor_job(
            own, asked > .default ? asked.rawValue : Int32(OD_QUEUE_BAND),
            unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
    }

    /// Calls `body` in the queue's order, on the calling thread.
    fileprivate func inOrder(_ body: () -> Void) {
        var scope = unsafe od_scope()
        unsafe withUnsafeMutablePointer(to: &scope) { scope in
            unsafe od_queue_sync_begin(own, scope)
            body()
            unsafe od_queue_sync_end(scope)
        }
    }
}
