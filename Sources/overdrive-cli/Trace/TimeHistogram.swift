/// The number of times in nanoseconds in each of 976 classes. A value from it is at most 4 % off.
struct TimeHistogram {
    private(set) var count = 0
    private var counts: [Int] = []

    /// The class of a time: below 32 ns each has its own, above it each power of two has 16.
    private static func number(of ns: UInt64) -> Int {
        guard ns >= 32 else { return Int(ns) }
        let power = 63 - ns.leadingZeroBitCount
        return 32 + (power - 5) * 16 + Int(ns >> UInt64(power - 4)) - 16
    }

    private static func middle(ofClass number: Int) -> UInt64 {
        guard number >= 32 else { return UInt64(number) }
        let shift = UInt64((number - 32) / 16 + 1)
        return (UInt64((number - 32) % 16 + 16) << shift) + (1 << shift) / 2
    }

    mutating func add(_ ns: UInt64) {
        let number = Self.number(of: ns)
        if number >= counts.count { counts += Array(repeating: 0, count: number + 1 - counts.count) }
        counts[number] += 1
        count += 1
    }

    /// Returns the middle of the class that has this percentile; nil if there is no time.
    func value(percent: Int) -> UInt64? {
        guard count > 0 else { return nil }
        var left = (count - 1) * percent / 100
        for (number, inClass) in counts.enumerated() {
            if left < inClass { return Self.middle(ofClass: number) }
            left -= inClass
        }
        return nil
    }
}
