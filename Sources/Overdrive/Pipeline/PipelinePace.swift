/// How fast items move, as a thread sees it that may stand back.
struct PipelinePace {
    private var since = ContinuousClock.now
    private var seen: Int
    /// Items move as fast as a further thread could move them. A new thread begins by looking.
    private(set) var isFast = true

    /// The time of one look. A look reads a cache line that other threads write.
    private static var period: Duration { .microseconds(2) }
    /// About the time of an empty item that two threads move.
    private static var nanosecondsPerItem: Int { 400 }

    init(_ count: Int) {
        seen = count
    }

    /// Whether it is time for a look.
    var isOver: Bool { since.duration(to: .now) >= PipelinePace.period }

    /// Notes how many items have moved by now.
    mutating func look(_ count: Int) {
        let now = ContinuousClock.now
        isFast = .nanoseconds((count - seen) * PipelinePace.nanosecondsPerItem) >= since.duration(to: now)
        (since, seen) = (now, count)
    }
}
