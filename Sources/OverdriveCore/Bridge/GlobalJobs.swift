// Owns the jobs of Swift Concurrency when `Scheduler.shared` is the global executor of the process. The target
// OverdriveGlobal calls it. Jobs never run in the isolation of an executor.

internal import CScheduler

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The jobs of Swift Concurrency in a process whose global executor is ``Scheduler/shared``. These are jobs of tasks
/// without an executor preference, of actors without a custom executor, and of finished sleeps.
///
/// Jobs run as in the runtime's own pool, without the isolation of an executor. So the runtime can still switch
/// between actors directly.
package enum GlobalJobs {
    // The pool lives as long as the process, and is never shut down.
    private nonisolated(unsafe) static let pool = unsafe Scheduler.ofTheProcess.handle

    /// Returns the current priority of a task's job.
    typealias Priority = @Sendable (UnownedJob) -> JobPriority

    // Pointers avoid the runtime's exclusivity checks, since each job reads these values. They are set before the
    // first job.
    private nonisolated(unsafe) static let priority = unsafe place({ $0.priority } as Priority)
    private nonisolated(unsafe) static let placeOfPriority = unsafe place(UInt(0))
    /// The waiting tasks of the low bands. A forked child replaces the content before it runs other code.
    private nonisolated(unsafe) static let low = unsafe place(LowBandJobs(workers: Int(od_pool_workers(pool))))

    private static func place<Value>(_ value: Value) -> UnsafeMutablePointer<Value> {
        let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe place.initialize(to: value)
        return unsafe place
    }

    static var priorityNow: Priority { unsafe priority.pointee }

    /// Starts the process's scheduler if needed. Its threads start with the first job.
    ///
    /// - Parameters:
    ///   - priority: Returns the current priority of a waiting task, which a new awaiter may have raised.
    ///   - place: The offset of that priority in a task, in bytes; only a hint for prefetching.
    package static func prepare(
        priority: @escaping @Sendable (UnownedJob) -> JobPriority, at place: UInt
    ) {
        _ = unsafe (pool, low)
        unsafe self.priority.pointee = priority
        unsafe placeOfPriority.pointee = place
        // The parent's lists may be half changed by another thread at the fork. So the child abandons them untouched.
        pthread_atfork(nil, nil, { unsafe GlobalJobs.low.initialize(to: LowBandJobs(like: GlobalJobs.low.pointee)) })
    }

    /// Queues a job. Jobs that one thread enqueues at one priority start in order.
    ///
    /// - Parameters:
    ///   - job: The job to run.
    ///   - isTask: True for the job of a task, whose priority may rise while it waits.
    package static func enqueue(_ job: consuming ExecutorJob, isTask: Bool) {
        let qos = TaskQueue.QoS(job.priority.rawValue)
        let job = unsafe unsafeBitCast(UnownedJob(job), to: UInt.self)
        guard isTask, LowBandJobs.holds(qos) else { return submit(job, qos) }
        put(job, self.qos(of: job, priorityNow))
    }

    /// Queues a task's job in the band of its current priority. A low band keeps it in a wait queue, so that it can
    /// be raised.
    static func put(_ job: UInt, _ qos: TaskQueue.QoS) {
        guard LowBandJobs.holds(qos) else { return submit(job, qos) }
        unsafe low.pointee.append(job, qos)
        unsafe expect(od_pool_submit(pool, qos.band, runLow, UnsafeMutableRawPointer(bitPattern: UInt(qos.rawValue))))
    }

    /// Traps if a job could not be submitted, since the Swift runtime has no error for that.
    static func expect(_ status: od_status) {
        guard status != OD_OK else { return }
        let why = status == OD_NO_MEMORY ? "out of memory" : "no thread can be started"
        trap("GlobalExecutor: a job can never run (\(why)). Raise the limit.")
    }

    private static func submit(_ job: UInt, _ qos: TaskQueue.QoS) {
        unsafe expect(od_pool_submit(pool, qos.band, run, UnsafeMutableRawPointer(bitPattern: job)))
    }

    @inline(__always)
    static func qos(of task: UInt, _ priority: Priority) -> TaskQueue.QoS {
        unsafe TaskQueue.QoS(priority(unsafeBitCast(task, to: UnownedJob.self)).rawValue)
    }

    @inline(__always)
    static func prefetchPriority(of task: UInt) {
        unsafe od_prefetch(UnsafeRawPointer(bitPattern: task &+ placeOfPriority.pointee))
    }

    /// Queues a job after a delay, never earlier. The job belongs to no task; it only wakes one.
    ///
    /// - Parameters:
    ///   - job: The job to run.
    ///   - delay: The time from now.
    package static func enqueue(_ job: consuming ExecutorJob, after delay: Duration) {
        guard delay > .zero else { return enqueue(job, isTask: false) }
        var options = unsafe od_timer_options()
        unsafe options.delay_ns = delay.nanoseconds
        unsafe options.context = unsafeBitCast(UnownedJob(job), to: UnsafeMutableRawPointer.self)
        unsafe options.call = { job, _ in
            guard let job = unsafe job else { return }
            unsafe GlobalJobs.enqueue(ExecutorJob(unsafeBitCast(job, to: UnownedJob.self)), isTask: false)
        }
        guard let timer = unsafe od_timer_create_elsewhere(pool, &options, { _, timer in unsafe od_timer_perform(timer) }) else {
            trap("Task.sleep: cannot create a timer (out of memory or threads). Raise the limit.")
        }
        unsafe od_timer_start(timer)
        unsafe od_timer_release(timer)
    }

    /// The executor reference of no executor: two zero words, as the runtime uses in its own pool.
    private static let nowhere = unsafe unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> Void = { job in
        guard let job = unsafe job else { return }
        unsafe unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: nowhere)
        unsafe low.pointee.lookIfDue(isPrompted: true)
    }

    /// Runs the oldest waiting job of a low band. The pool calls it once per placeholder.
    private static let runLow: @convention(c) (UnsafeMutableRawPointer?) -> Void = { band in
        unsafe low.pointee.lookIfDue(isPrompted: false)
        guard let job = unsafe low.pointee.takeFirst(TaskQueue.QoS(rawValue: Int32(Int(bitPattern: band))) ?? .background) else { return }
        unsafe unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: nowhere)
    }
}
