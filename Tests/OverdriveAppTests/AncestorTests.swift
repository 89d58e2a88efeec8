import OverdriveApp
import TestSupport
import Testing

/// What the ancestor's tests say of its queues, sequences and groups, said of what stands for these here.
@Suite("What the ancestor's tests hold")
struct AncestorTests {
    @Test("a single piece of work is done")
    func singleOperation() async throws {
        let queue = TaskQueue.serial(label: "one")
        #expect(try await queue.add { 7 }.value == 7)
    }

    @Test("asynchronous tasks come through a queue of one in their order")
    func itemsInOrder() async throws {
        let (queue, log) = (TaskQueue(maxConcurrentTaskCount: 1), Log<Int>())
        let tasks = (0..<21).map { number in
            Task.async {
                for _ in 0..<(20 - number) { await AsyncTask<Never, Never>.yield() }
                log.note(number)
            }
        }
        for task in tasks { queue.add(task: task) }
        for task in tasks { try await task.value }
        #expect(log.all == Array(0..<21))
    }

    @Test("three at once are three at once")
    func threeAtOnce() async throws {
        let (queue, inside, passed) = (TaskQueue(maxConcurrentTaskCount: 3, scheduler: makeScheduler(workers: 3)), Counter(), Gate())
        let tasks = (0..<3).map { _ in
            queue.add {
                inside.add()
                passed.pass()
            }
        }
        #expect(eventually { inside.count == 3 })
        passed.open()
        for task in tasks { try await task.value }
    }

    @Test("of ten of which five are cancelled five have results")
    func halfCancelled() async throws {
        let (queue, gate) = (TaskQueue(maxConcurrentTaskCount: 1), Gate())
        let first = queue.add { gate.pass() }
        let tasks = (0..<10).map { number in queue.add { number } }
        for (number, task) in tasks.enumerated() where number % 2 == 1 { task.cancel() }
        gate.open()
        try await first.value
        #expect(await results(of: tasks) == [0, 2, 4, 6, 8])
    }

    @Test("ten thousand and one items come in order")
    func sequence() async throws {
        let queue = TaskQueue.serial(label: "sequence")
        let tasks = (0...10_000).map { number in queue.add { number } }
        #expect(await results(of: tasks) == Array(0...10_000))
    }

    @Test("those that are cancelled are left out, the others keep their order")
    func oddOnesCancelled() async throws {
        let (queue, gate) = (TaskQueue.serial(label: "sequence"), Gate())
        let first = queue.add { gate.pass() }
        let tasks = (0...1_000).map { number in queue.add { number } }
        for (number, task) in tasks.enumerated() where number % 2 == 1 { task.cancel() }
        gate.open()
        try await first.value
        #expect(await results(of: tasks) == Array(stride(from: 0, through: 1_000, by: 2)))
    }

    @Test("results may be asked for in several rounds, and nothing is done twice")
    func rounds() async throws {
        let (queue, done) = (TaskQueue.serial(label: "sequence"), Counter())
        var tasks = (0..<10).map { number in queue.add { () -> Int in done.add(); return number } }
        #expect(await results(of: tasks) == Array(0..<10))
        tasks += (10..<20).map { number in queue.add { () -> Int in done.add(); return number } }
        #expect(await results(of: tasks) == Array(0..<20))
        #expect(done.count == 20)
    }

    @Test("a group delivers all ten thousand, in whatever order")
    func group() async throws {
        let queue = TaskQueue.concurrent(label: "group")
        let all = Task.all((0..<10_000).map { number in queue.add { number } })
        queue.add(task: all)
        let values = try await all.value
        #expect(values.sorted() == Array(0..<10_000))
    }

    private func results(of tasks: [Task<Int>]) async -> [Int] {
        var values: [Int] = []
        for task in tasks {
            if let value = try? await task.value { values.append(value) }
        }
        return values
    }
}
