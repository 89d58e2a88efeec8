internal import CScheduler

/// A scheduler runs Swift Concurrency's tasks too: those that prefer it.
///
///     await withTaskExecutorPreference(scheduler) {
///         await withTaskGroup(of: Int.self) { group in … }
///     }
///
/// - Ordering: Jobs of one priority start in the order in which they were enqueued from one thread.
extension Scheduler: TaskExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        let band = TaskQueue.QoS(job.priority.rawValue).band
        let job = UnownedJob(job)
        // The task keeps the scheduler alive, but may be over before the engine is done with the submission,
        // and the caller holds no reference of its own.
        let alive = Unmanaged.passRetained(self)
        defer { alive.release() }
        od_pool_submit(handle, band, Scheduler.runJob, unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
    }

    /// Runs the job in `context` on the scheduler whose worker (or helper) this thread is. The task that the
    /// job belongs to keeps its executor alive.
    private static let runJob: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        guard let context, let owner = od_pool_current_owner() else { return }
        let scheduler = Unmanaged<Scheduler>.fromOpaque(owner)
        let job = unsafeBitCast(context, to: UnownedJob.self)
        job.runSynchronously(on: scheduler._withUnsafeGuaranteedRef { $0.asUnownedTaskExecutor() })
    }
}
