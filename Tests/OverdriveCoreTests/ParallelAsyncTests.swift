import OverdriveCore
import Testing

@Suite("Parallel for tasks", .timeLimit(.minutes(10)))
struct ParallelAsyncTests {
    private struct Problem: Error, Equatable {}

    @Test("suspending operations do what the others do", arguments: [0, 1, 2, 1_000, 100_000])
    func same(count: Int) async throws {
        let numbers = scrambled(count, below: 1_000)
        let total = Counter()
        try await Parallel.forEach(0..<count) { i in _ = total.add(numbers[i]) }
        try await Parallel.forEachChunk(0..<count) { part in _ = total.add(-part.count) }
        #expect(total.count == numbers.reduce(0, +) - count)
        #expect(try await Parallel.map(numbers) { $0 + 1 } == numbers.map { $0 + 1 })
        #expect(try await Parallel.filter(numbers) { $0 % 2 == 0 } == numbers.filter { $0 % 2 == 0 })
        let sum = try await Parallel.reduce(0..<count, 0, map: { numbers[$0] }, combine: { $0 + $1 })
        #expect(sum == numbers.reduce(0, +))
        let (a, b) = await Parallel.join { numbers.count } _: { "b" }
        #expect(a == count)
        #expect(b == "b")
    }

    @Test("the root runs on a worker of the scheduler")
    func worker() async {
        let scheduler = makeScheduler(workers: 1)
        #expect(await Parallel.run(on: scheduler) { scheduler.isCurrent })
    }

    @Test("errors come back as they are")
    func errors() async {
        await #expect(throws: Problem()) {
            try await Parallel.run { () throws(Problem) -> Int in throw Problem() }
        }
        await #expect(throws: Problem()) {
            try await Parallel.forEach(0..<100) { i in if i == 50 { throw Problem() } }
        }
    }

    @Test("the task's cancellation ends a loop")
    func cancelled() async {
        let started = Counter()
        let task = Task {
            try await Parallel.forEach(0..<1_000_000, grain: 1) { _ in
                started.add()
                _ = eventually { Cancellation.isRequested }
            }
        }
        // Without blocking: the task may need this thread to begin.
        while started.count == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(started.count < 1_000_000)
    }

    @Test("a blocking loop with a token ends with its task")
    func cancelledHere() async {
        let started = Counter()
        let task = Task {
            try Self.loop(started)
        }
        // Without blocking: the task may need this thread to begin.
        while started.count == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(started.count < 1_000_000)
    }

    private static func loop(_ started: Counter) throws {
        try Parallel.forEach(0..<1_000_000, grain: 1, token: CancellationToken()) { _ in
            started.add()
            _ = eventually { Cancellation.isRequested }
        }
    }
}
