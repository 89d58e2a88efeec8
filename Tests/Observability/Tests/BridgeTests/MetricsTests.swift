import Metrics
import MetricsTestKit
import OverdriveCore
import OverdriveMetrics
import Testing

@Suite("Metrics of a scheduler", .timeLimit(.minutes(1)))
struct MetricsTests {
    @Test("count what it did since they were made, each report what came since the one before")
    func counts() throws {
        let backend = TestMetrics()
        let scheduler = try Scheduler(workers: 2, name: "counted")
        let queue = TaskQueue(scheduler: scheduler)
        queue.async {}
        queue.waitUntilAllTasksAreFinished()
        let metrics = SchedulerMetrics(of: scheduler, dimensions: [("host", "here")], factory: backend)
        for round in 1...3 {
            for _ in 0..<10 { queue.async {} }
            queue.waitUntilAllTasksAreFinished()
            metrics.report()
            let dimensions = [("scheduler", "counted"), ("host", "here")]
            let executed = try backend.expectCounter("overdrive.closures.executed", dimensions)
            #expect(executed.totalValue == 10 * Int64(round))
            #expect(try backend.expectMeter("overdrive.workers", dimensions).lastValue == 2)
        }
        // What has not grown is not incremented.
        #expect(backend.counterTotal(label: "overdrive.threads.failed") == 0)
    }

    @Test("are the scheduler's own counts, each under its name")
    func names() throws {
        let backend = TestMetrics()
        let scheduler = try Scheduler(workers: 3, name: "named")
        let queue = TaskQueue(maxConcurrentTaskCount: 2, scheduler: scheduler)
        let before = scheduler.metrics
        let metrics = SchedulerMetrics(of: scheduler, factory: backend)
        for _ in 0..<100 { queue.async { queue.async {} } }
        queue.waitUntilAllTasksAreFinished()
        queue.suspend()
        for _ in 0..<5 { queue.async {} }
        _ = queue.cancelAll()
        queue.resume()
        let _: ShutdownReport = scheduler.shutdown(timeout: .seconds(60))  // and nothing is counted from then on
        metrics.report()
        let now = scheduler.metrics
        let counters: [(String, (Scheduler.Metrics) -> Int)] = [
            ("closures.executed", { $0.executed }), ("closures.cancelled", { $0.cancelled }),
            ("closures.stolen", { $0.stolen.reduce(0, +) }), ("closures.outside", { $0.injectorClosures }),
            ("closures.callers", { $0.ranOnCallers }), ("parks", { $0.parks }), ("wakes.useful", { $0.usefulWakes }),
            ("wakes.spurious", { $0.spuriousWakes }), ("steals.failed", { $0.failedSteals }),
            ("forks.stolen", { $0.stolenForks }), ("threads.started", { $0.threadsStarted }),
            ("threads.failed", { $0.threadFailures }), ("spares.capped", { $0.spareCapReached }), ("warnings", { $0.warnings }),
        ]
        for (name, count) in counters {
            #expect(backend.counterTotal(label: "overdrive.\(name)") == Int64(count(now) - count(before)), "\(name)")
        }
        for (name, value) in [("workers", now.workers), ("workers.active", now.active), ("spares.most", now.mostSpares)] {
            #expect(backend.meters(label: "overdrive.\(name)").first?.values.last == Double(value), "\(name)")
        }
    }

    @Test("are reported again and again, and once more at the end")
    func run() async throws {
        let backend = TestMetrics()
        let scheduler = try Scheduler(workers: 1, name: "watched")
        let metrics = SchedulerMetrics(of: scheduler, prefix: "mine", factory: backend)
        let reporting = Task { await metrics.run(every: .milliseconds(5)) }
        while backend.meters(label: "mine.workers").first.map({ $0.values.count >= 3 }) != true {
            try await Task.sleep(for: .milliseconds(2))
        }
        let queue = TaskQueue(scheduler: scheduler)
        for _ in 0..<7 { queue.async {} }
        await queue.drained()
        reporting.cancel()
        await reporting.value
        #expect(backend.counterTotal(label: "mine.closures.executed") == 7)
    }

    @Test("are whole where several threads report at once")
    func together() async throws {
        let backend = TestMetrics()
        let scheduler = try Scheduler(workers: 2, name: "together")
        let queue = TaskQueue(scheduler: scheduler)
        let metrics = SchedulerMetrics(of: scheduler, factory: backend)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<50 {
                        queue.async {}
                        metrics.report()
                    }
                }
            }
        }
        await queue.drained()
        metrics.report()
        #expect(backend.counterTotal(label: "overdrive.closures.executed") == 200)
    }
}
