// Owns the conversion of Swift's clocks and durations to the engine's nanoseconds. Timers and waits call it. A converted
// deadline is never early, and a long duration is clamped.

internal import CScheduler

/// Converts times of Swift's clocks to the engine's clock.
///
/// The continuous clock runs at the same rate, but the engine's clock stops while the machine is suspended. So one pair
/// of readings is valid until the next suspension. Two deadlines keep their exact distance, even if they are converted
/// at different times.
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

    /// Returns the time that is left until a deadline.
    static func left(until deadline: ContinuousClock.Instant) -> Duration {
        rounded(ContinuousClock.now.duration(to: deadline))
    }

    /// Returns the time that is left until a deadline on a real clock, as a thread of a controlled run counts it.
    ///
    /// In a controlled run the clock stands still while closures run. The real time since the program computed the
    /// deadline must not count, so the result is rounded up to a whole step: 1 ms below 20 ms, 5 ms below 200 ms, 10 ms
    /// below 2 s, otherwise 50 ms. Outside a run the result is `left`.
    private static func rounded(_ left: Duration) -> Duration {
        guard ControlledRun.isInside, left > .zero else { return left }
        let step: Duration =
            left < .milliseconds(20) ? .milliseconds(1)
            : left < .milliseconds(200) ? .milliseconds(5) : left < .seconds(2) ? .milliseconds(10) : .milliseconds(50)
        let (whole, step64) = (left.nanoseconds, step.nanoseconds)
        return whole > Int64.max - step64 ? left : .nanoseconds((whole + step64 - 1) / step64 * step64)
    }

    /// Returns the engine's time of a deadline, never early.
    ///
    /// The result is negative if the deadline is before the clock's start. It is never 0, which the engine reads as a
    /// delay.
    static func due(_ deadline: ContinuousClock.Instant) -> Int64 {
        if ControlledRun.isInside { return due(in: left(until: deadline)) }
        let now = Anchor()
        return anchor.withLock(orAnew: now) { anchor in
            if anchor.slept(until: now) > shortestSleep { anchor = now }
            return anchor.time(of: deadline)
        }
    }

    /// Returns the engine's time of a deadline on the suspending clock, which is the engine's clock. The result is some
    /// nanoseconds late, never early, because the engine's clock is read second.
    static func due(_ deadline: SuspendingClock.Instant) -> Int64 {
        due(in: rounded(SuspendingClock.now.duration(to: deadline)))
    }

    /// Returns the engine's time after `left`, or -1 if no time is left.
    private static func due(in left: Duration) -> Int64 {
        guard left > .zero else { return -1 }
        let (sum, overflow) = od_timer_now().addingReportingOverflow(left.nanoseconds)
        return overflow ? .max : sum
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to the range of `Int64`.
    var signedNanoseconds: Int64 { self < .zero ? -(Duration.zero - self).nanoseconds : nanoseconds }

    /// The duration in nanoseconds, at least 0 and at most `Int64.max`, which the engine reads as no limit.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !tooLong else { return .max }
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow ? .max : sum
    }
}
