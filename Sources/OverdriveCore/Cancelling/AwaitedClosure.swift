internal import CScheduler
internal import Synchronization

/// A closure of a queue that a task awaits: where the task goes for it, an executor for one job, which the queue runs in the
/// closure's turn. A task that is cancelled before that goes on elsewhere at once, and does not call.
@safe actor AwaitedClosure: SerialExecutor, CurrentWork {
    private enum Stage {
        static let new: UInt8 = 0, waiting: UInt8 = 1, running: UInt8 = 2
        /// It will not run.
        static let cancelled: UInt8 = 3, refused: UInt8 = 4
    }

    private nonisolated let stage = Atomic(Stage.new)
    // Kept by the frame of the task that awaits it, and not by the closure: what is cancelled may stand in the queue's line for
    // longer, and keep a suspended queue that everybody has let go.
    private nonisolated let queue: Unmanaged<TaskQueue>
    // Whose end is told to the closure, too.
    private nonisolated let epoch: CancelEpoch?
    private nonisolated let ticket: ProgressTicket?
    // As the runtime's job, which it is. Written before it waits, and taken up by whoever takes it out of that; asked while the
    // closure runs, before whose end the task does not go on: so nobody counts it.
    private nonisolated(unsafe) var task: UnownedJob?

    init(on queue: TaskQueue) {
        unsafe self.queue = .passUnretained(queue)
        epoch = queue.currentCancelEpoch
        ticket = queue.tracker.map { ProgressTicket($0) }
    }

    nonisolated var isRequested: Bool {
        if let task = unsafe task, unsafe unsafeBitCast(task, to: TaskHandle.self).isCancelled { return true }
        return epoch?.hasEnded == true
    }

    private nonisolated func advance(from present: UInt8, to next: UInt8) -> Bool {
        stage.compareExchange(expected: present, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    // MARK: - The task calls

    /// Whether the closure begins on the spot. Not inlined: in an asynchronous function the compiler's optimizer ends where it
    /// meets the question whether there is an isolation.
    ///
    /// - Parameter isolation: The task's, which would be held, while the closure runs, from whoever else it is for.
    @inline(never)
    nonisolated func beginsWithin(_ isolation: (any Actor)?) throws(CancellationError) -> Bool {
        guard isolation == nil, case .engine(let engine, _) = unsafe queue.takeUnretainedValue().route else { return false }
        var task: UnsafeMutableRawPointer?
        let outcome = unsafe od_queue_begin_within(engine, &task)
        if outcome == OD_CANCELLED_WITHIN { throw CancellationError() }
        guard outcome == OD_BEGUN_WITHIN, let task = unsafe task else { return false }
        unsafe self.task = unsafeBitCast(task, to: UnownedJob.self)
        return true
    }

    /// Calls `body` where it has begun on the spot.
    nonisolated func callWithin<R>(_ body: () throws -> R) throws -> sending R {
        defer { od_queue_end_within() }
        return try perform(body)
    }

    /// Calls `body` in its turn, where the queue lets it.
    func call<R>(_ body: () throws -> R) throws -> sending R {
        switch stage.load(ordering: .acquiring) {
        case Stage.running: break
        case Stage.refused:
            let queue = unsafe queue.takeUnretainedValue()
            throw TaskQueue.PendingLimitReached(label: queue.label, limit: queue.pendingLimit ?? 0)
        default: throw CancellationError()
        }
        defer { Handoff.sends(by: self) }
        return try perform(body)
    }

    private nonisolated func perform<R>(_ body: () throws -> R) throws -> sending R {
        do {
            nonisolated(unsafe) let result = try whileCurrent(body)
            ticket?.end(.success)
            return unsafe result
        } catch {
            ticket?.end(.failure)
            throw error
        }
    }

    // MARK: - The task comes, and waits

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        unsafe task = UnownedJob(job)
        // From here on the task may go on and be over before this returns, and nobody else keep these two.
        let (closure, queue) = unsafe (Unmanaged.passRetained(self), queue.retain())
        if advance(from: Stage.new, to: Stage.waiting) { unsafe submit(to: queue.takeUnretainedValue()) } else { goOn() }
        unsafe queue.release()
        unsafe closure.release()
    }

    private nonisolated func submit(to queue: TaskQueue) {
        guard case .engine(let engine, _) = queue.route else {
            if case .dispatch(let route) = queue.route { route.async(group: nil) { self.run() } }
            return
        }
        let word = unsafe Unmanaged.passRetained(self).toOpaque() + Self.mark
        if unsafe od_queue_overflow(engine) != OD_OVERFLOW_REFUSED {
            unsafe od_queue_async_executor_job(engine, Int32(OD_QUEUE_BAND), word)
        } else if unsafe !od_queue_try_async_executor_job(engine, Int32(OD_QUEUE_BAND), word) {
            refuse()
            unsafe Unmanaged.passUnretained(self).release()
        }
    }

    /// Its turn has come.
    nonisolated func run() {
        guard advance(from: Stage.waiting, to: Stage.running) else { return }
        unsafe task?.runSynchronously(on: asUnownedSerialExecutor())
    }

    /// It is not to run, unless it has started.
    nonisolated func cancel() {
        if !advance(from: Stage.new, to: Stage.cancelled), advance(from: Stage.waiting, to: Stage.cancelled) { goOn() }
    }

    private nonisolated func refuse() {
        if advance(from: Stage.waiting, to: Stage.refused) { goOn() }
    }

    /// Where no worker of the queue's is needed, all of which may be busy.
    private nonisolated func goOn() {
        if let task = unsafe task { globalConcurrentExecutor.enqueue(task) }
    }

    // MARK: - What the engine has instead of a job

    // No address of the runtime's jobs is odd.
    private static let mark = 1

    /// The closure that the engine was given, once; nil for a job.
    static func take(from job: UnsafeMutableRawPointer) -> AwaitedClosure? {
        guard UInt(bitPattern: job) & UInt(mark) != 0 else { return nil }
        return unsafe Unmanaged.fromOpaque(job - mark).takeRetainedValue()
    }
}
