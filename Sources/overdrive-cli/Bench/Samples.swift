internal import Glibc

/// The measured values of one side, in the unit of the comparison.
struct Samples: Sendable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) {
        values.insert(value, at: values.firstIndex { $0 > value } ?? values.endIndex)
    }

    var minimum: Double { values.first ?? .nan }

    var median: Double { percentile(50) }

    /// Returns a percentile of the values.
    func percentile(_ percent: Int) -> Double {
        values.isEmpty ? .nan : values[min(values.count - 1, values.count * percent / 100)]
    }
}

/// Measures monotonic time.
enum Stopwatch {
    /// The monotonic time in nanoseconds.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// Returns the nanoseconds that `body` takes, divided by `count`.
    static func time(per count: Int = 1, _ body: () -> Void) -> Double {
        let start = now
        body()
        return (now - start) / Double(count)
    }

    /// Sleeps for approximately the given time.
    static func sleep(nanoseconds: Int) {
        var rest = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
        var left = timespec()
        while nanosleep(&rest, &left) == -1 && errno == EINTR { rest = left }
    }
}
