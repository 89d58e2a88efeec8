internal import Dispatch
internal import OverdriveCore

extension Comparison {
    /// The time until a closure has run and its submitter knows it.
    static let waking = [
        wake("wake, hot", after: 0, trips: 2000, bar: .timesAsLong(0.6)),
        wake("wake after 200 µs", after: 200_000, trips: 300, bar: .timesAsLong(1.1)),
        wake("wake after 20 ms", after: 20_000_000, trips: 15, bar: .timesAsLong(1.1), everyNth: 2),
    ]

    private static func wake(
        _ name: String, after quiet: Int, trips: Int, bar: Bar, everyNth: Int = 1
    ) -> Comparison {
        Comparison(
            name: name,
            question: "One closure is submitted and waited for; the median of \(trips) round trips.",
            unit: .microseconds, bar: bar, everyNth: everyNth,
            overdrive: { contenders in
                medianTrip(after: quiet, trips: trips) {
                    let group = WaitGroup()
                    contenders.queue.async(group: group) {}
                    group.wait()
                }
            },
            dispatch: { contenders in
                medianTrip(after: quiet, trips: trips) {
                    let group = DispatchGroup()
                    contenders.dispatchQueue.async(group: group) {}
                    group.wait()
                }
            })
    }

    private static func medianTrip(after quiet: Int, trips: Int, _ trip: () -> Void) -> Double {
        var samples = Samples()
        for _ in 0..<trips {
            if quiet > 0 { Stopwatch.sleep(nanoseconds: quiet) }
            samples.add(Stopwatch.time { trip() } / 1000)
        }
        return samples.median
    }

    /// Closures that sleep in the kernel, and outnumber the workers.
    static let blocking = [
        Comparison(
            name: "64 blocked closures",
            question: "64 closures sleep 100 ms each, without blocking { }.",
            unit: .milliseconds, bar: .timesFaster(4), everyNth: 5,
            overdrive: { contenders in
                let group = WaitGroup()
                return Stopwatch.time {
                    for _ in 0..<64 {
                        contenders.queue.async(group: group) { Stopwatch.sleep(nanoseconds: 100_000_000) }
                    }
                    group.wait()
                } / 1e6
            },
            dispatch: sleepingOnDispatch),
        Comparison(
            name: "64 in blocking { }",
            question: "64 closures sleep 100 ms each, inside blocking { }.",
            unit: .milliseconds, bar: .timesFaster(8), everyNth: 5,
            overdrive: { contenders in
                let group = WaitGroup()
                return Stopwatch.time {
                    for _ in 0..<64 {
                        contenders.queue.async(group: group) {
                            OverdriveCore.blocking { Stopwatch.sleep(nanoseconds: 100_000_000) }
                        }
                    }
                    group.wait()
                } / 1e6
            },
            dispatch: sleepingOnDispatch),
    ]

    private static let sleepingOnDispatch: @Sendable (Contenders) -> Double = { contenders in
        let group = DispatchGroup()
        return Stopwatch.time {
            for _ in 0..<64 {
                contenders.dispatchQueue.async(group: group) { Stopwatch.sleep(nanoseconds: 100_000_000) }
            }
            group.wait()
        } / 1e6
    }

    static let all = spawning + waking + blocking
}
