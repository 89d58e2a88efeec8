internal import Synchronization

/// A closure that can be cancelled, waited for and submitted more than once.
///
///     let search = WorkItem { show(index.matches(for: text)) }
///     queue.asyncAfter(.milliseconds(300), execute: search)
///     // The text has changed:
///     search.cancel()
///
/// The item *finishes* when its first run returns, or when it is cancelled before a run began. `wait()` and
/// ``notify(on:qos:flags:execute:)`` refer to this moment. Later runs do not change it.
///
/// - Submitting it several times: each submission runs the body once, at the same time where the queues
///   let them.
/// - Cancelled before a run: that run and all later ones are skipped; groups count it as done. An item that
///   has never begun ends at once, whether it was submitted or not, so nobody waits for ever.
/// - Cancelled while it runs: ``isCancelled`` and ``Cancellation/isRequested`` turn true, and the run decides;
///   the item ends with it.
/// - Taken back by ``TaskQueue/cancelAll()`` or a shutdown, or running where ``TaskQueue/cancelAll()`` is called: as if it
///   had been cancelled.
/// - Let go before it ever began: the item ends, and its notifications are made.
///
/// - Ordering: What a run wrote is visible after `wait()` and in notifications.
/// - Threading: Safe from any thread.
public final class WorkItem: Sendable {
    /// How a wait with a timeout ended.
    public typealias WaitResult = WaitGroup.WaitResult

    /// How much the item matters; nil: as much as the queue it is submitted to.
    public let qos: TaskQueue.QoS?

    /// How it is submitted. ``perform()`` ignores them.
    public let flags: TaskQueue.Flags

    private let body: @Sendable () -> Void
    private let work = CancellableWork()

    /// Where it was submitted last: who waits for the item overrides that one's band. Weak, because a queue that nobody
    /// else holds is over, which a suspended one must learn.
    private let queueRuns = Locked(QueueRuns())
    private struct QueueRuns {
        weak var queue: TaskQueue?
        // Of the runs for queues: the first one's apart, since there is rarely another.
        private var epoch: CancelEpoch?
        private var others: [CancelEpoch] = []

        var isCancelled: Bool { epoch?.hasEnded == true || others.contains { $0.hasEnded } }

        mutating func enter(_ run: CancelEpoch) {
            if epoch == nil { epoch = run } else { others.append(run) }
        }

        mutating func leave(_ run: CancelEpoch) {
            if epoch === run {
                epoch = others.popLast()
            } else if let place = others.firstIndex(where: { $0 === run }) {
                others.remove(at: place)
            }
        }
    }

    /// The queue that a wait overrides, and holds for a while: not what is suspended, which would not learn that it is over.
    private var servedBy: TaskQueue? {
        guard let queue = queueRuns.withLock({ $0.queue }), !queue.isSuspended, queue.isActive else { return nil }
        return queue
    }

    /// Entered once; left when the item ends.
    private let ended = WaitGroup()

    /// The bits below, and above them how many runs are under way.
    private let state = Atomic<UInt>(0)
    private static let cancelledBit: UInt = 1
    private static let endedBit: UInt = 2
    private static let oneRun: UInt = 4

    /// An item that runs `body`.
    ///
    /// - Parameters:
    ///   - qos: Raises it above the quality of service of the queue that it is submitted to.
    ///   - flags: How it is submitted.
    ///   - body: What to run, once for each submission.
    /// - Ordering: None before it is submitted.
    /// - Threading: Any thread.
    /// - Cost: The item and a group.
    public init(
        qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [], execute body: @escaping @Sendable () -> Void
    ) {
        self.qos = qos
        self.flags = flags
        self.body = body
        ended.enter()
    }

    deinit {
        // Nobody is left who could run it. What waits holds the item; notifications do not.
        if state.load(ordering: .acquiring) & WorkItem.endedBit == 0 { ended.leave() }
    }

