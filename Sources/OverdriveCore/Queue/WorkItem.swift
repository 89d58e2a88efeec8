// Owns work items: closures with cancellation, waits and notifications. Programs create them and submit them to
// queues. An item retains a queue only during a wait.

internal import Synchronization

/// A closure that can be cancelled, awaited and submitted several times.
///
///     let search = WorkItem { show(index.matches(for: text)) }
///     queue.asyncAfter(.milliseconds(300), execute: search)
///     // The text has changed:
///     search.cancel()
///
/// The item *finishes* when its first run returns, or when it is cancelled before any run starts. `wait()` and
/// ``notify(on:qos:flags:execute:)`` refer to this moment. Later runs do not change it.
///
/// - Repeated submission: each submission runs the body once. Runs may overlap if the queues allow it.
/// - Cancel before a run: that run and all later runs are skipped; groups count them as finished. An item that has
///   never started finishes at once, submitted or not, so no waiter blocks forever.
/// - Cancel during a run: ``isCancelled`` and ``Cancellation/isRequested`` become true, and the body decides when to
///   return. The item finishes with this run.
/// - ``TaskQueue/cancelAll()`` and shutdown: the item is cancelled, whether it waits or runs.
/// - Release before the first start: the item finishes, and its notifications are submitted.
///
/// - Ordering: Writes of a run are visible after `wait()` and in notifications.
/// - Threading: Any thread.
public final class WorkItem: Sendable {
    /// The result of a wait with a timeout.
    public typealias WaitResult = WaitGroup.WaitResult

    /// The quality of service of the item; nil takes that of the queue.
    public let qos: TaskQueue.QoS?

    /// The options of each submission. ``perform()`` ignores them.
    public let flags: TaskQueue.Flags

    private let body: @Sendable () -> Void
    private let work = CancellableWork()

    /// The queue of the last submission, whose closures a waiter raises. The reference is weak: when the program
    /// releases a suspended queue, its `deinit` must run and resume the queue.
    private let queueRuns = Locked(QueueRuns())
    private struct QueueRuns {
        weak var queue: TaskQueue?
        // The cancel epochs of the runs on queues. The first is separate, because further ones are rare.
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

    /// The queue whose work a waiter raises to its own quality of service. The waiter retains the queue during the
    /// wait. Nil if the queue is suspended or inactive: see `queueRuns`.
    private var servedBy: TaskQueue? {
        guard let queue = queueRuns.withLock({ $0.queue }), !queue.isSuspended, queue.isActive else { return nil }
        return queue
    }

    /// Entered once in `init`, and left when the item finishes.
    private let ended = WaitGroup()

    /// The two flag bits, and above them the number of current runs.
    private let state = Atomic<UInt>(0)
    private static let cancelledBit: UInt = 1
    private static let endedBit: UInt = 2
    private static let oneRun: UInt = 4

    /// Creates an item that runs `body`.
    ///
    /// - Parameters:
    ///   - qos: Raises the item above the quality of service of the queue that it is submitted to.
    ///   - flags: The options of each submission.
    ///   - body: Runs once for each submission.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: Two allocations: the item and a group.
    public init(
        qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [], execute body: @escaping @Sendable () -> Void
    ) {
        self.qos = qos
        self.flags = flags
        self.body = body
        ended.enter()
    }

    deinit {
        // No thread can run the item now. A waiter retains the item, but a notification does not.
        if state.load(ordering: .acquiring) & WorkItem.endedBit == 0 { ended.leave() }
    }

    /// Runs the body on the calling thread, unless the item was cancelled.
    ///
    /// - Ordering: Not ordered with runs on queues.
    /// - Threading: Any thread.
    /// - Cost: Two locked instructions beside the body.
    public func perform() {
        run { body() }?.leave()
    }

    /// Runs the body for a queue, whose ``TaskQueue/cancelAll()`` cancels the item.
    ///
    /// - Returns: The group to leave if the item finishes with this run.
    fileprivate func perform(for submission: Submission, in epoch: CancelEpoch) -> WaitGroup? {
        queueRuns.withLock { $0.enter(epoch) }
        defer { queueRuns.withLock { $0.leave(epoch) } }
        return run {
            submission.whileCurrent(body)
            if epoch.hasEnded { cancel() }
        }
    }

    /// Calls `body` unless the item was cancelled. The item is the current work during the call, so that a wait for
    /// the item inside its own body is detected.
    ///
    /// - Returns: The group to leave if the item finishes with this run.
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

    /// Cancels the item: no further run starts, and a current run sees the cancellation.
    ///
    /// Repeated calls, and calls after the end, have no effect.
    ///
    /// - Ordering: A run that starts during the call sees the cancellation, or does not start.
    /// - Threading: Any thread. If the item finishes, the calling thread submits the notifications.
    /// - Cost: Two locked instructions, and a wake of the waiters.
    public func cancel() {
        work.cancel()
        let endsItem = change { state in
            state |= WorkItem.cancelledBit
            if state < WorkItem.oneRun { state |= WorkItem.endedBit }
            return true
        }
        if endsItem == true { ended.leave() }
    }

