internal import CScheduler

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The jobs of Swift Concurrency in a process whose executor ``Scheduler/shared`` is: those of tasks without a
/// preference, of actors without an executor of their own, and of sleeps that are over.
///
/// They run as the runtime's own pool would run them, in no executor's isolation, so that the runtime goes on
/// switching between actors on the spot where it can.
package enum GlobalJobs {
    // The pool of a scheduler that stays for the process's life, and is never shut down.
    private nonisolated(unsafe) static let pool = unsafe Scheduler.shared.handle

    /// What a task's priority is by now.
    typealias Priority = @Sendable (UnownedJob) -> JobPriority

    // Behind pointers, because what is read for every job is not to be looked after by the runtime's checks of access.
    // Set once, before the first job.
    private nonisolated(unsafe) static let priority = unsafe place({ $0.priority } as Priority)
    private nonisolated(unsafe) static let placeOfPriority = unsafe place(UInt(0))
    /// Where tasks of the low bands wait. Another one in a forked child, before anything else runs there.
    private nonisolated(unsafe) static let low = unsafe place(LowBandJobs(workers: Int(od_pool_workers(pool))))

    private static func place<Value>(_ value: Value) -> UnsafeMutablePointer<Value> {
        let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe place.initialize(to: value)
        return unsafe place
    }

    static var priorityNow: Priority { unsafe priority.pointee }

    /// Starts the process's scheduler if nothing has done so; its threads come with the first job.
    ///
    /// - Parameters:
    ///   - priority: Answers for a task that waits, whoever has begun to await it.
    ///   - place: How many bytes into a task the runtime keeps that: a hint, so that it can be near when it is asked for.
    package static func prepare(
        priority: @escaping @Sendable (UnownedJob) -> JobPriority, at place: UInt
    ) {
        _ = unsafe (pool, low)
        unsafe self.priority.pointee = priority
        unsafe placeOfPriority.pointee = place
        // What waited is the parent's, and another thread may have been changing it: it is left as it is, not taken apart.
        pthread_atfork(nil, nil, { unsafe GlobalJobs.low.initialize(to: LowBandJobs(like: GlobalJobs.low.pointee)) })
    }

    /// Queues a job behind those of its priority that one thread queued before.
    ///
    /// - Parameters:
    ///   - job: What to run.
    ///   - isTask: Whether it is a task's own, whose priority may rise while it waits.
    package static func enqueue(_ job: consuming ExecutorJob, isTask: Bool) {
        let qos = TaskQueue.QoS(job.priority.rawValue)
        let job = unsafe unsafeBitCast(UnownedJob(job), to: UInt.self)
        guard isTask, LowBandJobs.holds(qos) else { return submit(job, qos) }
        put(job, self.qos(of: job, priorityNow))
    }

    /// Has a task wait in the band of its priority of now: in a line, if the band has one, so that it can be raised again.
    static func put(_ job: UInt, _ qos: TaskQueue.QoS) {
        guard LowBandJobs.holds(qos) else { return submit(job, qos) }
        unsafe low.pointee.append(job, qos)
        unsafe expect(od_pool_submit(pool, qos.band, runLow, UnsafeMutableRawPointer(bitPattern: UInt(qos.rawValue))))
    }

    /// The runtime knows no error.
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

    /// Queues a job when its time has come, and never before: one that wakes a task, but is none.
    ///
    /// - Parameters:
    ///   - job: What to run.
    ///   - delay: How long from now.
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

    /// The isolation of no executor: two words of nothing, as the runtime has it for its own pool.
    private static let nowhere = unsafe unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> Void = { job in
        guard let job = unsafe job else { return }
        unsafe unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: nowhere)
        unsafe low.pointee.lookIfDue(isPrompted: true)
    }

    /// A placeholder of a low band.
    private static let runLow: @convention(c) (UnsafeMutableRawPointer?) -> Void = { band in
        unsafe low.pointee.lookIfDue(isPrompted: false)
        guard let job = unsafe low.pointee.takeFirst(TaskQueue.QoS(rawValue: Int32(Int(bitPattern: band))) ?? .background) else { return }
        unsafe unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: nowhere)
    }
}
