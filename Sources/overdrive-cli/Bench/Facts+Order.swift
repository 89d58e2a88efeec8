internal import Glibc
internal import OverdriveCore
internal import Synchronization

extension Fact {
    /// The order in which closures start, and waits between them.
    static func order(workers: Int?) throws(SchedulerError) -> [Fact] {
        [
            Fact(name: "out of order, 1 worker", value: Double(try outOfOrder()), unit: "closures", bar: 0),
            Fact(name: "outside in a flood, p99", value: try waitInFlood(workers: workers), unit: "µs", bar: 1000),
        ]
    }

    /// Returns the number of closures, of one million on one worker, that did not start in the order of submission.
    private static func outOfOrder() throws(SchedulerError) -> Int {
        let scheduler = try Scheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        nonisolated(unsafe) var (next, wrong) = (0, 0)
        for number in 0..<1_000_000 {
            queue.async {
                if number != next { wrong += 1 }
                next = number + 1
            }
        }
        queue.waitUntilAllTasksAreFinished()
        return wrong
    }

    /// Returns the time that an external closure waits while all workers run closures that resubmit themselves.
    private static func waitInFlood(workers: Int?) throws(SchedulerError) -> Double {
        let scheduler = try Scheduler(workers: workers)
        let queue = TaskQueue(scheduler: scheduler)
        let flood = Flood(queue)
        for _ in 0..<4 * scheduler.workerCount { flood.goOn() }
        var waits = Samples()
        for _ in 0..<1000 {
            let group = WaitGroup()
            let submitted = Stopwatch.now
            nonisolated(unsafe) var started = 0.0
            queue.async(group: group) { started = Stopwatch.now }
            group.wait()
            waits.add((started - submitted) / 1000)
        }
        flood.end.store(true, ordering: .relaxed)
        queue.waitUntilAllTasksAreFinished()
        return waits.percentile(99)
    }

    /// Closures of less than a microsecond that resubmit themselves.
    private final class Flood: Sendable {
        let end = Atomic(false)
        private let queue: TaskQueue

        init(_ queue: TaskQueue) { self.queue = queue }

        func goOn() {
            guard !end.load(ordering: .relaxed) else { return }
            queue.async { self.goOn() }
        }
    }
}
