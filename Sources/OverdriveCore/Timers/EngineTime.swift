// Owns the conversion from `ContinuousClock` to the engine's clock. Timers call it. A converted deadline is never
// early.

internal import CScheduler

/// Converts times of Swift's continuous clock to the engine's clock.
///
/// Both clocks run at one rate, but the engine's clock stops while the machine is suspended. So one pair of readings
/// is valid until the next suspension. Two deadlines keep their exact distance, even if they are converted at
/// different times.
enum EngineTime {
    private struct Anchor {
        let instant: ContinuousClock.Instant
        let nanoseconds: Int64

        init() {
            instant = .now
            nanoseconds = od_timer_now()
        }

        /// Returns the suspension time between this pair and `other`, minus the time for which the reading of
        /// `other` was interrupted.
        func slept(until other: Anchor) -> Duration {
            instant.duration(to: other.instant) - .nanoseconds(other.nanoseconds - nanoseconds)
        }

        func time(of deadline: ContinuousClock.Instant) -> Int64 {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(instant.duration(to: deadline).signedNanoseconds)
            return overflow ? .max : sum > 0 ? sum : -1
        }
    }

    // The two readings of a pair are some nanoseconds apart. The pair with the shortest interruption is used.
    private static let anchor = Locked(
        (0..<8).map { _ in Anchor() }.reduce(Anchor()) { $0.slept(until: $1) > .zero ? $1 : $0 })

    /// Longer than any interruption between the first eight readings, and shorter than any suspension.
    private static let shortestSleep = Duration.milliseconds(1)

    /// Returns the engine's time of a deadline, never early.
    ///
    /// The result is negative if the deadline is before the clock's start. It is never 0, which the engine reads as a
    /// delay.
    static func due(_ deadline: ContinuousClock.Instant) -> Int64 {
        let now = Anchor()
        return anchor.withLock(orAnew: now) { anchor in
            if anchor.slept(until: now) > shortestSleep { anchor = now }
            return anchor.time(of: deadline)
        }
    }
}
