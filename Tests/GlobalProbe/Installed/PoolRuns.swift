internal import OverdriveCore
internal import ProbeWork

/// How many jobs and closures the pool runs for one `await queue.run`, by where it is awaited.
enum PoolRuns {
    private static let count = 1_000

    private actor OnQueue {
        private let queue = TaskQueue.serial(label: "actor")
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }

        func awaits(_ other: TaskQueue) async throws {
            for _ in 0..<count { try await other.run {} }
        }
    }

    @MainActor static func run() async throws {
        let queue = TaskQueue.serial(label: "pool-runs")
        var before = Scheduler.shared.metrics.executed
        func say(_ place: String) {
            let runs = Double(Scheduler.shared.metrics.executed - before) / Double(count)
            Workload.say("\(place) \(Int(runs.rounded())) runs")
            before = Scheduler.shared.metrics.executed
        }
        for _ in 0..<count { try await queue.run {} }
        say("main actor")
        try await OnQueue().awaits(queue)
        say("actor on a queue")
        try await Task.detached { for _ in 0..<count { try await queue.run {} } }.value
        say("task")
    }
}
