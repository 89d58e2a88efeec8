internal import CScheduler

/// A scheduler runs Swift Concurrency's tasks too: those that prefer it.
///
///     await withTaskExecutorPreference(scheduler) {
///         await withTaskGroup(of: Int.self) { group in … }
///     }
///
/// A task that waits in a scheduler whose shutdown passes its deadline is not lost: it goes on where tasks
/// without a preference run. So does one that comes back to a scheduler which has been shut down.
///
/// - Ordering: Jobs of one priority start in the order in which they were enqueued from one thread.
extension Scheduler: TaskExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        // Whoever resumes a task may hold a lock that the task wants: it is no place to run it.
        if unsafe od_pool_is_stopped(handle) { return globalConcurrentExecutor.enqueue(job) }
        let band = TaskQueue.QoS(job.priority.rawValue).band
        let job = UnownedJob(job)
        JobWord.set(.scheduler, in: job)
        // The task keeps the scheduler alive, but may be over before the engine is done with the submission,
        // and the caller holds no reference of its own.
        let alive = unsafe Unmanaged.passRetained(self)
        defer { unsafe alive.release() }
        unsafe od_pool_submit_executor_job(handle, band, unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
    }
}

/// The engine's door: runs the job on its queue's executor, or on the scheduler whose worker (or helper) this thread
/// is. The task that the job belongs to keeps that one alive.
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

/// The engine's other door: the scheduler was shut down before the job's turn came.
@_cdecl("od_executor_discard")
func odExecutorDiscard(_ job: UnsafeMutableRawPointer) {
    if let closure = unsafe AwaitedClosure.take(from: job) { return closure.cancel() }
    let swiftJob = unsafe unsafeBitCast(job, to: UnownedJob.self)
    switch unsafe JobWord.take(from: job) {
    case .actors(let executor): executor.runAfterShutdown(swiftJob)
    case .tasks, .scheduler: globalConcurrentExecutor.enqueue(ExecutorJob(swiftJob))
    }
}
