internal import CScheduler

/// Where the times of Swift's clock lie on the engine's.
///
/// Both count alike but for the time in which the machine is suspended, which the engine's leaves out. So one
/// pair of readings serves until the machine has been suspended, and two deadlines keep their distance to the
/// nanosecond however much later the one is asked for than the other.
enum EngineTime {
    private struct Anchor {
        let instant: ContinuousClock.Instant
        let nanoseconds: Int64

        init() {
            instant = .now
            nanoseconds = od_timer_now()
        }

        /// By how much the engine's clock was behind this anchor at another one: by what was slept in between, less
        /// the time for which that reading was interrupted.
        func slept(until other: Anchor) -> Duration {
            instant.duration(to: other.instant) - .nanoseconds(other.nanoseconds - nanoseconds)
        }

        func time(of deadline: ContinuousClock.Instant) -> Int64 {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(instant.duration(to: deadline).signedNanoseconds)
            return overflow ? .max : sum > 0 ? sum : -1
        }
    }

    // Two readings a few nanoseconds apart: of several the one that was interrupted least.
    private static let anchor = Locked(
        (0..<8).map { _ in Anchor() }.reduce(Anchor()) { $0.slept(until: $1) > .zero ? $1 : $0 })

    /// No suspension is as short, and nothing that interrupts the first eight readings as long.
    private static let shortestSleep = Duration.milliseconds(1)

    /// The engine's time at which the deadline has come; less than 0 where it lies before that clock's beginning.
    /// Never early, and never 0, by which the engine means a delay.
    static func due(_ deadline: ContinuousClock.Instant) -> Int64 {
        let now = Anchor()
        return anchor.withLock(orAnew: now) { anchor in
            if anchor.slept(until: now) > shortestSleep { anchor = now }
            return anchor.time(of: deadline)
        }
    }
}
