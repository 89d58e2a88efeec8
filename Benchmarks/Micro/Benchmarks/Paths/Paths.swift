import Benchmark
import OverdriveCore

/// Single paths, one thread's work each, for `swift package benchmark` and its baselines.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], timeUnits: .nanoseconds, scalingFactor: .kilo,
        maxDuration: .seconds(2))

    Benchmark("join, not taken") { benchmark in
        for _ in benchmark.scaledIterations {
            blackHole(Parallel.join({ 1 }, { 2 }))
        }
    }

    Benchmark("async, capture-free, with a group") { benchmark in
        let (queue, group) = (TaskQueue(), WaitGroup())
        for _ in benchmark.scaledIterations {
            queue.async(group: group) {}
        }
        group.wait()
    }

    Benchmark("async on a serial queue") { benchmark in
        let (queue, group) = (TaskQueue.serial(label: "micro"), WaitGroup())
        for _ in benchmark.scaledIterations {
            queue.async(group: group) {}
        }
        group.wait()
    }

    Benchmark("sync on a serial queue that is free") { benchmark in
        let queue = TaskQueue.serial(label: "micro")
        for i in benchmark.scaledIterations {
            blackHole(queue.sync { i })
        }
    }

    Benchmark("a group, entered and left") { benchmark in
        let group = WaitGroup()
        for _ in benchmark.scaledIterations {
            group.enter()
            group.leave()
        }
    }

    Benchmark("forEach over a thousand numbers") { benchmark in
        for _ in benchmark.scaledIterations {
            Parallel.forEach(0..<1000) { blackHole($0) }
        }
    }
}
