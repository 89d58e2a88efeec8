import OverdriveCore
import Testing

/// `run`'s closure is called by the task that awaits it: in the queue's turn, or on the spot where that could be next.
@Suite("run, by its task", .timeLimit(.minutes(10)))
struct RunWithinTests {
    @TaskLocal private static var name = "nobody"

    /// What a closure sees of the task that awaits it.
    private struct Sight: Equatable {
        var name = RunWithinTests.name
        var priority = Task.currentPriority
        var qos = TaskQueue.QoS.current
        var label = TaskQueue.currentLabel
    }

    private actor Caller {
        func sees(_ queue: TaskQueue) async throws -> Sight { try await queue.run { Sight() } }

        private var visits = 0
        func visit() { visits += 1 }

        /// Lets the actor's other calls in while the closure runs.
        func isLetGo(by queue: TaskQueue) async throws -> Bool {
            let (began, visited) = (WaitGroup(), Counter())
            began.enter()
            let visitor = Task {
                await began.wait()
                visit()
                visited.add()
            }
            let seen = try await queue.run {
                began.leave()
                return eventually { visited.count > 0 }
            }
            await visitor.value
            return seen
        }
    }

    @Test("sees the task's values and priority and the queue's quality of service, wherever it is awaited and whatever waits")
    func sight() async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.serial(label: "sight", qos: .utility, scheduler: scheduler)
        let caller = Caller()
        @Sendable func look() async throws -> [Sight] {
            var seen = [try await queue.run { Sight() }, try await caller.sees(queue)]
            for _ in 0..<3 { queue.async {} }
            seen.append(try await queue.run { Sight() })
            return seen
        }
        let expected = Sight(name: "me", priority: .high, qos: .utility, label: "sight")
        try await Self.$name.withValue("me") {
            let elsewhere = try await Task(priority: .high) { try await look() }.value
            #expect(elsewhere == [expected, expected, expected])
            let onWorker = try await Task(executorPreference: scheduler, priority: .high) { try await look() }.value
            #expect(onWorker == [expected, expected, expected])
        }
    }

    @Test("is a closure of the queue to whoever asks", arguments: [1, 2, TaskQueue.unlimited])
    func counted(width: Int) async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        try await Task(executorPreference: scheduler) {
            for _ in 0..<10 {
                let seen = try await queue.run {
                    [queue.pendingTaskCount, queue.runningTaskCount, queue.cancelAll(), Cancellation.isRequested ? 1 : 0]
                }
                #expect(seen == [1, 1, 0, 1])
                while queue.pendingTaskCount > 0 { await Task.yield() }
            }
        }.value
        let (gate, waiter, waited) = (Gate(), Log<String>(), Counter())
        let runs = Task(executorPreference: scheduler) {
            try await queue.run { gate.pass() }
        }
        while gate.arrivals == 0 { await Task.yield() }
        onThread {
            waiter.note(thisThread())
            queue.waitUntilAllTasksAreFinished()
            waited.add()
        }
        while waiter.all.isEmpty { await Task.yield() }
        #expect(comesToRest(Set(waiter.all)))
        #expect(waited.count == 0)
        gate.open()
        try await runs.value
        while waited.count == 0 { await Task.yield() }
    }

    @Test("lets go of its caller's actor", arguments: [true, false])
    func lettingGo(onWorker: Bool) async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue.serial(scheduler: scheduler)
        let caller = Caller()
        let task =
            onWorker
            ? Task(executorPreference: scheduler) { try await caller.isLetGo(by: queue) }
            : Task { try await caller.isLetGo(by: queue) }
        #expect(try await task.value)
    }

    @Test("does not hold up who starts its task on the spot")
    func immediate() async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue.serial(scheduler: scheduler)
        func starts(_ gate: Gate) -> Task<Void, any Error> {
            let task = Task.immediate { try await queue.run { gate.pass() } }
            gate.open()
            return task
        }
        try await Task(executorPreference: scheduler) { try await starts(Gate()).value }.value
    }

    @Test("lets others have the worker, however often it is free", arguments: [1, TaskQueue.unlimited])
    func fairness(width: Int) async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        let over = Counter()
        try await Task(executorPreference: scheduler) {
            let other = Task(executorPreference: scheduler) { over.add() }
            while over.count == 0 { try await queue.run {} }
            _ = await other.value
        }.value
    }

    @Test("starts after every earlier closure of its thread, of a wide queue", arguments: [2, TaskQueue.unlimited])
    func order(width: Int) async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        let log = Log<Int>()
        try await Task(executorPreference: scheduler) {
            for number in 0..<100 {
                queue.async { log.note(2 * number) }
                try await queue.run { log.note(2 * number + 1) }
            }
        }.value
        #expect(log.all == Array(0..<200))
    }

    @Test("does not start on a suspended queue, nor during a barrier")
    func heldBack() async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        let (gate, ran) = (Gate(), Counter())
        try await queue.run {}
        queue.suspend()
        let suspended = Task(executorPreference: scheduler) { try await queue.run { _ = ran.add() } }
        while queue.pendingTaskCount == 0 { await Task.yield() }
        #expect(ran.count == 0)
        queue.resume()
        try await suspended.value
        queue.async(flags: .barrier) { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let barred = Task(executorPreference: scheduler) { try await queue.run { _ = ran.add() } }
        while queue.pendingTaskCount < 2 { await Task.yield() }
        #expect(ran.count == 1)
        gate.open()
        try await barred.value
        #expect(ran.count == 2)
    }

    @Test("is awoken by a cancel at once while every worker is busy, and never runs", arguments: [true, false])
    func cancelledWhileBusy(onWorker: Bool) async {
        let (scheduler, other) = (makeScheduler(workers: 1), makeScheduler(workers: 1))
        let queue = TaskQueue.serial(scheduler: scheduler)
        let (gate, runs) = (Gate(), Counter())
        queue.async { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let task =
            onWorker
            ? Task(executorPreference: other) { try await queue.run { _ = runs.add() } }
            : Task { try await queue.run { _ = runs.add() } }
        while queue.pendingTaskCount < 2 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        await queue.drained()
        #expect(runs.count == 0)
    }

    @Test("cancelled while it waits does not keep the queue, which begins what it holds when it is let go")
    func queueLetGo() async {
        let (scheduler, ran) = (makeScheduler(), Counter())
        await {
            let queue = TaskQueue.serial(scheduler: scheduler)
            queue.suspend()
            queue.async { ran.add() }
            let task = Task { try await queue.run {} }
            while queue.pendingTaskCount < 2 { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }()
        while ran.count == 0 { await Task.yield() }
    }

    @Test("cancelled while it waits is counted as cancelled by the queue's progress")
    func progress() async {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        queue.trackProgress()
        queue.suspend()
        let task = Task { try await queue.run { 1 } }
        while queue.pendingTaskCount == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        queue.resume()
        await queue.drained()
        while queue.progress?.isFinished == false { await Task.yield() }
        #expect(queue.progress.map { [$0.total, $0.done, $0.failed, $0.cancelled] } == [1, 1, 0, 1])
    }

    @Test("on the main queue is cancelled while it waits, and comes from there else")
    func main() async throws {
        let (gate, runs) = (Gate(), Counter())
        TaskQueue.main.async { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let cancelled = Task.detached { try await TaskQueue.main.run { _ = runs.add() } }
        let other = Task.detached { try await TaskQueue.main.run { MainActor.assumeIsolated { runs.add(10) } } }
        while TaskQueue.main.pendingTaskCount < 3 { await Task.yield() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        #expect(try await other.value == 10)
    }

    /// What has become of a call.
    private struct Ledger: Sendable {
        let begun = Counter(), ran = Counter(), cancelled = Counter()
    }

    /// Awaits closures one after the other, each cancelled or not, and enters what became of it.
    @Sendable private static func awaitSome(
        _ count: Int, on queue: TaskQueue, seed: Int, by executor: (any TaskExecutor)?, in ledger: Ledger
    ) async {
        for number in 0..<count {
            let ends = Counter()
            let task = Task(executorPreference: executor) {
                do {
                    try await queue.run {
                        ends.add()
                        ledger.begun.add()
                    }
                    #expect(ends.count == 1)
                    ledger.ran.add()
                } catch {
                    #expect(error is CancellationError)
                    #expect(ends.count == 0)
                    ledger.cancelled.add()
                }
            }
            if (number ^ seed) & 3 == 0 { task.cancel() }
            if (number ^ seed) & 1 == 0 { await task.value }
            if number % 50 == seed { _ = queue.cancelAll() }
            if number % 20 == seed {
                queue.suspend()
                queue.resume()
            }
            await task.value
        }
    }

    @Test("runs once or is cancelled once, whatever meets", arguments: [1, 2, TaskQueue.unlimited], [true, false])
    func exactlyOnce(width: Int, onWorkers: Bool) async {
        let scheduler = makeScheduler(workers: 3)
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        let ledger = Ledger()
        let (tasks, count) = (6, 400)
        let executor = onWorkers ? scheduler : nil
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<tasks {
                group.addTask(executorPreference: executor) {
                    await Self.awaitSome(count, on: queue, seed: seed, by: executor, in: ledger)
                }
            }
        }
        #expect(ledger.ran.count + ledger.cancelled.count == tasks * count)
        #expect(ledger.begun.count == ledger.ran.count)
        #expect(ledger.ran.count > 0)
        #expect(ledger.cancelled.count > 0)
        await queue.drained()
        #expect(queue.pendingTaskCount == 0)
    }
}
