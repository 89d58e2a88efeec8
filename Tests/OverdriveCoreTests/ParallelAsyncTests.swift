import OverdriveCore
import Testing

@Suite("Parallel for tasks", .timeLimit(.minutes(10)))
struct ParallelAsyncTests {
    @Test("suspending operations do what the others do", arguments: [0, 1, 2, 1_000, 100_000])
    func same(count: Int) async throws {
        let numbers = scrambled(count, below: 1_000)
        let total = Counter()
        await Parallel().run { p in
            p.forEach(0..<count) { i in total.add(numbers[i]) }
            p.forEachChunk(0..<count) { part in total.add(-part.count) }
        }
        #expect(total.count == numbers.reduce(0, +) - count)
        #expect(await Parallel().run { p in p.map(numbers) { $0 + 1 } } == numbers.map { $0 + 1 })
        let even = await Parallel().run { p in p.filter(numbers) { $0 % 2 == 0 } }
        #expect(even == numbers.filter { $0 % 2 == 0 })
        let sum = await Parallel().run { p in p.reduce(0..<count, 0, map: { numbers[$0] }, combine: { $0 + $1 }) }
        #expect(sum == numbers.reduce(0, +))
        let both = await Parallel().run { p in
            let (a, b) = p.join { numbers.count } _: { "b" }
            return "\(a)\(b)"
        }
        #expect(both == "\(count)b")
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
            seen.note(await Parallel(on: scheduler).run { _ in TaskQueue.QoS.current })
            seen.note(await Parallel(on: scheduler).run { p in p.join { TaskQueue.QoS.current } _: { 0 }.0 })
            done.leave()
        }
        await done.wait()
        #expect(seen.all == [qos, qos])
    }

    @Test("invoke, scope and branches with numbers suspend too, and throw as they are")
    func branches() async {
        let (sum, scheduler) = (Counter(), makeScheduler(workers: 2))
        await Parallel(on: scheduler).run { p in
            p.invoke { sum.add(1) } _: { sum.add(2) } _: { sum.add(4) }
            p.invoke(count: 4) { _ in sum.add(2) }
        }
        #expect(sum.count == 15)
        #expect(await Parallel(on: scheduler).run { p in p.join(count: 5, "", { $0 + $1 }) { "\($0)" } } == "01234")
        let onWorkers = Counter()
        let returned = await Parallel(on: scheduler).run { p in
            p.scope { scope in
                for _ in 0..<10 { scope.fork { onWorkers.add(scheduler.isCurrent ? 1 : 0) } }
                return 7
            }
        }
        #expect(onWorkers.count == 10)
        #expect(returned == 7)
        await #expect(throws: Flaw()) {
            try await Parallel(on: scheduler).run { p throws(Flaw) in
                try p.scope(throwing: Flaw.self) { scope throws(Flaw) in
                    scope.fork { () throws(Flaw) in throw Flaw() }
                }
            }
        }
        await #expect(throws: Flaw()) {
            try await Parallel().run { p throws(Flaw) in
                try p.invoke(count: 3) { i throws(Flaw) in if i == 1 { throw Flaw() } }
            }
        }
        await #expect(throws: Flaw()) {
            try await Parallel().run { p throws(Flaw) in
                _ = try p.join { () throws(Flaw) in } _: { () throws(Flaw) in throw Flaw() }
            }
        }
    }

    @Test("the root runs on a worker of the scheduler")
    func worker() async {
        let scheduler = makeScheduler(workers: 1)
        #expect(await Parallel(on: scheduler).run { _ in scheduler.isCurrent })
    }

    @Test("errors come back as they are")
    func errors() async {
        await #expect(throws: Flaw()) {
            try await Parallel().run { _ throws(Flaw) -> Int in throw Flaw() }
        }
        await #expect(throws: Flaw()) {
            try await Parallel().run { p in try p.forEach(0..<100) { i in if i == 50 { throw Flaw() } } }
        }
    }

    @Test("the task's cancellation ends a loop, behind the door, and a blocking one with a token", arguments: [false, true])
    func cancelled(blocking: Bool) async {
        let (started, unaware) = (Counter(), Counter())
        let body = { @Sendable (_: Int) throws in
            started.add()
            waitForCancellation(unaware)
        }
        let task = Task {
            guard blocking else { return try await Parallel(grain: 1).run { p in try p.forEach(0..<1_000_000, body) } }
            try Self.loop(body)
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
            await Parallel(grain: 1).run { p in
                p.forEach(0..<1_000) { _ in
                    started.add()
                    if eventually({ Cancellation.isRequested }) { told.add() }
                }
            }
        }
        cancel(task, when: started)
        await task.value
        #expect(started.count == 1_000 && told.count == 1_000)
    }

    @Test("operations called without the door block in an async function")
    func blocking() async {
        var numbers = scrambled(10_000, below: 1_000)
        Parallel().sort(&numbers)
        let sum = Parallel.reduce(0..<3, 0, map: { $0 }, combine: { $0 + $1 })
        #expect(numbers == numbers.sorted() && sum == 3)
    }

    @Test("what a shutdown discards runs on the caller's thread, is told so, and arrays come back")
    func discarded() async {
        let scheduler = makeScheduler(workers: 1)
        let gate = Gate()
        let (first, second) = (scrambled(1_000, below: 500), scrambled(1_000, below: 300))
        TaskQueue(scheduler: scheduler).async { gate.pass() }
        #expect(eventually { gate.arrivals == 1 })
        async let sorted = {
            var array = first
            await Parallel(on: scheduler).run(mutating: &array) { p, array in p.sort(&array) }
            return array
        }()
        async let kept = {
            var array = second
            await Parallel(on: scheduler).run(mutating: &array) { p, array in p.sort(&array, by: { $0 < $1 }) }
            return array
        }()
        async let told = Parallel(on: scheduler).run { _ in Cancellation.isRequested }
        let loop = Task { try await Parallel(on: scheduler).run { p in try p.forEach(0..<10) { _ throws in } } }
        while scheduler.dump().waiting < 4 { await Task.yield() }
        let report: ShutdownReport = await scheduler.shutdown(timeout: .zero)
        #expect(report.cancelled == 4)
        #expect(await sorted == first.sorted())
        #expect(await kept == second.sorted())
        #expect(await told)
        await #expect(throws: CancellationError.self) { try await loop.value }
        gate.open()
    }

    private static func loop(_ body: @Sendable (Int) throws -> Void) throws {
        try Parallel(grain: 1, token: CancellationToken()).forEach(0..<1_000_000, body)
    }

    @Test("gives an array back that nobody else holds: it is not copied when it is changed")
    func arraysAreNotCopied() async {
        var array = Array(0..<1_000)
        func place() -> UInt { array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        let before = place()
        for round in 0..<300 where place() == before {
            await Parallel().run(mutating: &array) { p, array in p.sort(&array) }
            array.swapAt(0, round + 1)
        }
        #expect(place() == before)
    }

    @Test("await_run_returns_after_the_worker_has_released_the_captures_and_the_result")
    func capturesAreReleased() async {
        let (census, scheduler) = (Census(), makeScheduler(workers: 2))
        for _ in 0..<300 {
            await {
                let tracked = census.newborn()
                let made = await Parallel(on: scheduler).run { _ in
                    tracked.touch()
                    return census.newborn()
                }
                made.touch()
            }()
            #expect(census.alive == 0)
        }
    }
}