    /// Waits until the item has finished.
    ///
    /// - Ordering: Writes of the first run are visible.
    /// - Threading: Any thread; a spare replaces a waiting worker. In the item's own body, and in work that the body
    ///   runs on its thread, the call would wait for itself and traps. The call never returns if no code submits,
    ///   performs or cancels the item.
    /// - Cost: One load if the item has finished; otherwise a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await wait()")
    public func wait() {
        checkIsOutside("wait()")
        _ = ended.wait(overridingWeak: { servedBy }, qos, as: "for a work item")
    }

    /// Waits until the item has finished, or until `timeout` has passed.
    ///
    /// - Parameter timeout: The maximum time to wait; zero or less only checks.
    /// - Returns: `.success` if the item has finished. After `.timedOut`, another wait is allowed.
    /// - Ordering: After `.success`, writes of the first run are visible.
    /// - Threading: Any thread; a spare replaces a waiting worker. In the item's own body, the call returns after the
    ///   timeout.
    /// - Cost: As of `wait()`.
    @available(*, noasync, message: "it blocks the thread: write await wait(timeout:)")
    public func wait(timeout: Duration) -> WaitResult {
        ended.wait(overridingWeak: { servedBy }, qos, timeout: timeout, as: "for a work item")
    }

    /// Waits until the item has finished, or until `deadline`.
    ///
    /// - Ordering: After `.success`, writes of the first run are visible.
    /// - Threading: As of `wait(timeout:)`.
    /// - Cost: As of `wait()`.
    @available(*, noasync, message: "it blocks the thread: write await wait(deadline:)")
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: EngineTime.left(until: deadline))
    }

    /// Suspends until the item has ended, but no longer than `timeout`.
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success` if the item has ended. After `.timedOut` the caller may wait again.
    /// - Ordering: After `.success` the writes of the first run are visible.
    /// - Threading: Any task; no thread is held, and no queue's quality of service is raised.
    /// - Cost: As of `WaitGroup.wait(timeout:)`.
    public func wait(timeout: Duration) async -> WaitResult { await ended.wait(timeout: timeout) }

    /// Suspends until the item has ended, but no longer than until `deadline`.
    ///
    /// - Ordering: After `.success` the writes of the first run are visible.
    /// - Threading: Any task; no thread is held, and no queue's quality of service is raised.
    /// - Cost: As of `WaitGroup.wait(timeout:)`.
    public func wait(deadline: ContinuousClock.Instant) async -> WaitResult { await ended.wait(deadline: deadline) }

    /// Suspends the calling task until the item has finished.
    ///
    /// - Ordering: Writes of the first run are visible.
    /// - Threading: Any task; the wait holds no thread. In the item's own body, the call traps.
    /// - Cost: One allocation and one suspension.
    public func wait() async {
        checkIsOutside("wait()")
        await ended.wait()
    }

    /// Submits `body` to `queue` when the item has finished, or at once if it already has.
    ///
    /// - Parameters:
    ///   - queue: The queue that runs `body`.
    ///   - qos: Raises `body` above the queue's quality of service.
    ///   - flags: The options of the submission; see ``WaitGroup/notify(on:qos:flags:execute:)``.
    ///   - body: Runs once, whether the item ran or was cancelled.
    /// - Ordering: Notifications are submitted in the order of the requests.
    /// - Threading: Any thread; the thread that ends the item submits.
    /// - Cost: Two allocations and a submission.
    public func notify(
        on queue: TaskQueue, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        execute body: sending @escaping () -> Void
    ) {
        ended.notify(on: queue, qos: qos, flags: flags, execute: body)
    }

    /// Submits `item` to `queue` when this item has finished, or at once if it already has.
    ///
    /// - Ordering: Notifications are submitted in the order of the requests.
    /// - Threading: Any thread; the thread that ends the item submits.
    /// - Cost: Two allocations and a submission.
    public func notify(on queue: TaskQueue, execute item: WorkItem) {
        ended.notify(on: queue, execute: item)
    }

    // MARK: - State

    /// Changes the state atomically. Returns nil if `next` refuses, or else whether the item has finished with this
    /// change. In that case the caller must leave the group.
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

    /// Ends a run. The caller leaves the returned group later, after a queue's run has released the item.
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

    /// The queue's reference to an item, and the only capture of the submitted closure. If the queue discards the
    /// closure, `deinit` cancels the item.
    final class Submission: CurrentWork {
        // Only the running thread writes these fields. They are read during the run, and by `deinit` after the last
        // release.
        nonisolated(unsafe) private var item: WorkItem?
        nonisolated(unsafe) private var epoch: CancelEpoch?

        /// - Parameter isDue: False for a timer; ``run(on:)`` then gets the queue at the due time.
        init(of item: WorkItem, to queue: TaskQueue, isDue: Bool = true) {
            unsafe self.item = item
            unsafe epoch = isDue ? queue.currentCancelEpoch : nil
            item.queueRuns.withLock { $0.queue = queue }
        }

        /// Runs the item and releases it before the waiters are woken. So after a wait, no worker retains the item's
        /// captures.
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
    /// The item in one line: running, cancelled, ended or not begun.
    public var description: String {
        let state = state.load(ordering: .relaxed)
        var words: [String] = []
        if state >= WorkItem.oneRun { words.append("running") }
        if isCancelled { words.append("cancelled") }
        if state & WorkItem.endedBit != 0 { words.append("ended") }
        return "WorkItem (\(words.isEmpty ? "not begun" : words.joined(separator: ", ")))"
    }
}
