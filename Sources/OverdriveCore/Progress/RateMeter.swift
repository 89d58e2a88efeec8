/// How fast something grows of late, and when it will be through.
package struct RateMeter: Sendable {
    /// What happened longer ago than this says nothing about now.
    package static let memory = 5.0

    private var samples: [(time: Double, amount: Double)] = []

    package init() {}

    /// Notes that by `time` (in seconds, never less than before) `amount` was done in all.
    package mutating func note(_ amount: Double, at time: Double) {
        // A caller that polls replaces the newest sample: the number of samples has a limit.
        if samples.count > 1, time - samples[samples.count - 2].time < Self.memory / 500 {
            samples[samples.count - 1] = (time, amount)
        } else {
            samples.append((time, amount))
        }
        // One sample older than the memory stays, so that the window is full.
        while samples.count > 2, samples[1].time <= time - Self.memory { samples.removeFirst() }
    }

    /// Amount per second over the last seconds; nil until that can be told.
    package var rate: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= 0.2 else {
            return nil
        }
        return (last.amount - first.amount) / (last.time - first.time)
    }

    /// Seconds until `total` is done at this rate; nil while nothing moves.
    package func secondsLeft(to total: Double) -> Double? {
        guard let rate, rate > 0, let last = samples.last else { return nil }
        return max(0, total - last.amount) / rate
    }
}
