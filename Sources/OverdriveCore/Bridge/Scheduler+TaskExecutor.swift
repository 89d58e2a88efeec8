// Owns the scheduler as a task executor, and the entry points by which the engine runs or discards a Swift job. The
// Swift runtime and the engine call it. It never loses a job.

internal import CScheduler

/// Lets Swift tasks run on a scheduler, if they prefer it as their executor.
///
///     await withTaskExecutorPreference(scheduler) {
///         await withTaskGroup(of: Int.self) { group in … }
///     }
///
/// A shutdown does not lose tasks. A task that still waits at the deadline continues on the executor of tasks without
/// a preference. The same holds for a task that resumes after the shutdown.
///
/// - Ordering: Jobs of one priority that one thread enqueues start in order.
extension Scheduler: TaskExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        // The caller may hold a lock that the task needs, so the job must not run here; the global executor takes it.
        if unsafe od_pool_is_stopped(handle) { return globalConcurrentExecutor.enqueue(job) }
        let band = TaskQueue.QoS(job.priority.rawValue).band
        let job = UnownedJob(job)
        JobWord.set(.scheduler, in: job)
        // The task keeps the scheduler alive, but may finish before the submission returns. The caller need not hold
        // a reference.
        let alive = unsafe Unmanaged.passRetained(self)
        defer { unsafe alive.release() }
        unsafe od_pool_submit_executor_job(handle, band, unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
    }
}

/// Runs a job, on the executor of its queue, or on the scheduler of the calling worker or helper. The engine calls it
/// once per job. The task of the job keeps the executor alive.
@_cdecl("od_executor_run")
func odExecutorRun(_ job: UnsafeMutableRawPointer) {
    if let closure = unsafe AwaitedClosure.take(from: job) { return closure.run() }
    let swiftJob = unsafe unsafeBitCast(job, to: UnownedJob.self)
    switch unsafe JobWord.take(from: job) {
    case .actors(let executor): return executor.run(swiftJob)
    case .tasks(let executor): return executor.run(swiftJob)
    case .scheduler: break
    }
    guard let executor = unsafe PoolOwner.current?.executor else {
        trap("Scheduler.enqueue(_:): the job of a Swift task has no scheduler to run on")
    }
    unsafe swiftJob.runSynchronously(on: executor)
}

/// Moves a job to another executor after its scheduler was shut down. The engine calls it instead of the run.
@_cdecl("od_executor_discard")
func odExecutorDiscard(_ job: UnsafeMutableRawPointer) {
    if let closure = unsafe AwaitedClosure.take(from: job) { return closure.cancel() }
    let swiftJob = unsafe unsafeBitCast(job, to: UnownedJob.self)
    switch unsafe JobWord.take(from: job) {
    case .actors(let executor): executor.runAfterShutdown(swiftJob)
    case .tasks, .scheduler: globalConcurrentExecutor.enqueue(ExecutorJob(swiftJob))
    }
}
