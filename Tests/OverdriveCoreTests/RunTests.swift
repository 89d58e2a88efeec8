import OverdriveCore
import Testing

@Suite("run", .timeLimit(.minutes(10)))
struct RunTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("returns what its closure returns", arguments: widths)
    func result(width: Int) async throws {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        for number in 0..<200 {
            let result = try await queue.run { number * 2 }
            #expect(result == number * 2)
        }
        try await queue.run {}
    }

    @Test("hands over a result that is not Sendable")
    func unsendableResult() async throws {
        final class Page {
            var lines = ["one"]
        }
        let page = try await queue.run { Page() }
        page.lines.append("two")
        #expect(page.lines.count == 2)
    }

    private static func answer() -> Int { 42 }
    private static func fail() throws { throw Flaw() }

    @Test("run_takes_a_function_value")
    func functionValue() async throws {
        let work: @Sendable () throws -> Int = { 6 * 7 }
        #expect(try await queue.run(work) == 42)
        #expect(try await queue.run(Self.answer) == 42)
        let local: () -> [Int] = { [1, 2] }
        #expect(try await queue.run(local) == [1, 2])
        await #expect(throws: Flaw.self) { try await queue.run(Self.fail) }
        async let later = queue.run(Self.answer)
        #expect(try await later == 42)
    }

    @MainActor
    @Test("run_with_a_function_value_comes_back_to_its_callers_actor")
    func functionValueComesBack() async throws {
        let number = try await queue.run(Self.answer)
        MainActor.assertIsolated()
        #expect(number == 42)
    }

    @Test("throws what its closure throws")
    func failure() async {
        await #expect(throws: Flaw.self) {
            try await queue.run { throw Flaw() }
        }
    }

    @Test("runs its closure on a worker, in the queue's order")
    func place() async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue.serial(scheduler: scheduler)
        let order = Holder<[Int]>([])
        for number in 0..<50 { queue.async { order.value.append(number) } }
        let (isCurrent, seen) = try await queue.run { (scheduler.isCurrent, order.value.count) }
        #expect(isCurrent)
        #expect(seen == 50)
    }

    @MainActor
    @Test("comes back to its caller's actor")
    func comesBack() async throws {
        var local = 0
        for _ in 0..<20 {
            local += try await queue.run { 1 }
            MainActor.assertIsolated()
        }
        #expect(local == 20)
        let failed = try? await queue.run { () throws -> Int in throw Flaw() }
        MainActor.assertIsolated()
        #expect(failed == nil)
    }

    @Test("cancelled before its closure started throws at once and never runs it", arguments: widths)
    func cancelledBefore(width: Int) async {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let runs = Counter()
        queue.suspend()
        let tasks = (0..<20).map { _ in
            Task { try await queue.run { _ = runs.add() } }
        }
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        queue.resume()
        await queue.drained()
        #expect(runs.count == 0)
    }

    @Test("in a task that is cancelled already never runs its closure")
    func cancelledEarly() async {
        let runs = Counter()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await queue.run { _ = runs.add() }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(runs.count == 0)
    }

    @Test("cancelled while its closure runs tells the closure, whose result counts")
    func cancelledWhile() async throws {
        let known = Gate()
        let holder = Holder<Task<Bool, any Error>?>(nil)
        let task = Task {
            try await queue.run { () -> Bool in
                known.pass()
                holder.value?.cancel()
                return eventually { Cancellation.isRequested }
            }
        }
        holder.value = task
        known.open()
        #expect(try await task.value)
        holder.value = nil
    }

    @Test("cancelled while its closure runs ends it at Cancellation.check()")
    func checked() async {
        let started = Counter()
        let task = Task {
            try await queue.run {
                started.add()
                while true { try Cancellation.check() }
            }
        }
        while started.count == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("cancelled by the queue's cancelAll throws CancellationError", arguments: widths)
    func cancelAll(width: Int) async {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let census = Census()
        queue.suspend()
        let tasks = (0..<20).map { _ in
            let tracked = census.newborn()
            return Task { try await queue.run { tracked.touch() } }
        }
        while queue.pendingTaskCount < 20 { await Task.yield() }
        #expect(queue.cancelAll() == 20)
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        queue.resume()
    }

    @Test("cancelled by its scheduler's shutdown throws CancellationError")
    func shutdown() async {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        let gate = Gate()
        queue.async { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let tasks = (0..<20).map { _ in Task { try await queue.run { 1 } } }
        while queue.pendingTaskCount < 21 { await Task.yield() }
        let report = await scheduler.shutdown(timeout: .zero)
        #expect(report.cancelled == 20)
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        gate.open()
    }

    @Test("racing with cancels ends once each, with a result or a CancellationError")
    func races() async {
        let census = Census()
        for _ in 0..<20 {
            let (ran, cancelled) = (Counter(), Counter())
            let bodies = Counter()
            await withTaskGroup(of: Void.self) { tasks in
                for _ in 0..<50 {
                    let tracked = census.newborn()
                    tasks.addTask {
                        do {
                            try await queue.run {
                                tracked.touch()
                                bodies.add()
                            }
                            ran.add()
                        } catch {
                            cancelled.add()
                        }
                    }
                }
                tasks.addTask { _ = queue.cancelAll() }
                tasks.cancelAll()
            }
            #expect(ran.count + cancelled.count == 50)
            #expect(bodies.count == ran.count)
        }
        await queue.drained()
        #expect(census.alive == 0)
    }

    @Test("inside a task on the same scheduler does not hold a worker")
    func insideTheScheduler() async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.serial(scheduler: scheduler)
        let sum = try await Task(executorPreference: scheduler) {
            var sum = 0
            for number in 1...100 { sum += try await queue.run { number } }
            return sum
        }.value
        #expect(sum == 5_050)
    }

    @Test("is not seen by closures that it did not submit")
    func notInherited() async throws {
        let queue = TaskQueue.serial(scheduler: makeScheduler(workers: 1))
        let group = WaitGroup()
        let seen = Counter()
        let started = Counter()
        let task = Task {
            try await queue.run {
                started.add()
                _ = eventually { Cancellation.isRequested }
                queue.async(group: group) { if Cancellation.isRequested { seen.add() } }
            }
        }
        while started.count == 0 { await Task.yield() }
        task.cancel()
        try await task.value
        await group.wait()
        #expect(seen.count == 0)
    }

    @Test("Cancellation answers for Swift's task where no closure of run's is")
    func elsewhere() async {
        #expect(!Cancellation.isRequested)
        let task = Task {
            while !Cancellation.isRequested { await Task.yield() }
            return Task.isCancelled
        }
        task.cancel()
        #expect(await task.value)
        #expect(throws: Never.self) { try Cancellation.check() }
    }
}
