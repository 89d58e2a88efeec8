public import OverdriveCore

/// The settings of a ``BatchJob``'s run. Settings that are not set follow the machine.
public struct BatchOptions: Sendable {
    /// How many items are under way at a time; nil: as many as the scheduler has workers.
    ///
    /// Values below 1 count as 1, values above 1024 as 1024.
    public var parallelism: Int?
    /// How long an attempt may take before it is asked to stop: its ``BatchAttempt/isCancelled`` turns true.
    public var timeLimit: Duration?
    /// How often an item that fails is tried, and how long is waited in between.
    public var retry = BatchRetry()
    /// The directory of the journal; nil: nothing is kept, and a run that is killed starts over.
    public var journal: String?
    /// Which part of the job this process does.
    public var shard = Shard.whole
    /// The cost of each item, 0 or more, for shards of about equal work; nil: an item's name decides its shard.
    ///
    /// A run throws ``BatchError/shard(_:)`` if the number of weights differs from the number of items: shards that were cut
    /// differently would lose or repeat items.
    public var weights: [Int]?
    /// The messages on the standard error stream during the run.
    public var progress = BatchProgress.none
    /// Whether Ctrl-C (SIGINT), Ctrl-\ (SIGQUIT), SIGTERM and SIGHUP end the run orderly.
    ///
    /// A second signal of the same kind ends the process at once.
    public var endsOnSignals = false
    /// How long items that are under way may take after the request to end, before the run returns without them.
    public var endTimeout = Duration.seconds(10)
    /// Ends the run orderly when it is cancelled.
    public var token: CancellationToken?
    /// Whether items that an earlier run gave up on are tried once more.
    public var retriesQuarantined = false
    /// The scheduler whose workers run the items.
    public var scheduler = Scheduler.shared

    /// The options as they are listed.
    public init() {}
}

/// How often an item that fails is tried.
public struct BatchRetry: Sendable, Equatable {
    /// All attempts, the first included: 1 or more. After the last one the item is put in quarantine.
    public var attempts: Int
    /// How long is waited before the second attempt.
    public var delay: Duration
    /// By how much each further wait is longer than the one before; never more than a minute.
    public var factor: Double

    /// - Parameters:
    ///   - attempts: All attempts, the first included.
    ///   - delay: How long is waited before the second one.
    ///   - factor: By how much each further wait is longer.
    public init(attempts: Int = 1, delay: Duration = .milliseconds(100), factor: Double = 2) {
        self.attempts = max(1, attempts)
        self.delay = delay
        self.factor = factor
    }

    /// How long is waited after `failures` failed attempts.
    func wait(after failures: Int) -> Duration {
        var wait = delay / .seconds(1)
        for _ in 1..<max(1, failures) { wait = min(60, wait * factor) }
        return .seconds(min(60, max(0, wait)))
    }
}

/// The messages of a run on the standard error stream.
public enum BatchProgress: Sendable, Equatable {
    /// Nothing.
    case none
    /// A bar, redrawn ten times a second.
    case bar
    /// One JSON object a second, each on one line.
    case json
}
