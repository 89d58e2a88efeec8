internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// The policy for submissions to a full queue: a queue with as many waiting closures as its pending limit.
    public enum BackPressure: Sendable, Hashable {
        /// The submitter waits for room. Submitters continue in the order in which they came.
        ///
        /// A spare replaces a waiting worker. A closure of the queue does not wait: its submission enters the queue
        /// beyond the limit. A submission from a chain or circle of queues does so too, with a warning, if its wait
        /// would never end.
        case wait
        /// The submitter runs the closure before `async` returns, in the queue's order, as
        /// ``TaskQueue/sync(execute:)`` would. A concurrent queue runs it at once; a serial or limited one runs it at
        /// its turn.
        ///
        /// A running closure of the queue runs its submissions at once, nested in itself. These closures may see
        /// half-changed data, and must not take a lock that the outer one holds. Barriers, and submissions nested
        /// more than 32 deep, enter the queue beyond the limit.
        case callerRuns
        /// The closure is discarded without running: ``TaskQueue/tryAsync(group:qos:flags:execute:)`` and
        /// `run(_:)` throw ``TaskQueue/PendingLimitReached``, and what `async` had to discard is counted in
        /// ``TaskQueue/rejectedTaskCount``. Groups do not count it; an item or a task is cancelled.
        case reject
    }

    /// As many closures as the queue's limit allows wait already.
    public struct PendingLimitReached: Error, Sendable, Hashable, CustomStringConvertible {
        /// The queue's label.
        public let label: String
        /// The queue's limit.
        public let limit: Int

        public var description: String { "the queue \"\(label)\" is full (\(limit) closures are pending)" }
    }

    /// A queue that holds its producers back, so that what waits never takes more than so much memory.
    ///
    ///     let queue = TaskQueue(pendingLimit: 10_000, policy: .wait)
    ///     for line in hugeFile { queue.async { index(line) } }
    ///
    /// - Parameters:
    ///   - pendingLimit: The most closures that may wait to start; 1 or more. Running closures do not count, so
    ///     ``pendingTaskCount`` may be higher. Callers of ``sync(flags:execute:)`` that wait for their turn count. A
    ///     queue with this target counts once for each closure that it may run at a time. Timers, closures of
    ///     `run(_:)` unless the policy is `.reject`, and tasks that waited for dependencies, conditions or a retry
    ///     are always accepted.
    ///   - policy: What happens to who submits beyond it.
    ///   - label: For reports and messages; the engine keeps 47 bytes of it, in whole characters.
    ///   - qos: How much its closures matter.
    ///   - maxConcurrentTaskCount: How many run at a time: 1 (a serial queue) or more, or ``unlimited``.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``. Submitters beyond the limit wait for
    ///     that, too.
    ///   - scheduler: Whose workers run them.
    /// - Ordering: As of every queue: what waits for room comes in the order in which it came.
    /// - Threading: Any thread.
    /// - Cost: Each submission and each start takes the queue's lock, also on a concurrent queue. A waiting closure
    ///   takes 16 bytes beside its captures. At most `pendingLimit` closures wait, and one for each waiting producer.
    public convenience init(
        pendingLimit: Int, policy: BackPressure = .wait, label: String = "", qos: QoS = .default,
        maxConcurrentTaskCount: Int = TaskQueue.unlimited, initiallyInactive: Bool = false,
        scheduler: Scheduler = .shared
    ) {
        guard pendingLimit >= 1 else {
            trap("TaskQueue(pendingLimit:): out of range (\(pendingLimit)). Choose 1 or more.")
        }
        unsafe self.init(
            label: label, qos: qos, limit: maxConcurrentTaskCount, isInactive: initiallyInactive,
            pendingLimit: UInt32(clamping: pendingLimit), overflow: policy.overflow, scheduler: scheduler)
    }

    /// How many closures may wait to begin; nil where any number may.
    public var pendingLimit: Int? {
        guard case .engine(let queue, _) = route else { return nil }
        let limit = unsafe od_queue_pending_limit(queue)
        return limit == 0 ? nil : Int(limit)
    }

    /// The policy for submissions to the full queue; nil without a pending limit.
    public var backPressure: BackPressure? {
        guard case .engine(let queue, _) = route, unsafe od_queue_pending_limit(queue) > 0 else { return nil }
        switch unsafe od_queue_overflow(queue) {
        case OD_OVERFLOW_RUNS: return .callerRuns
        case OD_OVERFLOW_REFUSED: return .reject
        default: return .wait
        }
    }

    /// How many closures ``async(group:qos:flags:execute:)`` and its like have discarded because the queue was full.
    public var rejectedTaskCount: Int {
        guard case .engine(let queue, _) = route else { return 0 }
        return unsafe Int(clamping: od_queue_refused(queue))
    }

    /// Submits a closure, unless the queue is full.
    ///
    ///     do { try queue.tryAsync { handle(request) } } catch { request.answer(.tooManyRequests) }
    ///
    /// - Parameters:
    ///   - group: Counts the closure until it is done or cancelled.
    ///   - qos: As of ``async(group:qos:flags:execute:)``.
    ///   - flags: As of ``async(group:qos:flags:execute:)``.
    ///   - body: Runs once on a worker; is released without running when this throws.
    /// - Throws: ``PendingLimitReached`` when as many closures wait as may, whatever the queue's ``BackPressure``. A
    ///   queue without a pending limit takes everything.
    /// - Ordering: As of ``async(group:qos:flags:execute:)``.
    /// - Threading: Any thread. It never waits, and never runs the closure before it returns.
    /// - Cost: The queue's lock, and no allocation beside the closure's own captures.
    public func tryAsync(
        group: WaitGroup? = nil, qos: QoS? = nil, flags: Flags = [], execute body: sending @escaping () -> Void
    ) throws(PendingLimitReached) {
        guard case .engine(let queue, _) = route, let limit = pendingLimit else {
            return async(group: group, qos: qos, flags: flags, execute: body)
        }
        let (band, flags) = engineTerms(qos: qos, flags: flags)
        let taken =
            if let tracked = tracker {
                unsafe trySubmitClosure(tracked.counting(body), queue, group?.handle, band, flags)
            } else {
                unsafe trySubmitClosure(body, queue, group?.handle, band, flags)
            }
        if taken == 0 { throw PendingLimitReached(label: label, limit: limit) }
    }
}

extension TaskQueue.BackPressure {
    var overflow: od_overflow {
        switch self {
        case .wait: OD_OVERFLOW_WAITS
        case .callerRuns: OD_OVERFLOW_RUNS
        case .reject: OD_OVERFLOW_REFUSED
        }
    }
}
