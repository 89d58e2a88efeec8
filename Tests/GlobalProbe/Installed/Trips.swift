internal import Glibc
internal import OverdriveCore
internal import ProbeWork

/// Two that hand a turn to each other: what a trip costs, and how many workers more it wakes.
enum Trips {
    static func measure(_ row: String) async -> Bool {
        switch row {
        case "queue-trips": await report(row) { await queues($0) }
        case "run-trips": await report(row) { await runs($0) }
        case "run-hops": await report(row) { await hops($0) }
        case "actor-trips": await report(row) { await actors($0) }
        case "pair-trips": await report(row) { await pairs($0) }
        default: return false
        }
        return true
    }

    private static func report(_ row: String, _ body: @Sendable (Int) async -> Void) async {
        let count = 20_000, rounds = 20
        await body(count)
        let before = Scheduler.shared.metrics
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            await body(count)
            best = min(best, start.duration(to: .now) / .nanoseconds(1) / Double(count))
        }
        let after = Scheduler.shared.metrics
        func each(_ count: Int) -> Double { (Double(count) / Double(20_000 * rounds) * 100_000).rounded() / 100_000 }
        Workload.say(
            "\(row) \(Int(best)) ns a trip; wakes \(each(after.usefulWakes - before.usefulWakes)) useful, "
                + "\(each(after.spuriousWakes - before.spuriousWakes)) spurious; steals "
                + "\(each(after.steals.reduce(0, +) - before.steals.reduce(0, +)))")
    }

    /// Two serial queues, each closure submitting the next one to the other queue.
    private static func queues(_ count: Int) async {
        let queues = [TaskQueue.serial(label: "ping"), TaskQueue.serial(label: "pong")]
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            @Sendable func turn(_ left: Int) {
                if left == 0 { return continuation.resume() }
                queues[left & 1].async { turn(left - 1) }
            }
            turn(count)
        }
    }

    /// A task that awaits a serial queue's closure, again and again.
    private static func runs(_ count: Int) async {
        let queue = TaskQueue.serial(label: "runs")
        await Task.detached { for _ in 0..<count { try? await queue.run {} } }.value
    }

    private actor Caller {
        func run(_ count: Int, on queue: TaskQueue) async {
            for _ in 0..<count { try? await queue.run {} }
        }
    }

    /// The same from an actor, which is let go of each time.
    private static func hops(_ count: Int) async {
        await Caller().run(count, on: TaskQueue.serial(label: "hops"))
    }

    private actor Side {
        private var trips = 0
        func take() { trips += 1 }
    }

    /// A task that goes from one actor to another and back.
    private static func actors(_ count: Int) async {
        let sides = [Side(), Side()]
        await Task.detached {
            for number in 0..<count { await sides[number & 1].take() }
        }.value
    }

    /// Four tasks, each between two actors of its own.
    private static func pairs(_ count: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { await actors(count / 4) } }
        }
    }
}
