// Owns the progress of a queue: counters of submitted and finished work. Programs start it, and submissions report to
// it. A queue without tracking pays only some loads per submission.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// The progress of a queue's work at one moment.
    public struct Progress: Sendable, Hashable, CustomStringConvertible {
        /// The number of closures and tasks: the announced number, or the submitted number if that is greater.
        public let total: Int
        /// The number that have ended: finished, failed or cancelled.
        public let done: Int
        /// The ended tasks that failed and the closures of `run(_:)` that threw an error.
        public let failed: Int
        /// The ended closures that never ran, and the tasks that ended with a `CancellationError`. A closure of
        /// `run(_:)` that was cancelled before it started counts as finished.
        public let cancelled: Int
        /// The closures and tasks that end per second, over the last seconds; nil while unknown.
        public let rate: Double?
        /// The time for the rest at this rate; nil if the rate is 0 or unknown.
        public let timeLeft: Duration?

        /// The fraction that has ended, 0 to 1; 1 without any work.
        public var fraction: Double { total > 0 ? Double(done) / Double(total) : 1 }

        /// Whether all of the work has ended.
        public var isFinished: Bool { done >= total }

        /// A text such as `1,200 of 5,000, 3 failed`.
        public var description: String {
            "\(done.grouped) of \(total.grouped)"
                + (failed > 0 ? ", \(failed.grouped) failed" : "")
                + (cancelled > 0 ? ", \(cancelled.grouped) cancelled" : "")
        }
    }

    /// Starts to count submissions, so that ``progress`` can report them.
    ///
    ///     queue.trackProgress(total: files.count)
    ///     for file in files { queue.async { convert(file) } }
    ///     for await progress in queue.progressUpdates() { label.text = "\(progress)" }
    ///
    /// The count includes closures and work items that are submitted to run as soon as possible: singly, in batches,
    /// or by `run(_:)`. It includes tasks until their outcome, also while they wait for dependencies; further
    /// attempts do not count again. `sync` and the submissions of timers do not count.
    ///
    /// - Parameter total: The number of closures, if it is known in advance. If fewer come, call
    ///   ``endProgress()``. A second call of this function ends the previous tracking and starts from zero.
    /// - Ordering: Earlier submissions are not counted.
    /// - Threading: Any thread. Traps on ``main`` and other dispatch queues.
    /// - Cost: From then on, each submission takes one more allocation and two locked instructions. Each task takes
    ///   two more allocations and a few locks.
    public func trackProgress(total: Int = 0) {
        guard let specifics = specifics(make: true), case .engine = route else {
            trap(
                "TaskQueue.trackProgress(total:): the queue runs on a dispatch queue (\"\(label)\"). "
                    + "Track another TaskQueue.")
        }
        specifics.track(ProgressTracker(total: total))
    }

    /// Declares that no more closures come.
    ///
    /// The progress then finishes with the closures submitted since ``trackProgress(total:)``, even if more were
    /// announced.
    ///
    ///     queue.cancelAll()
    ///     queue.endProgress()     // the progress is finished
    ///
    /// The release of the queue has the same effect. Without tracking, the call does nothing.
    ///
    /// - Ordering: Later submissions are not counted.
    /// - Threading: Any thread.
    /// - Cost: Two locks.
    public func endProgress() {
        guard let specifics = specifics(make: false), case .engine = route else { return }
        specifics.endTracking()
    }

    /// The progress of the closures submitted since ``trackProgress(total:)``; nil before that call.
    ///
    /// - Cost: Two locks. Each read adds a sample for the rate, so read a few times per second.
    public var progress: Progress? {
        specifics(make: false)?.lastTracker?.look()
    }

    /// Returns a sequence of progress values, which ends when all of the work has ended.
    ///
    /// - Parameter interval: The time between two values.
    /// - Returns: A sequence whose last element is finished. It is empty without tracking, and ends early if its task
    ///   is cancelled. If fewer closures come than announced, it continues until ``endProgress()``.
    /// - Ordering: Values come one after another, and their counts never decrease.
    /// - Threading: One task may read the sequence.
    /// - Cost: One sleep for each value, which holds no thread.
    public func progressUpdates(every interval: Duration = .milliseconds(100)) -> AsyncStream<Progress> {
        let looks = ProgressLooks(at: specifics(make: false)?.lastTracker, every: interval)
        return AsyncStream { await looks.next() }
    }

    /// The tracker for new submissions, or nil.
    @inline(__always)
    var tracker: ProgressTracker? {
        guard case .engine(let queue, _) = route else { return nil }
        return unsafe Specifics.of(queue)?.tracker
    }

    /// Whether new submissions are counted.
    package var tracksProgress: Bool { tracker != nil }

    /// Creates the ticket of a task that is added to the queue; nil without tracking.
    package var progressTicket: ProgressTicket? { tracker.map(ProgressTicket.init) }
}

