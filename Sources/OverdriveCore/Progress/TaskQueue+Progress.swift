internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// How far a queue's work is, at a moment.
    public struct Progress: Sendable, Hashable, CustomStringConvertible {
        /// How many closures and tasks there are to do: as many as were announced, or as were submitted if that is more.
        public let total: Int
        /// How many have ended: ran, failed or were taken back.
        public let done: Int
        /// How many of these were tasks that failed, or ran in `run(_:)` and threw.
        public let failed: Int
        /// How many of these were cancelled: closures that never ran, tasks whose outcome is a `CancellationError`. A
        /// closure of `run(_:)` that was cancelled before its turn has ended like any other.
        public let cancelled: Int
        /// How many end in a second, over the last seconds; nil until that can be told.
        public let rate: Double?
        /// How long the rest takes at that rate; nil while nothing moves.
        public let timeLeft: Duration?

        /// The share that is done, 0 to 1; 1 where there is nothing to do.
        public var fraction: Double { total > 0 ? Double(done) / Double(total) : 1 }

        /// Whether all of it has ended.
        public var isFinished: Bool { done >= total }

        /// `1,200 of 5,000, 3 failed`.
        public var description: String {
            "\(done.grouped) of \(total.grouped)"
                + (failed > 0 ? ", \(failed.grouped) failed" : "")
                + (cancelled > 0 ? ", \(cancelled.grouped) cancelled" : "")
        }
    }

    /// Counts what is submitted from now on, so that ``progress`` can tell how far it is.
    ///
    ///     queue.trackProgress(total: files.count)
    ///     for file in files { queue.async { convert(file) } }
    ///     for await progress in queue.progressUpdates() { label.text = "\(progress)" }
    ///
    /// The count includes closures and work items that are submitted to run as soon as possible: singly, in batches,
    /// or by `run(_:)`. It includes tasks until their outcome, also while they wait for dependencies; further
    /// attempts do not count again. `sync` and the submissions of timers do not count.
    ///
    /// - Parameter total: The number of closures, if it is known before they are submitted. If fewer come, call
    ///   ``endProgress()``. A second call of this function ends the previous tracking and starts from zero.
    /// - Ordering: What was submitted before is not counted.
    /// - Threading: Any thread. Traps on ``main`` and other dispatch queues.
    /// - Cost: From here on, one allocation and two locked instructions more for each submission, and for each task two
    ///   allocations and a few locks.
    public func trackProgress(total: Int = 0) {
        guard let specifics = specifics(make: true), case .engine = route else {
            trap(
                "TaskQueue.trackProgress(total:): the queue runs on a dispatch queue (\"\(label)\"). "
                    + "Track another TaskQueue.")
        }
        specifics.track(ProgressTracker(total: total))
    }

    /// Declares that no more closures come. The progress finishes when the closures submitted since
    /// ``trackProgress(total:)`` have finished, even if more were announced.
    ///
    ///     queue.cancelAll()
    ///     queue.endProgress()     // the progress is finished
    ///
    /// The release of the queue has the same effect. Without tracking, the call does nothing.
    ///
    /// - Ordering: What is submitted later is not counted.
    /// - Threading: Any thread.
    /// - Cost: Two locks.
    public func endProgress() {
        guard let specifics = specifics(make: false), case .engine = route else { return }
        specifics.endTracking()
    }

    /// How far the closures are that were submitted since ``trackProgress(total:)``; nil before that.
    ///
    /// - Cost: Two locks. Each look is a sample for the rate, so look a few times a second.
    public var progress: Progress? {
        specifics(make: false)?.lastTracker?.look()
    }

    /// Looks at the progress, again and again, until all of it has ended.
    ///
    /// - Parameter interval: How long between two looks.
    /// - Returns: A sequence whose last element is finished. It is empty without tracking, and ends early if its task
    ///   is cancelled. If fewer closures come than announced, it continues until ``endProgress()``.
    /// - Ordering: Looks come one after another, and none counts less than the one before.
    /// - Threading: The sequence is for one reader.
    /// - Cost: A sleep for each look, which holds no thread.
    public func progressUpdates(every interval: Duration = .milliseconds(100)) -> AsyncStream<Progress> {
        let looks = ProgressLooks(at: specifics(make: false)?.lastTracker, every: interval)
        return AsyncStream { await looks.next() }
    }

    /// What submissions report to.
    @inline(__always)
    var tracker: ProgressTracker? {
        guard case .engine(let queue, _) = route else { return nil }
        return unsafe Specifics.of(queue)?.tracker
    }

    /// Whether what is submitted counts.
    package var tracksProgress: Bool { tracker != nil }

    /// For a task that comes to the queue: what it counts as in the progress, where that is tracked.
    package var progressTicket: ProgressTicket? { tracker.map(ProgressTicket.init) }
}

/// The looks of one sequence, taken by its one reader.
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

/// What a tracked queue's submissions report to.
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

    /// The closure to submit in place of `body`.
    func counting(_ body: sending @escaping () -> Void) -> () -> Void {
        let ticket = ProgressTicket(self)
        return {
            body()
            ticket.end(.success)
        }
    }

    /// No more come than were submitted.
    func becomeComplete() { complete.store(true, ordering: .releasing) }

    func look() -> TaskQueue.Progress {
        // The ended ones first: each of them has been submitted by then.
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

/// One of what a tracker counts. A closure of the queue holds it, or a task: with one that is discarded it goes, and
/// reports that.
package final class ProgressTicket: @unchecked Sendable {
    /// How it ended.
    package enum Ending { case success, failure, cancellation }

    private let tracker: ProgressTracker
    // Its one holder's.
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
