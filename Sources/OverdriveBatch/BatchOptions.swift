// Owns the options of a run: parallelism, time limits, retries, journal, shard. Programs set them; `BatchRun` reads them
// once.

public import OverdriveCore

/// Configures the run of a ``BatchJob``. Settings with the value nil follow the machine.
public struct BatchOptions: Sendable {
    /// The number of items under way at a time; nil for one for each worker of the scheduler.
    ///
    /// Values below 1 count as 1, values above 1024 as 1024.
    public var parallelism: Int?
    /// The time limit of an attempt; then ``BatchAttempt/isCancelled`` becomes true. nil for no limit.
    public var timeLimit: Duration?
    /// The number of attempts for a failing item, and the waits between them.
    public var retry = BatchRetry()
    /// The directory of the journal. Without one, a killed run starts from the beginning.
    public var journal: String?
    /// The part of the job that this process runs.
    public var shard = Shard.whole
    /// The cost of each item, 0 or more, for shards of about equal work. If it is nil, an item's name decides its
    /// shard.
    ///
    /// A run throws ``BatchError/shard(_:)`` if the number of weights differs from the number of items, because
    /// differing shards could lose or repeat items.
    public var weights: [Int]?
    /// The messages on the standard error stream during the run.
    public var progress = BatchProgress.none
    /// Whether Ctrl-C (SIGINT), Ctrl-\ (SIGQUIT), SIGTERM and SIGHUP end the run in order.
    ///
    /// A second signal of the same kind ends the process at once.
    public var endsOnSignals = false
    /// The time that items under way may take after a request to end. Then the run returns without them.
    public var endTimeout = Duration.seconds(10)
    /// A token that ends the run in order when it is cancelled.
    public var token: CancellationToken?
    /// Whether items that an earlier run gave up are tried again.
    public var retriesQuarantined = false
    /// The scheduler whose workers run the items.
    public var scheduler = Scheduler.shared

    /// Creates options with the default values.
    public init() {}
}

/// The number of attempts for a failing item, and the waits between them.
public struct BatchRetry: Sendable, Equatable {
    /// The number of attempts, the first included: 1 or more. After the last one the item is in quarantine.
    public var attempts: Int
    /// The wait before the second attempt.
    public var delay: Duration
    /// The factor from each wait to the next. A wait is at most 60 s.
    public var factor: Double

    /// Creates a retry policy.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts, the first included.
    ///   - delay: The wait before the second attempt.
    ///   - factor: The factor from each wait to the next.
    public init(attempts: Int = 1, delay: Duration = .milliseconds(100), factor: Double = 2) {
        self.attempts = max(1, attempts)
        self.delay = delay
        self.factor = factor
    }

    /// Returns the wait after a number of failed attempts.
    func wait(after failures: Int) -> Duration {
        var wait = delay / .seconds(1)
        for _ in 1..<max(1, failures) { wait = min(60, wait * factor) }
        return .seconds(min(60, max(0, wait)))
    }
}

/// The messages of a run on the standard error stream.
public enum BatchProgress: Sendable, Equatable {
    /// No messages.
    case none
    /// A bar, redrawn 10 times a second.
    case bar
    /// A JSON object on one line, each second.
    case json
}
