internal import CScheduler

/// The jobs of Swift Concurrency in a process whose executor ``Scheduler/shared`` is: those of tasks without a
/// preference, of actors without an executor of their own, and of sleeps that are over.
///
/// They run as the runtime's own pool would run them, in no executor's isolation, so that the runtime goes on
/// switching between actors on the spot where it can.
package enum GlobalJobs {
    // The pool of a scheduler that stays for the process's life, and is never shut down.
    private nonisolated(unsafe) static let pool = Scheduler.shared.handle

    /// Starts the process's scheduler if nothing has done so; its threads come with the first job.
    package static func prepare() {
        _ = pool
    }

    /// Queues a job behind those of its priority that one thread queued before.
    package static func enqueue(_ job: consuming ExecutorJob) {
        let band = TaskQueue.QoS(job.priority.rawValue).band
        od_pool_submit(pool, band, run, unsafeBitCast(UnownedJob(job), to: UnsafeMutableRawPointer.self))
    }

    /// Queues a job when its time has come, and never before.
    ///
    /// - Parameters:
    ///   - job: What to run.
    ///   - delay: How long from now.
    package static func enqueue(_ job: consuming ExecutorJob, after delay: Duration) {
        guard delay > .zero else { return enqueue(job) }
        var options = od_timer_options()
        options.delay_ns = delay.nanoseconds
        options.context = unsafeBitCast(UnownedJob(job), to: UnsafeMutableRawPointer.self)
        options.call = { job, _ in
            guard let job else { return }
            GlobalJobs.enqueue(ExecutorJob(unsafeBitCast(job, to: UnownedJob.self)))
        }
        guard let timer = od_timer_create_elsewhere(pool, &options, { _, timer in od_timer_perform(timer) }) else {
            trap("Task.sleep: memory is too short for a timer")
        }
        od_timer_start(timer)
        od_timer_release(timer)
    }

    /// The isolation of no executor: two words of nothing, as the runtime has it for its own pool.
    private static let nowhere = unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> Void = { job in
        guard let job else { return }
        unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: nowhere)
    }
}
