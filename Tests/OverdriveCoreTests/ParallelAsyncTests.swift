import OverdriveCore
import Testing

@Suite("Parallel for tasks", .timeLimit(.minutes(10)))
struct ParallelAsyncTests {
    private struct Problem: Error, Equatable {}

    @Test("suspending operations do what the others do", arguments: [0, 1, 2, 1_000, 100_000])
    func same(count: Int) async throws {
        let numbers = scrambled(count, below: 1_000)
        let total = Counter()
        await Parallel.forEach(0..<count) { i in _ = total.add(numbers[i]) }
        await Parallel.forEachChunk(0..<count) { part in _ = total.add(-part.count) }
        #expect(total.count == numbers.reduce(0, +) - count)
        #expect(await Parallel.map(numbers) { $0 + 1 } == numbers.map { $0 + 1 })
        #expect(await Parallel.filter(numbers) { $0 % 2 == 0 } == numbers.filter { $0 % 2 == 0 })
        let sum = await Parallel.reduce(0..<count, 0, map: { numbers[$0] }, combine: { $0 + $1 })
        #expect(sum == numbers.reduce(0, +))
        let (a, b) = await Parallel.join { numbers.count } _: { "b" }
        #expect(a == count)
        #expect(b == "b")
    }

    @Test("run in the band of the calling task's priority", arguments: [
        (TaskPriority.high, TaskQueue.QoS.userInitiated), (.medium, .default), (.utility, .utility), (.background, .background),
    ])
    func priority(_ priority: TaskPriority, _ qos: TaskQueue.QoS) async {
        let scheduler = makeScheduler()
        // Nobody awaits it before its body is over: that would raise it.
        let (seen, done) = (Log<TaskQueue.QoS?>(), WaitGroup())
        done.enter()
        Task.detached(priority: priority) {
            seen.note(await Parallel.run(on: scheduler) { TaskQueue.QoS.current })
            let both = await Parallel.join(on: scheduler) { TaskQueue.QoS.current } _: { 0 }
            seen.note(both.0)
            done.leave()
        }
        await done.wait()
        #expect(seen.all == [qos, qos])
    }

    @Test("invoke, scope and branches with numbers suspend too, and throw as they are")
    func branches() async {
        struct Problem: Error, Equatable {}
        let (sum, scheduler) = (Counter(), makeScheduler(workers: 2))
        await Parallel.invoke { sum.add(1) } _: { sum.add(2) }
        await Parallel.invoke(on: scheduler) { sum.add(4) } _: { sum.add(8) } _: { sum.add(16) }
        await Parallel.invoke([{ sum.add(32) }, { sum.add(64) }], on: scheduler)
        await Parallel.invoke(count: 4, on: scheduler) { _ in sum.add(32) }
        #expect(sum.count == 255)
        #expect(await Parallel.join(count: 5, "", on: scheduler, { $0 + $1 }) { "\($0)" } == "01234")
        let (onWorkers, returned) = await Parallel.scope(on: scheduler) { scope -> (Counter, Int) in
            let onWorkers = Counter()
            for _ in 0..<10 { scope.fork { onWorkers.add(scheduler.isCurrent ? 1 : 0) } }
            return (onWorkers, 7)
        }
        #expect(onWorkers.count == 10)
        #expect(returned == 7)
        await #expect(throws: Problem()) {
            try await Parallel.scope(throwing: Problem.self, on: scheduler) { scope throws(Problem) in
                scope.fork { () throws(Problem) in throw Problem() }
            }
        }
        await #expect(throws: Problem()) {
            try await Parallel.invoke(count: 3) { i throws(Problem) in if i == 1 { throw Problem() } }
        }
        await #expect(throws: Problem()) {
            try await Parallel.invoke { () throws(Problem) in } _: { () throws(Problem) in throw Problem() }
        }
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
        let (started, unaware) = (Counter(), Counter())
        let task = Task {
            try await Parallel.forEach(0..<1_000_000, grain: 1, token: CancellationToken()) { _ in
                started.add()
                waitForCancellation(unaware)
            }
        }
        cancel(task, when: started)
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(started.count < 1_000_000)
        #expect(unaware.count == 0)
    }

    @Test("a loop whose closure cannot throw is done whole, whoever is cancelled, and tells the closure")
    func plainIsWhole() async {
        let (started, told) = (Counter(), Counter())
        let task = Task {
            await Parallel.forEach(0..<1_000, grain: 1) { _ in
                started.add()
                if eventually({ Cancellation.isRequested }) { told.add() }
            }
        }
        cancel(task, when: started)
        await task.value
        #expect(started.count == 1_000 && told.count == 1_000)
    }

    @Test("the forms that block are there in an async function")
    func synchronously() async {
        var numbers = scrambled(10_000, below: 1_000)
        let sum = Parallel.synchronously {
            Parallel.sort(&numbers)
            return Parallel.reduce(0..<3, 0, map: { $0 }, combine: { $0 + $1 })
        }
        #expect(numbers == numbers.sorted() && sum == 3)
    }

    @Test("a blocking loop with a token ends with its task")
    func cancelledHere() async {
        let (started, unaware) = (Counter(), Counter())
        let task = Task {
            try Self.loop(started, unaware)
        }
        cancel(task, when: started)
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(started.count < 1_000_000)
        #expect(unaware.count == 0)
    }

    @Test("what a shutdown discards runs on the caller's thread, is told so, and arrays come back")
    func discarded() async {
        let scheduler = makeScheduler(workers: 1)
        let (gate, busy) = (Gate(), Counter())
        let (first, second) = (scrambled(1_000, below: 500), scrambled(1_000, below: 300))
        TaskQueue(scheduler: scheduler).async {
            busy.add()
            gate.pass()
        }
        #expect(eventually { busy.count == 1 })
        async let sorted = {
            var array = first
            await Parallel.sort(&array, on: scheduler)
            return array
        }()
        async let kept = {
            var array = second
            await Parallel.sort(&array, on: scheduler, by: { $0 < $1 })
            return array
        }()
        async let told = Parallel.run(on: scheduler) { Cancellation.isRequested }
        let loop = Task { try await Parallel.forEach(0..<10, on: scheduler, token: CancellationToken()) { _ in } }
        while scheduler.dump().waiting < 4 { await Task.yield() }
        let report: ShutdownReport = await scheduler.shutdown(deadline: .zero)
        #expect(report.cancelled == 4)
        #expect(await sorted == first.sorted())
        #expect(await kept == second.sorted())
        #expect(await told)
        await #expect(throws: CancellationError.self) { try await loop.value }
        gate.open()
    }

    private static func loop(_ started: Counter, _ unaware: Counter) throws {
        try Parallel.forEach(0..<1_000_000, grain: 1, token: CancellationToken()) { _ in
            started.add()
            waitForCancellation(unaware)
        }
    }

    @Test("gives an array back that nobody else holds: it is not copied when it is changed")
    func arraysAreNotCopied() async {
        var array = Array(0..<1_000)
        func place() -> UInt { array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        let before = place()
        for round in 0..<300 where place() == before {
            await Parallel.sort(&array)
            array.swapAt(0, round + 1)
        }
        #expect(place() == before)
    }
}
