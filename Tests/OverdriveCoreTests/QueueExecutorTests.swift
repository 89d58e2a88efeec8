import OverdriveCore
import TestSupport
import Testing

@_spi(ExperimentalCustomExecutors) import _Concurrency

@Suite("A queue as an executor", .timeLimit(.minutes(10)))
struct QueueExecutorTests {
    /// An actor on a queue.
    private actor Account {
        private let executor: TaskQueue.ActorExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        var balance = 0
        var visits: [Int] = []

        init(_ executor: TaskQueue.ActorExecutor) {
            self.executor = executor
        }

        func deposit() { balance += 1 }
        func note(_ number: Int) { visits.append(number) }
        func pass(_ crowd: Crowd) { crowd.visit() }
        func label() -> String? { TaskQueue.currentLabel }
        func value(of key: TaskQueue.SpecificKey<Int>) -> Int? { TaskQueue.getSpecific(key: key) }
        func hold(_ gate: Gate) { gate.pass() }
    }

    @Test("runs an actor's jobs and its own closures one at a time, and all of them are the actor's isolation")
    func isolation() async throws {
        let scheduler = makeScheduler(workers: 3)
        let queue = TaskQueue.serial(label: "account", scheduler: scheduler)
        let account = Account(queue.actorExecutor)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    await account.deposit()
                    switch number % 3 {
                    case 0: queue.async { account.assumeIsolated { $0.balance += 1 } }
                    case 1: queue.sync { account.assumeIsolated { $0.balance += 1 } }
                    default: try? await queue.run { account.assumeIsolated { $0.balance += 1 } }
                    }
                }
            }
        }
        await queue.drained()
        #expect(await account.balance == 600)
        #expect(await account.label() == "account")
        queue.sync { account.preconditionIsolated() }
        queue.sync { queue.actorExecutor.checkIsolated() }  // As a runtime before Swift 6.2 asks.
    }

    @Test("lets nobody in twice: two actors and closures on one queue")
    func twoActors() async {
        let queue = TaskQueue.serial(scheduler: makeScheduler(workers: 3))
        let (one, two) = (Account(queue.actorExecutor), Account(queue.actorExecutor))
        let crowd = Crowd()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask { await one.pass(crowd) }
                group.addTask { await two.pass(crowd) }
                queue.async { crowd.visit() }
            }
        }
        #expect(crowd.most == 1)
    }

    @Test("is one executor however often one asks")
    func identity() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        #expect(queue.actorExecutor === queue.actorExecutor)
        #expect(queue.taskExecutor === queue.taskExecutor)
    }

    @Test("holds its jobs back while it is suspended")
    func suspension() async {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let account = Account(queue.actorExecutor)
        queue.suspend()
        let jobs = (0..<10).map { _ in Task { await account.deposit() } }
        let tasks = (0..<10).map { _ in Task(executorPreference: queue.taskExecutor) { TaskQueue.currentLabel } }
        await Task.yield()
        queue.resume()
        for job in jobs { await job.value }
        for task in tasks { #expect(await task.value == "") }
        #expect(await account.balance == 10)
    }

    @Test("drops no job: cancelAll counts closures alone, and a full queue lets jobs in")
    func neverDropped() async throws {
        let scheduler = makeScheduler()
        let queue = TaskQueue(
            pendingLimit: 1, policy: .reject, maxConcurrentTaskCount: 1, initiallyInactive: true, scheduler: scheduler)
        let account = Account(queue.actorExecutor)
        queue.async {}
        #expect(throws: TaskQueue.PendingLimitReached.self) { try queue.tryAsync {} }
        let enqueued = WaitGroup()
        let jobs = (0..<10).map { _ in
            enqueued.enter()
            return Task {
                enqueued.leave()
                await account.deposit()
            }
        }
        await enqueued.wait()
        #expect(queue.cancelAll() == 1)
        queue.activate()
        for job in jobs { await job.value }
        #expect(await account.balance == 10)
    }

    @Test("keeps its limit for the tasks that prefer it, and gives the place away while they wait")
    func limit() async throws {
        let queue = TaskQueue(maxConcurrentTaskCount: 2, scheduler: makeScheduler(workers: 4))
        let (crowd, meeting) = (Crowd(), Meeting(of: 2))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask(executorPreference: queue.taskExecutor) {
                    crowd.visit { meeting.attend() }
                    await Task.yield()
                    crowd.visit()
                }
                queue.async { crowd.visit() }
            }
        }
        await queue.drained()
        #expect(crowd.most == 2)
        // Two tasks that wait for ever leave both places to others.
        let waiting = (0..<2).map { _ in
            Task(executorPreference: queue.taskExecutor) { try? await Task.sleep(for: .seconds(3600)) }
        }
        #expect(await Task(executorPreference: queue.taskExecutor) { 7 }.value == 7)
        for task in waiting { task.cancel() }
    }

    @Test("runs its jobs at its quality of service")
    func qos() async {
        let queue = TaskQueue(qos: .utility, scheduler: makeScheduler())
        #expect(await Task(executorPreference: queue.taskExecutor) { TaskQueue.QoS.current }.value == .utility)
    }

    @Test("lives as long as its executor is kept, with its specific values")
    func life() async {
        let key = TaskQueue.SpecificKey<Int>()
        func queue() -> TaskQueue {
            let queue = TaskQueue.serial(label: "gone", scheduler: makeScheduler())
            queue.setSpecific(key: key, value: 7)
            return queue
        }
        for _ in 0..<20 {
            let (account, preferred) = (Account(queue().actorExecutor), queue().taskExecutor)
            #expect(await Task(executorPreference: preferred) { TaskQueue.getSpecific(key: key) }.value == 7)
            await account.deposit()
            #expect(await account.label() == "gone")
            #expect(await account.value(of: key) == 7)
            #expect(await account.balance == 1)
        }
    }

    @Test("goes on after a shutdown, one job at a time, also beside one that is stuck")
    func shutdown() async {
        let scheduler = makeScheduler(workers: 2)
        let queue = TaskQueue.serial(label: "account", scheduler: scheduler)
        let account = Account(queue.actorExecutor)
        let (gate, crowd) = (Gate(), Crowd())
        let stuck = Task { await account.hold(gate) }
        while gate.arrivals == 0 { await Task.yield() }
        let before = (0..<20).map { _ in Task { await account.pass(crowd) } }
        let report = await scheduler.shutdown(timeout: .zero)
        #expect(report.stuck == 1)
        let after = (0..<20).map { _ in
            Task {
                await account.deposit()
                await account.pass(crowd)
            }
        }
        gate.open()
        for task in before + after + [stuck] { await task.value }
        #expect(crowd.most == 1)
        #expect(await account.balance == 20)
        #expect(await Task(executorPreference: queue.taskExecutor) { 7 }.value == 7)
    }

    @Test("of a dispatch queue runs tasks there")
    func main() async {
        let isOnMain = await Task(executorPreference: TaskQueue.main.taskExecutor) { TaskQueue.currentLabel }.value
        #expect(isOnMain == "main")
    }

    @Test("rests on a job's pointer and on its word behind the header, which this toolchain has")
    func jobWord() async {
        final class Looking: TaskExecutor {
            let answers = Log<Bool>()
            func enqueue(_ job: consuming ExecutorJob) {
                let word = job.withUnsafeExecutorPrivateData { UInt(bitPattern: $0.baseAddress) }
                let job = UnownedJob(job)
                let pointer = unsafeBitCast(job, to: UInt.self)
                answers.note(word == pointer + UInt(JobWord.offset))
                answers.note(ExecutorJob(job).description == ExecutorJob(unsafeBitCast(pointer, to: UnownedJob.self)).description)
                globalConcurrentExecutor.enqueue(job)
            }
        }
        #expect(MemoryLayout<UnownedJob>.size == MemoryLayout<UInt>.size)
        #expect(MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size)
        let looking = Looking()
        await Task(executorPreference: looking) { await Task.yield() }.value
        #expect(looking.answers.all.count >= 4)
        #expect(looking.answers.all.allSatisfy { $0 })
    }
}
