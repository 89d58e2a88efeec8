internal import Glibc

/// Rows of `scripts/bench-executors`: what async work costs on the executor that the process has.
public enum Benchmark {
    /// One number: nanoseconds for each operation, or bytes for each suspended task.
    public static func measure(_ row: String) async throws -> Double? {
        switch row {
        case "spawn": return await time(10_000, spawn)
        case "group": return await time(10_000, group)
        case "async-let": return await time(10_000, asyncLet)
        case "hops": return await time(10_000, hops)
        case "hops-contended": return await time(10_000, contendedHops)
        case "yield": return await time(10_000, yields)
        case "sleep": return await time(10_000, sleeps)
        case "sleep-100k": return await time(100_000, rounds: 5, sleepsAlone)
        case "pairs": return await time(20_000, pairs)
        case "group-100k": return await time(100_000, rounds: 5, group)
        case "group-million": return await time(1_000_000, rounds: 3, group)
        case "memory": return await bytes(100_000)
        default: return nil
        }
    }

    /// Nanoseconds for each of `count`, by the best of many short rounds: others on the machine disturb some.
    private static func time(_ count: Int, rounds: Int = 40, _ body: @Sendable (Int) async -> Void) async -> Double {
        await body(count / 10)
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            await body(count)
            best = min(best, start.duration(to: .now) / .nanoseconds(1) / Double(count))
        }
        return best
    }

    private static func spawn(_ count: Int) async {
        await Task.detached {
            var tasks: [Task<Void, Never>] = []
            tasks.reserveCapacity(count)
            for _ in 0..<count { tasks.append(Task.detached {}) }
            for task in tasks { await task.value }
        }.value
    }

    private static func group(_ count: Int) async {
        await Task.detached {
            await withTaskGroup(of: Int.self) { group in
                for number in 0..<count { group.addTask { number } }
                var sum = 0
                for await number in group { sum &+= number }
                precondition(sum == count * (count - 1) / 2)
            }
        }.value
    }

    @concurrent private static func one() async -> Int { 1 }

    private static func asyncLet(_ count: Int) async {
        await Task.detached {
            for _ in 0..<count {
                async let child = one()
                _ = await child
            }
        }.value
    }

    private actor Place {
        var visits = 0
        func visit() { visits += 1 }
    }

    private static func hop(_ count: Int, _ places: [Place]) async {
        for number in 0..<count { await places[number & 1].visit() }
    }

    /// One task between two actors that nobody else wants: the runtime switches on the spot.
    private static func hops(_ count: Int) async {
        let places = [Place(), Place()]
        await Task.detached { await hop(count, places) }.value
    }

    /// Two tasks between the same two actors, on two workers.
    private static func contendedHops(_ count: Int) async {
        let places = [Place(), Place()]
        let tasks = (0..<2).map { _ in Task.detached { await hop(count / 2, places) } }
        for task in tasks { await task.value }
    }

    private actor Pinger {
        let target: Place
        init(_ target: Place) { self.target = target }
        func run(_ count: Int) async { for _ in 0..<count { await target.visit() } }
    }

    /// Four pairs of actors, each of which asks its own other one again and again: what was seen to be slower the more
    /// threads the pool has.
    private static func pairs(_ count: Int) async {
        let pingers = (0..<4).map { _ in Pinger(Place()) }
        let tasks = pingers.map { pinger in Task.detached { await pinger.run(count / 4) } }
        for task in tasks { await task.value }
    }

    private static func yields(_ count: Int) async {
        await Task.detached { for _ in 0..<count { await Task.yield() } }.value
    }

    private static func sleeps(_ count: Int) async {
        await Task.detached {
            await withDiscardingTaskGroup { group in
                for _ in 0..<count { group.addTask { try? await Task.sleep(for: .milliseconds(1)) } }
            }
        }.value
    }

    /// Without a group, which looks a child that has ended up among those that have not, from the oldest: sleeps end in any order.
    private static func sleepsAlone(_ count: Int) async {
        let tasks = (0..<count).map { _ in Task.detached { try? await Task.sleep(for: .milliseconds(1)) } }
        for task in tasks { _ = await task.value }
    }

    /// How much the process grows for each of so many tasks that sleep.
    private static func bytes(_ count: Int) async -> Double {
        await sleeps(1_000)
        let before = resident()
        let tasks = (0..<count).map { _ in Task.detached { try? await Task.sleep(for: .seconds(3600)) } }
        while true {
            let now = resident()
            try? await Task.sleep(for: .milliseconds(200))
            if resident() == now { break }
        }
        let after = resident()
        _ = tasks.count
        return Double(after - before) / Double(count)
    }

    private static func resident() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        fgets(&line, Int32(line.count), file)
        let text = line.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}