    /// Runs the body now, on the calling thread, unless the item was cancelled.
    ///
    /// - Ordering: Beside runs for queues, which it does not wait for.
    /// - Threading: Any thread.
    /// - Cost: Two locked instructions beside the body.
    public func perform() {
        run { body() }?.leave()
    }

    /// One run for a queue, whose ``TaskQueue/cancelAll()`` is the item's cancel.
    ///
    /// - Returns: The group to leave if the item ends with this run.
    fileprivate func perform(for submission: Submission, in epoch: CancelEpoch) -> WaitGroup? {
        queueRuns.withLock { $0.enter(epoch) }
        defer { queueRuns.withLock { $0.leave(epoch) } }
        return run {
            submission.whileCurrent(body)
            if epoch.hasEnded { cancel() }
        }
    }

    /// Calls `body` unless the item was cancelled. The item's own work is around the call: a wait for the item itself is looked for
    /// there.
    ///
    /// - Returns: The group to leave if the item ends with this run.
    private func run(_ body: () -> Void) -> WaitGroup? {
        guard begin() else { return nil }
        work.whileCurrent(body)
        return finish()
    }

    /// Whether the item was cancelled.
    public var isCancelled: Bool {
        let state = state.load(ordering: .acquiring)
        if state & WorkItem.cancelledBit != 0 { return true }
        return state >= WorkItem.oneRun && queueRuns.withLock { $0.isCancelled }
    }

    /// Cancels the item: no run begins from now on, and one that is under way is told.
    ///
    /// Cancelling twice, or after it has ended, is allowed.
    ///
    /// - Ordering: A run that starts during the call sees the cancel, or does not start.
    /// - Threading: Any thread; where the item ends with it, notifications are submitted on that.
    /// - Cost: Two locked instructions, and telling who waits.
    public func cancel() {
        work.cancel()
        let endsItem = change { state in
            state |= WorkItem.cancelledBit
            if state < WorkItem.oneRun { state |= WorkItem.endedBit }
            return true
        }
        if endsItem == true { ended.leave() }
    }

    /// Waits until the item has ended.
    ///
    /// - Ordering: What the first run wrote is visible.
    /// - Threading: Any thread; on a worker, another one takes its place. From the item's own body, and from what that
    ///   calls or starts on its thread, it would wait for itself: it traps. An item that nobody submits, performs or cancels ends never.
    /// - Cost: A load where it has ended; else a sleep in the kernel.
    public func wait() {
        checkIsOutside("wait()")
        _ = ended.wait(overridingWeak: { servedBy }, qos)
    }

    /// Waits until the item has ended, but no longer than `timeout`.
    ///
    /// - Parameter timeout: How long to wait; zero or less only looks.
    /// - Returns: `.success` when it has ended. After `.timedOut` one may wait again.
    /// - Ordering: After `.success` what the first run wrote is visible.
    /// - Threading: Any thread; on a worker another one takes its place. In the item's own body it waits for the
    ///   timeout.
    /// - Cost: As of `wait()`.
    public func wait(timeout: Duration) -> WaitResult {
        ended.wait(overridingWeak: { servedBy }, qos, timeout: timeout)
    }

