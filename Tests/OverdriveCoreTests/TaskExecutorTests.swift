import OverdriveCore
import Testing

@Suite("A scheduler as a task executor", .timeLimit(.minutes(10)))
struct TaskExecutorTests {
    @Test("runs tasks and their children that prefer it")
    func preference() async {
        let scheduler = makeScheduler()
        await withTaskExecutorPreference(scheduler) {
            #expect(scheduler.isCurrent)
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { scheduler.isCurrent } }
                for await onWorker in group { #expect(onWorker) }
            }
            async let child = scheduler.isCurrent
            #expect(await child)
            await Task.yield()
            #expect(scheduler.isCurrent)
        }
        #expect(!scheduler.isCurrent)
    }

    @Test("comes back after a sleep and a continuation from elsewhere")
    func comesBack() async throws {
        let scheduler = makeScheduler()
        let other = TaskQueue(scheduler: makeScheduler())
        try await Task(executorPreference: scheduler) {
            for _ in 0..<20 {
                try await Task.sleep(for: .microseconds(100))
                #expect(scheduler.isCurrent)
                await withCheckedContinuation { continuation in other.async { continuation.resume() } }
                #expect(scheduler.isCurrent)
                try await other.run {}
                #expect(scheduler.isCurrent)
            }
        }.value
    }

    @Test("a scheduler that only a task keeps alive goes when the task ends, wherever that is")
    func lastReference() async {
        /// A task on a scheduler that nobody else holds, and which waits to be resumed.
        func start(stopped: Bool) async -> (Task<Void, Never>, CheckedContinuation<Void, Never>, Weak)? {
            let scheduler = makeScheduler(workers: 1)
            let (began, beginning) = AsyncStream.makeStream(of: CheckedContinuation<Void, Never>.self)
            let task = Task(executorPreference: scheduler) {
                await withCheckedContinuation { _ = beginning.yield($0) }
            }
            var iterator = began.makeAsyncIterator()
            guard let waiting = await iterator.next() else { return nil }  // the test's time is over
            if stopped { _ = await scheduler.shutdown(timeout: .seconds(20)) }
            return (task, waiting, Weak(scheduler))
        }
        for round in 0..<200 {
            let stopped = round % 2 == 0
            guard let (task, waiting, scheduler) = await start(stopped: stopped) else { return }
            // Where it was stopped, the task runs to its end in here, on the thread that submits it.
            waiting.resume()
            await task.value
            if stopped { #expect(eventually { scheduler.value == nil }) }
        }
    }

    @Test("lets actors keep their isolation, and goes on with their work on the workers")
    func actors() async {
        actor Account {
            var balance = 0
            func deposit() { balance += 1 }
        }
        let scheduler = makeScheduler(workers: 3)
        let account = Account()
        await withTaskExecutorPreference(scheduler) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        for _ in 0..<100 { await account.deposit() }
                    }
                }
            }
        }
        #expect(await account.balance == 2_000)
    }

    @Test("hops to the main actor and back")
    func mainActor() async {
        let scheduler = makeScheduler()
        await Task(executorPreference: scheduler) {
            for _ in 0..<20 {
                await MainActor.run { #expect(!scheduler.isCurrent) }
                #expect(scheduler.isCurrent)
            }
        }.value
    }

    @Test("tells tasks of their cancellation")
    func cancellation() async {
        let scheduler = makeScheduler()
        let task = Task(executorPreference: scheduler) {
            while !Cancellation.isRequested { await Task.yield() }
            return Task.isCancelled
        }
        task.cancel()
        #expect(await task.value)
        let group = await withTaskGroup(of: Bool.self) { group in
            group.cancelAll()
            for _ in 0..<10 { group.addTask(executorPreference: scheduler) { Task.isCancelled } }
            return await group.reduce(true) { $0 && $1 }
        }
        #expect(group)
    }

    @Test("keeps task-local values and priorities")
    func context() async {
        let scheduler = makeScheduler()
        let seen = await Local.$number.withValue(5) {
            await Task(executorPreference: scheduler, priority: .high) {
                (Local.number, Task.currentPriority)
            }.value
        }
        #expect(seen.0 == 5)
        #expect(seen.1 >= .high)
    }

    @Test("starts tasks in order on one worker")
    func order() async {
        let scheduler = makeScheduler(workers: 1)
        let order = Log<Int>()
        let gate = Gate()
        let queue = TaskQueue(scheduler: scheduler)
        queue.async { gate.pass() }
        let tasks = (0..<200).map { number in
            Task(executorPreference: scheduler) { order.note(number) }
        }
        gate.open()
        for task in tasks { await task.value }
        #expect(order.all == Array(0..<200))
    }

    @Test("mixes tasks with closures of every band")
    func mixed() async {
        let scheduler = makeScheduler()
        let runs = Counter()
        let group = WaitGroup()
        let queues = TaskQueue.QoS.allCases.map { TaskQueue(qos: $0, scheduler: scheduler) }
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<500 {
                tasks.addTask(executorPreference: scheduler) {
                    queues[number % 5].async(group: group) { runs.add() }
                    await Task.yield()
                    runs.add()
                }
            }
        }
        await group.wait()
        #expect(runs.count == 1_000)
    }

    @Test("takes linear time for many children")
    func linear() async {
        let scheduler = makeScheduler()
        func children(_ count: Int) async -> Duration {
            await ContinuousClock().measure {
                let sum = await withTaskGroup(of: Int.self) { group in
                    for number in 0..<count { group.addTask(executorPreference: scheduler) { number } }
                    return await group.reduce(0, +)
                }
                #expect(sum == count * (count - 1) / 2)
            }
        }
        _ = await children(1_000)
        // Ten times as many: a quadratic order takes a hundred times as long. A full machine may delay one try.
        var isLinear = false
        for _ in 0..<5 where !isLinear {
            let few = await children(10_000)
            isLinear = await children(100_000) < few * 50
        }
        #expect(isLinear)
    }

    @Test("that goes away with its last task leaves the thread that resumed it alone")
    func goesAwayWhileResumed() async {
        for _ in 0..<200 {
            let continuations = Log<UnsafeContinuation<Void, Never>>()
            let task = Task(executorPreference: makeScheduler(workers: 1)) {
                await withUnsafeContinuation { continuations.note($0) }
            }
            while continuations.all.isEmpty { await Task.yield() }
            onThreads(1) { _ in continuations.all[0].resume() }
            await task.value
        }
    }
}

private enum Local {
    @TaskLocal static var number = 0
}

/// Holds no reference to a scheduler.
private final class Weak: Sendable {
    private weak let scheduler: Scheduler?

    init(_ scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    var value: Scheduler? { scheduler }
}
