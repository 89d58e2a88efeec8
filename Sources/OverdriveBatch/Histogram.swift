/// A histogram of durations. A class is at most an eighth as wide as its values; 64 classes cover a factor of 256.
struct Histogram {
    private static let steps = 8
    private var counts = [Int](repeating: 0, count: 64 * Histogram.steps)
    private(set) var count = 0
    private(set) var longest: UInt64 = 0

    mutating func note(_ nanoseconds: UInt64) {
        counts[Self.place(nanoseconds)] += 1
        count += 1
        longest = max(longest, nanoseconds)
    }

    mutating func add(_ other: Histogram) {
        for place in counts.indices { counts[place] += other.counts[place] }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// Returns a percentile in seconds.
    func percentile(_ percent: Double) -> Double {
        let wanted = max(1, Int((Double(count) * percent / 100).rounded(.up)))
        var seen = 0
        for (place, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return Double(min(longest, Self.upperBound(place))) / 1e9 }
        }
        return Double(longest) / 1e9
    }

    private static func place(_ value: UInt64) -> Int {
        guard value >= UInt64(steps) else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - 2) * steps + Int(value >> UInt64(exponent - 3) & 7)
    }

    private static func upperBound(_ place: Int) -> UInt64 {
        guard place >= steps else { return UInt64(place) }
        let exponent = place / steps + 2
        // The subtraction wraps, so that the last class ends at the largest number.
        return (UInt64(steps + place % steps + 1) << UInt64(exponent - 3)) &- 1
    }
}