    /// Waits until the item has ended, but no longer than until `deadline`.
    ///
    /// - Ordering: After `.success` what the first run wrote is visible.
    /// - Threading: As of ``wait(timeout:)``.
    /// - Cost: As of `wait()`.
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: ContinuousClock.now.duration(to: deadline))
    }

    /// Suspends until the item has ended.
    ///
    /// - Ordering: What the first run wrote is visible.
    /// - Threading: Any task; no thread is held. In the item's own body it traps.
    /// - Cost: One allocation and a suspension.
    public func wait() async {
        checkIsOutside("wait()")
        await ended.wait()
    }

    /// Submits `body` to `queue` when the item has ended: at once if it has.
    ///
    /// - Parameters:
    ///   - queue: Where `body` runs.
    ///   - qos: Raises `body` above the queue's own quality of service.
    ///   - flags: How `body` is submitted; see ``WaitGroup/notify(on:qos:flags:execute:)``.
    ///   - body: What to run then, once, whether the item ran or was cancelled.
    /// - Ordering: Notifications are submitted in the order in which they were asked for.
    /// - Threading: Any thread; who ends the item submits.
    /// - Cost: Two allocations and a submission.
    public func notify(
        on queue: TaskQueue, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        execute body: sending @escaping () -> Void
    ) {
        ended.notify(on: queue, qos: qos, flags: flags, execute: body)
    }

    /// Submits `item` to `queue` when this one has ended: at once if it has.
    ///
    /// - Ordering: Notifications are submitted in the order in which they were asked for.
    /// - Threading: Any thread; who ends the item submits.
    /// - Cost: Two allocations and a submission.
    public func notify(on queue: TaskQueue, execute item: WorkItem) {
        ended.notify(on: queue, execute: item)
    }

    // MARK: - State

    /// Changes the state in one step. Nil: `next` refused. Else whether the change has ended the item; the caller leaves the group then.
    private func change(_ next: (inout UInt) -> Bool) -> Bool? {
        var old = state.load(ordering: .relaxed)
        while true {
            var new = old
            guard next(&new) else { return nil }
            let (done, now) = state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
            if done { return (new & ~old) & WorkItem.endedBit != 0 }
            old = now
        }
    }

    private func begin() -> Bool {
        change { state in
            guard state & WorkItem.cancelledBit == 0 else { return false }
            state += WorkItem.oneRun
            return true
        } != nil
    }

    /// Ends a run. The group is left by the caller: a queue's run releases the item before.
    private func finish() -> WaitGroup? {
        let endsItem = change { state in
            state = (state - WorkItem.oneRun) | WorkItem.endedBit
            return true
        }
        return endsItem == true ? ended : nil
    }

    private func checkIsOutside(_ call: StaticString) {
        if CurrentWorkPlace.isWithin(work) {
            trap("WorkItem.\(call): the item's body would wait for itself. Wait elsewhere.")
        }
    }

    /// What a queue holds of an item, and nobody else: one that is discarded instead of run takes its item
    /// with it.
    final class Submission: CurrentWork {
        // Written by the one thread that runs it, read by who runs inside of that or after, when the last reference is gone.
        /// Nil after the run.
        nonisolated(unsafe) private var item: WorkItem?
        nonisolated(unsafe) private var epoch: CancelEpoch?

        /// - Parameter isDue: Whether it is submitted now; else ``run(on:)`` is told the queue.
        init(of item: WorkItem, to queue: TaskQueue, isDue: Bool = true) {
            unsafe self.item = item
            unsafe epoch = isDue ? queue.currentCancelEpoch : nil
            item.queueRuns.withLock { $0.queue = queue }
        }

        /// Releases the item before waiters hear of the end: they find no worker that still holds the item and its captures.
        func run() {
            perform()?.leave()
        }

        private func perform() -> WaitGroup? {
            guard let item = unsafe item else { return nil }
            defer { unsafe self.item = nil }
            guard let epoch = unsafe epoch else { return item.run { item.body() } }
            return item.perform(for: self, in: epoch)
        }

        func run(on queue: TaskQueue?) {
            unsafe epoch = queue?.currentCancelEpoch
            run()
        }

        var isRequested: Bool { unsafe item?.work.isRequested == true || epoch?.hasEnded == true }

        deinit {
            unsafe item?.cancel()
        }
    }
}

extension WorkItem: CustomStringConvertible {
    /// The item in one line: how it stands.
    public var description: String {
        let state = state.load(ordering: .relaxed)
        var words: [String] = []
        if state >= WorkItem.oneRun { words.append("running") }
        if isCancelled { words.append("cancelled") }
        if state & WorkItem.endedBit != 0 { words.append("ended") }
        return "WorkItem (\(words.isEmpty ? "not begun" : words.joined(separator: ", ")))"
    }
}
