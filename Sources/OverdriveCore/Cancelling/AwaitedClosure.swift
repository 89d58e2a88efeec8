// Owns one awaited closure of `TaskQueue.run`. `run` creates it, and the engine runs or discards it. It never runs
// the closure after a cancellation.

internal import CScheduler
internal import Synchronization

/// A closure of a queue that a task awaits. The object is a serial executor for one job of the task, which the queue
/// runs in the closure's turn. If the task is cancelled before, it continues elsewhere at once, without the call.
@safe actor AwaitedClosure: SerialExecutor, CurrentWork {
    private enum Stage {
        static let new: UInt8 = 0, waiting: UInt8 = 1, running: UInt8 = 2
        /// The closure will not run.
        static let cancelled: UInt8 = 3, refused: UInt8 = 4
    }

    private nonisolated let stage = Atomic(Stage.new)
    // Retained by the frame of the awaiting task, not by this object. A cancelled closure may stay longer in the wait
    // queue, and would keep a suspended queue alive that the program has released.
    private nonisolated let queue: Unmanaged<TaskQueue>
    // Its end cancels the closure, too.
    private nonisolated let epoch: CancelEpoch?
    private nonisolated let band: Int32
    private nonisolated let ticket: ProgressTicket?
    // The task as a job of the runtime. Written before the wait, and read by the thread that ends the wait. Not
    // retained: the task cannot finish before the closure does.
    private nonisolated(unsafe) var task: UnownedJob?

    init(on queue: TaskQueue, _ qos: TaskQueue.QoS? = nil) {
        unsafe self.queue = .passUnretained(queue)
        epoch = queue.currentCancelEpoch
        band = qos?.rawValue ?? Int32(OD_QUEUE_BAND)
        ticket = queue.tracker.map { ProgressTicket($0) }
    }

    nonisolated var isRequested: Bool {
        if let task = unsafe task, unsafe unsafeBitCast(task, to: TaskHandle.self).isCancelled { return true }
        return epoch?.hasEnded == true
    }

    private nonisolated func advance(from present: UInt8, to next: UInt8) -> Bool {
        stage.compareExchange(expected: present, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    // MARK: - Calls of the task

    /// Returns whether the closure starts immediately on the calling worker. Not inlined, because the optimiser stops
    /// at an isolation check in an asynchronous function.
    ///
    /// - Parameter isolation: The task's actor, if any. The closure then does not start here, because it would block
    ///   the actor.
    @inline(never)
    nonisolated func beginsWithin(_ isolation: (any Actor)?) throws(CancellationError) -> Bool {
        guard isolation == nil, band == Int32(OD_QUEUE_BAND), case .engine(let engine, _) = unsafe queue.takeUnretainedValue().route else { return false }
        var task: UnsafeMutableRawPointer?
        let outcome = unsafe od_queue_begin_within(engine, &task)
        if outcome == OD_CANCELLED_WITHIN { throw CancellationError() }
        guard outcome == OD_BEGUN_WITHIN, let task = unsafe task else { return false }
        unsafe self.task = unsafeBitCast(task, to: UnownedJob.self)
        return true
    }

    /// Calls `body` after ``beginsWithin(_:)`` has returned true.
    nonisolated func callWithin<R>(_ body: () throws -> R) throws -> sending R {
        defer { od_queue_end_within() }
        return try perform(body)
    }

    /// Calls `body` in its turn, or throws if the closure was cancelled or refused.
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

    // MARK: - Switch of the task to the queue

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        unsafe task = UnownedJob(job)
        // From here on the task may finish at any time, and release this object and the queue; so retain both.
        let (closure, queue) = unsafe (Unmanaged.passRetained(self), queue.retain())
        if advance(from: Stage.new, to: Stage.waiting) { unsafe submit(to: queue.takeUnretainedValue()) } else { goOn() }
        unsafe queue.release()
        unsafe closure.release()
    }

    private nonisolated func submit(to queue: TaskQueue) {
        guard case .engine(let engine, _) = queue.route else {
            if case .dispatch(let route) = queue.route {
                route.async(group: nil, qos: TaskQueue.QoS(rawValue: band)) { self.run() }
            }
            return
        }
        let word = unsafe Unmanaged.passRetained(self).toOpaque() + Self.mark
        if unsafe od_queue_overflow(engine) != OD_OVERFLOW_REFUSED {
            unsafe od_queue_async_executor_job(engine, band, word)
        } else if unsafe !od_queue_try_async_executor_job(engine, band, word) {
            refuse()
            unsafe Unmanaged.passUnretained(self).release()
        }
    }

    /// Runs the task's job in the closure's turn. The queue calls it once.
    nonisolated func run() {
        guard advance(from: Stage.waiting, to: Stage.running) else { return }
        unsafe task?.runSynchronously(on: asUnownedSerialExecutor())
    }

    /// Cancels the closure, unless it has started.
    nonisolated func cancel() {
        if !advance(from: Stage.new, to: Stage.cancelled), advance(from: Stage.waiting, to: Stage.cancelled) { goOn() }
    }

    private nonisolated func refuse() {
        if advance(from: Stage.waiting, to: Stage.refused) { goOn() }
    }

    /// Lets the task continue on the global executor, because all workers of the queue may be busy.
    private nonisolated func goOn() {
        if let task = unsafe task { globalConcurrentExecutor.enqueue(task) }
    }

    // MARK: - Marked pointer in place of a job

    // Jobs of the runtime have even addresses, so an odd address marks an awaited closure.
    private static let mark = 1

    /// Returns the awaited closure of a marked pointer, or nil for a job. Call once, because it takes over the
    /// reference.
    static func take(from job: UnsafeMutableRawPointer) -> AwaitedClosure? {
        guard UInt(bitPattern: job) & UInt(mark) != 0 else { return nil }
        return unsafe Unmanaged.fromOpaque(job - mark).takeRetainedValue()
    }
}
