// Owns the retry policy of a task: whether a failed attempt is repeated, and after how long. The state machine of
// AnyTask calls `beginNextAttempt` after a failed attempt. This file never decides the outcome of a task.

internal import OverdriveCore

/// Decides whether and when a failed task runs again.
///
///     task.retry(RetryPolicy(attempts: 6, delay: .exponential(.milliseconds(100), cap: .seconds(5)), jitter: 0.2) {
///         $0 is NetworkError
///     })
public struct RetryPolicy: Sendable {
    /// The wait before an attempt.
    public enum Delay: Sendable, Equatable {
        /// No wait.
        case none
        /// Waits of equal length.
        case fixed(Duration)
        /// The first wait. Each later wait is `multiplier` times as long, but at most `cap`.
        case exponential(Duration, multiplier: Double = 2, cap: Duration = .seconds(60))
    }

    /// The most attempts, the first included; a number below 1 traps. `BatchRetry` of OverdriveBatch counts alike.
    public var attempts: Int { didSet { check() } }
    /// The wait before each retry.
    public var delay: Delay
    /// The random variation of each wait: 0.2 means 80 % to 120 % of the wait. Traps outside 0 to 1.
    public var jitter: Double { didSet { check() } }
    /// Returns whether an error justifies another attempt.
    public var isWorthwhile: @Sendable (any Error) -> Bool

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - attempts: The most attempts, the first included; 1 or more, else it traps.
    ///   - delay: The wait before each retry.
    ///   - jitter: The random variation of each wait as a fraction. Traps outside 0 to 1.
    ///   - isWorthwhile: Returns whether an error justifies another attempt.
    /// - Ordering: None.
    /// - Threading: Any thread. `isWorthwhile` is called on the thread that ends an attempt.
    /// - Cost: None but the closure's captures.
    public init(
        attempts: Int, delay: Delay = .none, jitter: Double = 0,
        isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
        self.attempts = attempts
        self.delay = delay
        self.jitter = jitter
        self.isWorthwhile = isWorthwhile
        check()
    }

    private func check() {
        guard attempts >= 1 else { trap("RetryPolicy.attempts: out of range (\(attempts)). Choose 1 or more.") }
        guard (0...1).contains(jitter) else { trap("RetryPolicy.jitter: out of range (\(jitter)). Choose 0 to 1.") }
    }

    /// Returns the wait, without jitter, after a number of failed attempts.
    ///
    /// - Parameter failed: The number of failed attempts, 1 or more.
    /// - Returns: The wait before the next attempt.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A multiplication for each failed attempt, until the cap is reached.
    public func delay(afterFailures failed: Int) -> Duration {
        switch delay {
        case .none: return .zero
        case .fixed(let duration): return max(.zero, duration)
        case .exponential(let first, let multiplier, let cap):
            var wait = max(.zero, first)
            for _ in 1..<max(1, failed) where wait > .zero && wait < cap {
                // Compare by division: a product beyond the cap may exceed the range of `Duration`.
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
    /// Repeats the task through its queue when an attempt fails, up to `times` times.
    ///
    ///     task.retry(3) // at most four attempts, as with RetryPolicy(attempts: 4)
    ///
    /// A cancelled task is not repeated. A task with a failed condition is not repeated.
    ///
    /// - Parameter times: The most attempts after the first; a negative number traps.
    /// - Returns: The task.
    /// - Ordering: Applies to failures after this call. A later call replaces the policy.
    /// - Threading: Any thread, at any time before the outcome.
    /// - Cost: A lock, and one allocation for the first optional property of a task. Each attempt is a submission.
    @discardableResult
    public final func retry(_ times: Int = 1) -> Self {
        guard times >= 0, times < .max else { trap("Task.retry(_:): out of range (\(times)). Choose 0 or more.") }
        return retry(RetryPolicy(attempts: times + 1))
    }

    /// Repeats the task through its queue when an attempt fails and the policy allows a retry.
    ///
    /// - Parameter policy: The number of retries, their waits, and the errors that justify a retry.
    /// - Returns: The task.
    /// - Ordering: Applies to failures after this call. A later call replaces the policy.
    /// - Threading: Any thread, at any time before the outcome. The policy's closure is called on the thread that
    ///   ends an attempt.
    /// - Cost: A lock, and one allocation for the first optional property of a task. Each attempt is a submission,
    ///   after a timer if the policy has a delay.
    @discardableResult
    public final func retry(_ policy: RetryPolicy) -> Self {
        let retries = policy.attempts - 1
        var policy = Optional(policy)
        makeExtras().locked { fields in
            fields.retriesLeft = retries
            swap(&fields.retry, &policy)  // the one before is given up without the lock
        }
        return self
    }

    /// The number of attempts that may still follow.
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
            // `retry` may have replaced the policy since the attempt failed.
            fields.retriesLeft = max(0, fields.retriesLeft - 1)
            return fields.retry?.wait(afterFailures: Int(failed))
        }
        tellObservers(of: .didRetry)
        tellDelegate(.didRetry)
        guard let wait, wait > .zero else {
            Bounce.run { self.take(.retryDue) }
            return
        }
        // The timer retains the task. The cleanup cancels the timer, so that a cancelled task is not retained until
        // the timer fires.
        let timer = TaskQueue.inner.asyncAfter(wait) { self.take(.retryDue) }
        keep(cleanup: { timer.cancel() }, of: failed)
    }
}

extension Error {
    /// Whether the error is a `CancellationError`. A comparison of metatypes takes 300 instructions less, but returns
    /// false in some processes.
    var isCancellation: Bool { self is CancellationError }
}

extension TaskExtras {
    func mayRetry(after error: any Error) -> Bool {
        guard !error.isCancellation else { return false }
        // The closure is not optional: unwrapping an optional closure allocates a wrapper closure.
        var isWorthwhile: @Sendable (any Error) -> Bool = { _ in false }
        locked { fields in
            if fields.retriesLeft > 0, let retry = fields.retry { isWorthwhile = retry.isWorthwhile }
        }
        return Bounce.outside { isWorthwhile(error) }
    }
}
