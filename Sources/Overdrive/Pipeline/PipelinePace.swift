// Owns the estimate of how fast items move through a run. `PipelineRun.standsBack` uses it to decide whether a
// further thread would help.

/// The rate at which items pass through a run, as an idle thread measures it.
struct PipelinePace {
    private var since = ContinuousClock.now
    private var seen: Int
    /// Whether items move as fast as a further thread could move them. It is true until the first measurement.
    private(set) var isFast = true

    /// The shortest time between two measurements. A measurement reads a cache line that other threads write.
    private static var period: Duration { .microseconds(2) }
    /// The approximate time of an empty item when two threads move items.
    private static var nanosecondsPerItem: Int { 400 }

    init(_ count: Int) {
        seen = count
    }

    /// Whether the next measurement is due.
    var isOver: Bool { since.duration(to: .now) >= PipelinePace.period }

    /// Measures the rate, given the number of items moved so far.
    mutating func look(_ count: Int) {
        let now = ContinuousClock.now
        isFast = .nanoseconds((count - seen) * PipelinePace.nanosecondsPerItem) >= since.duration(to: now)
        (since, seen) = (now, count)
    }
}
