internal import OverdriveCore

/// Whether and when a failed task is attempted again.
///
///     task.retry(RetryPolicy(times: 5, delay: .exponential(.milliseconds(100), cap: .seconds(5)), jitter: 0.2) {
///         $0 is NetworkError
///     })
public struct RetryPolicy: Sendable {
    /// How long to wait before an attempt.
    public enum Delay: Sendable, Equatable {
        /// At once.
        case none
        /// The same each time.
        case fixed(Duration)
        /// The first wait, then `multiplier` times as long each time, but no longer than `cap`.
        case exponential(Duration, multiplier: Double = 2, cap: Duration = .seconds(60))
    }

    /// How many attempts may follow the first; a negative number traps.
    public var times: Int { didSet { check() } }
    /// How long each retry waits.
    public var delay: Delay
    /// The random variation of each wait, 0 to 1, else it traps: 0.2 means 80 % to 120 % of the wait.
    public var jitter: Double { didSet { check() } }
    /// Whether an error is worth another attempt.
    public var isWorthwhile: @Sendable (any Error) -> Bool

    /// - Parameters:
    ///   - times: How many attempts may follow the first; 0 or more, else it traps.
    ///   - delay: How long to wait before each.
    ///   - jitter: By how much waits vary at random, 0 to 1, else it traps.
    ///   - isWorthwhile: Whether an error is worth another attempt.
    /// - Ordering: None.
    /// - Threading: Any thread; `isWorthwhile` is called on the thread that ends an attempt.
    /// - Cost: None but the closure's captures.
    public init(
        times: Int, delay: Delay = .none, jitter: Double = 0,
        isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
        self.times = times
        self.delay = delay
        self.jitter = jitter
        self.isWorthwhile = isWorthwhile
        check()
    }

    private func check() {
        guard times >= 0 else { trap("RetryPolicy.times: negative number (\(times)). Choose 0 or more.") }
        guard (0...1).contains(jitter) else { trap("RetryPolicy.jitter: out of range (\(jitter)). Choose 0 to 1.") }
    }

    /// The wait before the attempt that follows `failed` failed ones, without jitter.
    ///
    /// - Parameter failed: 1 or more.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A multiplication for each attempt, until the cap is reached.
    public func delay(afterFailures failed: Int) -> Duration {
        switch delay {
        case .none: return .zero
        case .fixed(let duration): return max(.zero, duration)
        case .exponential(let first, let multiplier, let cap):
            var wait = max(.zero, first)
            for _ in 1..<max(1, failed) where wait > .zero && wait < cap {
                // Where it would be longer than the cap it may be longer than a duration can be.
                wait = multiplier < cap / wait ? wait * multiplier : cap
            }
            return max(.zero, min(wait, cap))
        }
    }

    func wait(afterFailures failed: Int) -> Duration {
        let wait = delay(afterFailures: failed)
        guard jitter > 0, wait > .zero else { return wait }
        return max(.zero, wait * Double.random(in: 1 - jitter...1 + jitter))
    }
}

extension Task {
    /// Attempts the task again when it fails, through its queue: up to `times` times.
    ///
    ///     task.retry(3)
    ///
    /// Cancellation ends it. A failed condition is not attempted again.
    ///
    /// - Returns: The task.
    /// - Ordering: Counts for failures from here on; a later call replaces it.
    /// - Threading: Any thread, at any time before the outcome.
    /// - Cost: One allocation for the first of a task's extras, and a lock. An attempt is a submission.
    @discardableResult
    public final func retry(_ times: Int = 1) -> Self {
        retry(RetryPolicy(times: times))
    }

    /// Attempts the task again, through its queue, if it fails and the policy allows it.
    ///
    /// - Returns: The task.
    /// - Ordering: Counts for failures from here on; a later call replaces it.
    /// - Threading: Any thread, at any time before the outcome. The policy's closure is called on the thread that ends
    ///   an attempt.
    /// - Cost: One allocation for the first of a task's extras, and a lock. An attempt is a submission, or a timer and
    ///   one.
    @discardableResult
    public final func retry(_ policy: RetryPolicy) -> Self {
        let times = policy.times
        var policy = Optional(policy)
        makeExtras().locked { fields in
            fields.retriesLeft = times
            swap(&fields.retry, &policy)  // the one before is given up without the lock
        }
        return self
    }

    /// Attempts that may still follow.
    public final var retryCount: Int {
        extras?.locked { $0.retriesLeft } ?? 0
    }
}

extension AnyTask {
    final func beginNextAttempt() {
        let failed = standing.attempt
        endAttempt(failed - 1)
        let wait = extras?.locked { fields in
            fields.noteEnd()
            // The policy may be another by now.
            fields.retriesLeft = max(0, fields.retriesLeft - 1)
            return fields.retry?.wait(afterFailures: Int(failed))
        }
        tellObservers(of: .didRetry)
        tellDelegate(.didRetry)
        guard let wait, wait > .zero else {
            Bounce.run { self.take(.retryDue) }
            return
        }
        // The timer has the task: one that is cancelled meanwhile is not kept for that.
        let timer = TaskQueue.inner.asyncAfter(wait) { self.take(.retryDue) }
        keep(cleanup: { timer.cancel() }, of: failed)
    }
}

extension Error {
    /// Whether it is a `CancellationError`. A comparison of metatypes takes 300 instructions less, but is false in some processes.
    var isCancellation: Bool { self is CancellationError }
}

extension TaskExtras {
    func mayRetry(after error: any Error) -> Bool {
        guard !error.isCancellation else { return false }
        // Not an optional: that of a closure makes another closure around it.
        var isWorthwhile: @Sendable (any Error) -> Bool = { _ in false }
        locked { fields in
            if fields.retriesLeft > 0, let retry = fields.retry { isWorthwhile = retry.isWorthwhile }
        }
        return Bounce.outside { isWorthwhile(error) }
    }
}
