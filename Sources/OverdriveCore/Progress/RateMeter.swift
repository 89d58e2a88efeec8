// Owns the estimate of a current rate from samples. Progress and the command call it. It is not thread-safe.

/// Estimates the current rate of a growing amount, and the time until it reaches a total.
package struct RateMeter: Sendable {
    /// The length of the window in seconds. Older samples are dropped.
    package static let memory = 5.0

    private var samples: [(time: Double, amount: Double)] = []

    package init() {}

    /// Adds a sample: the total `amount` at `time`, in seconds, which must not decrease.
    package mutating func note(_ amount: Double, at time: Double) {
        // Replace the newest sample if the last two are close, so that polling cannot add samples without limit.
        if samples.count > 1, time - samples[samples.count - 2].time < Self.memory / 500 {
            samples[samples.count - 1] = (time, amount)
        } else {
            samples.append((time, amount))
        }
        // Keep one sample older than the window, so that the window is covered.
        while samples.count > 2, samples[1].time <= time - Self.memory { samples.removeFirst() }
    }

    /// The amount per second over the window; nil with less than 0.2 s of samples.
    package var rate: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= 0.2 else {
            return nil
        }
        return (last.amount - first.amount) / (last.time - first.time)
    }

    /// The seconds until `total` at the current rate; nil if the rate is 0 or unknown.
    package func secondsLeft(to total: Double) -> Double? {
        guard let rate, rate > 0, let last = samples.last else { return nil }
        return max(0, total - last.amount) / rate
    }
}
