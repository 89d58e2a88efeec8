// Owns queues with a pending limit, and the policies of a full queue. Programs create them. A running closure never
// counts against the limit.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// The policy for submissions to a full queue, which has as many waiting closures as its pending limit.
    public enum BackPressure: Sendable, Hashable {
        /// The submitter waits for room. Waiting submitters continue in the order of their calls.
        ///
        /// A spare replaces a waiting worker. A closure of the queue never waits: its submission exceeds the limit.
        /// A submission that would wait forever, in a chain or circle of queues, also exceeds the limit, with a warning.
        case wait
        /// The submitter runs the closure before `async` returns, in the queue's order, as
        /// ``TaskQueue/sync(execute:)`` would. A concurrent queue runs the closure at once; a serial or limited queue
        /// runs it after the closures before it.
        ///
        /// Inside a running closure of the queue, submissions run at once, nested in that closure. They may see
        /// half-changed data, and must not take a lock that the outer closure holds. Barriers, and submissions nested
        /// more than 32 deep, exceed the limit instead.
        case callerRuns
        /// The closure is discarded without running. ``TaskQueue/tryAsync(group:qos:flags:execute:)`` and `run(_:)`
        /// throw ``TaskQueue/PendingLimitReached``. ``TaskQueue/rejectedTaskCount`` counts the closures that `async`
        /// has discarded. Groups do not count them; a rejected item or task is cancelled.
        case reject
    }

    /// The error of a submission to a full queue.
    public struct PendingLimitReached: Error, Sendable, Hashable, CustomStringConvertible {
        /// The queue's label.
        public let label: String
        /// The queue's pending limit, in closures.
        public let limit: Int

        public var description: String { "the queue \"\(label)\" is full (\(limit) closures are pending)" }
    }

    /// Creates a queue with a limit on waiting closures, which bounds their memory.
    ///
    ///     let queue = TaskQueue(pendingLimit: 10_000, policy: .wait)
    ///     for line in hugeFile { queue.async { index(line) } }
    ///
    /// - Parameters:
    ///   - pendingLimit: The maximum number of closures that wait to start; 1 or more. Running closures do not count,
    ///     so ``pendingTaskCount`` may be higher. Callers of ``sync(flags:execute:)`` that wait for their turn count.
    ///     A queue with this target counts once for each closure that it may run at a time. Always accepted are
    ///     timers and tasks that waited for dependencies, conditions or a retry. Closures of `run(_:)` are accepted
    ///     unless the policy is `.reject`.
    ///   - policy: The treatment of submissions to the full queue.
    ///   - label: The name in reports and messages; the engine keeps at most 47 bytes, in whole characters.
    ///   - qos: The quality of service of the closures.
    ///   - maxConcurrentTaskCount: The maximum number of concurrent closures: 1 (a serial queue) or more, or
    ///     ``unlimited``.
    ///   - initiallyInactive: True if no closure starts before ``activate()``. Submitters beyond the limit wait for
    ///     the activation, too.
    ///   - scheduler: The scheduler whose workers run the closures.
    /// - Ordering: The same as for other queues; waiting submitters continue in the order of their calls.
    /// - Threading: Any thread.
    /// - Cost: Each submission and each start takes the queue's lock, also on a concurrent queue. A waiting closure
    ///   takes 16 bytes beside its captures. At most `pendingLimit` closures wait, and one for each waiting
    ///   submitter.
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

    /// The maximum number of closures that wait to start; nil without a limit.
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

    /// The number of closures that ``async(group:qos:flags:execute:)`` and similar calls have discarded on the full
    /// queue.
    public var rejectedTaskCount: Int {
        guard case .engine(let queue, _) = route else { return 0 }
        return unsafe Int(clamping: od_queue_refused(queue))
    }

    /// Submits a closure, or throws if the queue is full.
    ///
    ///     do { try queue.tryAsync { handle(request) } } catch { request.answer(.tooManyRequests) }
    ///
    /// - Parameters:
    ///   - group: Counts the closure until it has run or was cancelled.
    ///   - qos: The same as ``async(group:qos:flags:execute:)``.
    ///   - flags: The same as ``async(group:qos:flags:execute:)``.
    ///   - body: Runs once on a worker; released without running if the call throws.
    /// - Throws: ``PendingLimitReached`` if the queue is full, with any ``BackPressure`` policy. A queue without a
    ///   pending limit never throws.
    /// - Ordering: The same as ``async(group:qos:flags:execute:)``.
    /// - Threading: Any thread. The call never waits, and never runs the closure itself.
    /// - Cost: The queue's lock, and no allocation beside the closure's captures.
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