/// The state of one sequence, for its single reader.
private final class ProgressLooks: Sendable {
    private let tracker: ProgressTracker?
    private let interval: Duration
    private let state = Locked((isFirst: true, isOver: false))

    init(at tracker: ProgressTracker?, every interval: Duration) {
        self.tracker = tracker
        self.interval = interval
    }

    func next() async -> TaskQueue.Progress? {
        let (isFirst, isOver) = state.withLock { state in
            defer { state.isFirst = false }
            return state
        }
        guard let tracker, !isOver else { return nil }
        if !isFirst {
            do { try await Task.sleep(for: interval) } catch { return nil }
        }
        let progress = tracker.look()
        if progress.isFinished { state.withLock { $0.isOver = true } }
        return progress
    }
}

/// The counters of a queue with progress.
final class ProgressTracker: Sendable {
    private let announced: Int
    private let start = ContinuousClock.now
    private let submitted = Atomic(0)
    private let ended = Atomic(0)
    private let failed = Atomic(0)
    private let cancelled = Atomic(0)
    private let complete = Atomic(false)
    private let meter = Locked(RateMeter())

    init(total: Int) {
        announced = total
    }

    /// Returns a closure that runs `body` and counts its end.
    func counting(_ body: sending @escaping () -> Void) -> () -> Void {
        let ticket = ProgressTicket(self)
        return {
            body()
            ticket.end(.success)
        }
    }

    /// Marks that no more submissions come, so that the announced total no longer applies.
    func becomeComplete() { complete.store(true, ordering: .releasing) }

    func look() -> TaskQueue.Progress {
        // Read `ended` first: each ended submission was counted as submitted before.
        let ended = ended.load(ordering: .acquiring)
        let announced = complete.load(ordering: .acquiring) ? 0 : announced
        let total = max(announced, submitted.load(ordering: .relaxed))
        let (rate, rest) = meter.withLock(orAnew: RateMeter()) { meter in
            meter.note(Double(ended), at: (ContinuousClock.now - start) / .seconds(1))
            return (meter.rate, meter.secondsLeft(to: Double(total)))
        }
        return TaskQueue.Progress(
            total: total, done: ended, failed: failed.load(ordering: .relaxed),
            cancelled: cancelled.load(ordering: .relaxed), rate: rate,
            timeLeft: rest.map { .nanoseconds(Int64(min($0, 9e9) * 1e9)) })
    }

    fileprivate func begin() {
        submitted.add(1, ordering: .relaxed)
    }

    fileprivate func end(_ ending: ProgressTicket.Ending) {
        switch ending {
        case .success: break
        case .failure: failed.add(1, ordering: .relaxed)
        case .cancellation: cancelled.add(1, ordering: .relaxed)
        }
        ended.add(1, ordering: .releasing)
    }
}

/// One submission that a tracker counts. The closure or task retains it. If the closure or task is discarded,
/// `deinit` counts a cancellation.
package final class ProgressTicket: @unchecked Sendable {
    /// The outcome of the submission.
    package enum Ending { case success, failure, cancellation }

    private let tracker: ProgressTracker
    // Only the single holder accesses it.
    private var hasEnded = false

    init(_ tracker: ProgressTracker) {
        self.tracker = tracker
        tracker.begin()
    }

    package func end(_ ending: Ending) {
        hasEnded = true
        tracker.end(ending)
    }

    deinit {
        if !hasEnded { tracker.end(.cancellation) }
    }
}
