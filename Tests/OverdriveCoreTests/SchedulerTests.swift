import OverdriveCore
import Testing

@Suite("A scheduler", .timeLimit(.minutes(10)))
struct SchedulerTests {
    // MARK: - Options

    @Test("has as many workers as it is told", arguments: [1, 2, 3, 1_024])
    func workers(count: Int) throws {
        #expect(try Scheduler(workers: count).workerCount == count)
    }

    @Test("has as many workers as suit the machine unless it is told, and the name that it is given")
    func defaults() throws {
        let scheduler = try Scheduler()
        #expect(scheduler.workerCount == Machine.current.workerCount)
        #expect(scheduler.name == "overdrive")
        #expect(try Scheduler(name: "à la carte, a very long name").name == "à la carte, a very long name")
        #expect(Scheduler.shared === Scheduler.shared)
        #expect(Scheduler.shared.workerCount == Machine.current.workerCount)
    }

    @Test("takes every placement", arguments: Scheduler.Placement.allCases)
    func placement(_ placement: Scheduler.Placement) throws {
        let queue = TaskQueue(scheduler: try Scheduler(workers: 2, placement: placement))
        let places = Log<[Int]>()
        for _ in 0..<100 { queue.async { places.note(allowedCPUs()) } }
        queue.waitUntilAllTasksAreFinished()
        let planned = try plannedCPUs("\(placement)", workers: 2)
        #expect(places.all.count == 100)
        #expect(places.all.allSatisfy(planned.contains))
    }

    @Test("refuses absurd numbers of workers with a sentence", arguments: [0, -1, 1_025, 5_000_000_000, .max, .min])
    func absurdWorkers(count: Int) throws {
        let error = try #require(throws: SchedulerError.self) { try Scheduler(workers: count) }
        #expect(error == .outOfRange("workers: out of range (\(count)). Choose 1 to 1024, or nil to follow the machine's limits."))
        let scheduler = makeScheduler()
        let change = try #require(throws: SchedulerError.self) { try scheduler.setWorkerCount(count) }
        #expect("\(change)".contains("\(count)"))
        #expect(scheduler.workerCount == 2)
    }

    @Test("refuses absurd stacks with a sentence", arguments: [0, -1, 1, 65_535, (64 << 30) + 1, .max])
    func absurdStacks(bytes: Int) throws {
        let error = try #require(throws: SchedulerError.self) { try Scheduler(stackSize: bytes) }
        #expect("\(error)".hasPrefix("stackSize: out of range (\(bytes) bytes). Choose "))
    }

    @Test("refuses absurd numbers of spare workers with a sentence", arguments: [-1, 1_025, .max, .min])
    func absurdSpares(count: Int) throws {
        let error = try #require(throws: SchedulerError.self) { try Scheduler(spareWorkers: count) }
        #expect("\(error)".hasPrefix("spareWorkers: out of range (\(count)). Choose 0 to 1024."))
    }

    @Test("takes the least and the most that its sentences name", arguments: [64 << 10, 64 << 30])
    func extremes(stack: Int) throws {
        #expect(throws: Never.self) { try Scheduler(workers: 1, stackSize: stack, spareWorkers: 0) }
        #expect(throws: Never.self) { try Scheduler(workers: 1_024, spareWorkers: 1_024) }
    }

    @Test("gives closures the stack that it was asked for")
    func stack() throws {
        let queue = TaskQueue(scheduler: try Scheduler(workers: 1))
        func deep(_ left: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { room in
                room[0] = UInt8(left & 1)
                return Int(room[0]) + (left == 0 ? 0 : deep(left - 1))
            }
        }
        let sum = Log<Int>()
        queue.async { sum.note(deep(100)) }
        queue.waitUntilAllTasksAreFinished()
        #expect(sum.all == [50])
    }

    // MARK: - Threads

    @Test("knows its own threads")
    func isCurrent() {
        let (scheduler, other) = (makeScheduler(), makeScheduler())
        let answers = Log<[Bool]>()
        #expect(!scheduler.isCurrent)
        let queue = TaskQueue(scheduler: scheduler)
        queue.async { answers.note([scheduler.isCurrent, other.isCurrent]) }
        queue.waitUntilAllTasksAreFinished()
        #expect(answers.all == [[true, false]])
    }

    @Test("shrinks while it runs")
    func shrinks() throws {
        let scheduler = makeScheduler(workers: 6)
        let queue = TaskQueue(scheduler: scheduler)
        let gate = Gate()
        for _ in 0..<6 { queue.async { gate.pass() } }
        #expect(eventually { gate.arrivals == 6 })
        try scheduler.setWorkerCount(2)
        #expect(scheduler.workerCount == 2)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(eventually { scheduler.metrics.active <= 2 })
        let (crowd, meeting) = (Crowd(), Meeting(of: 2))
        for _ in 0..<500 { queue.async { crowd.visit { meeting.attend() } } }
        queue.waitUntilAllTasksAreFinished()
        #expect(crowd.most == 2)
    }

    @Test("follows the machine's limits again when its number is taken back")
    func followsAgain() throws {
        let suits = Machine.current.workerCount
        let scheduler = makeScheduler(workers: suits + 1)
        try scheduler.setWorkerCount(nil)
        #expect(scheduler.workerCount == suits)
    }

    // MARK: - Counts

    @Test("counts exactly while nothing runs", arguments: [1, 2, 4])
    func metrics(workers: Int) {
        let scheduler = makeScheduler(workers: workers)
        let queues = [TaskQueue(scheduler: scheduler), .serial(scheduler: scheduler)]
        for round in 1...5 {
            let group = WaitGroup()
            for number in 0..<500 {
                queues[number % 2].async(group: group) { queues[0].async(group: group) {} }
            }
            group.wait()
            #expect(eventually { scheduler.metrics.executed == 1_000 * round })
        }
        let metrics = scheduler.metrics
        #expect(metrics.executed == 5_000)
        #expect(metrics.cancelled == 0)
        #expect(metrics.ranOnCallers == 0)
        #expect(metrics.workers == workers)
        #expect(metrics.threadsStarted >= 1 && metrics.threadsStarted <= workers)
        #expect(metrics.threadFailures == 0)
        #expect(metrics.mostSpares == 0)
        #expect(metrics.injectorBatches >= 1 && metrics.injectorClosures >= metrics.injectorBatches)
        #expect(zip(metrics.stolen, metrics.steals).allSatisfy { $0 >= $1 })
        #expect(metrics.stolen.count == 3 && metrics.steals.count == 3)
    }

    @Test("counts what sync runs on no worker's account")
    func syncMetrics() {
        let scheduler = makeScheduler()
        let queue = TaskQueue.serial(scheduler: scheduler)
        for _ in 0..<100 { queue.sync {} }
        #expect(scheduler.metrics.executed == 0)
    }

    // MARK: - Its life

    @Test("that goes away runs what was submitted first")
    func released() {
        for workers in 1...3 {
            let runs = Counter()
            do {
                let queue = TaskQueue(scheduler: makeScheduler(workers: workers))
                for _ in 0..<500 { queue.async { runs.add() } }
            }
            #expect(eventually { runs.count == 500 })
        }
    }

    @Test("that goes away keeps nobody waiting who lets go of it")
    func releasedInTime() {
        let (inside, gate, after) = (Gate(), Gate(), Counter())
        do {
            let scheduler = makeScheduler(workers: 1)
            let queue = TaskQueue.serial(label: "last", scheduler: scheduler)
            queue.async {
                inside.open()
                gate.pass()
            }
            queue.async { after.add() }
            inside.pass()
        }
        gate.open()  // behind the place where it went away
        #expect(eventually { after.count == 1 })
    }

    @Test("that goes away in one of its own closures stops all the same")
    func releasedFromInside() {
        let runs = Counter()
        let census = Census()
        for _ in 0..<50 {
            let tracked = census.newborn()
            let holder = Holder<TaskQueue?>(TaskQueue(scheduler: makeScheduler()))
            let gate = Gate()
            holder.value?.async {
                gate.pass()
                // The last reference to the queue, and with it to the scheduler, goes here.
                holder.value = nil
                tracked.touch()
                runs.add()
            }
            gate.open()
        }
        #expect(eventually { runs.count == 50 && census.alive == 0 })
    }

    @Test("that goes away in another scheduler's closure stops all the same")
    func releasedFromAnother() {
        let outer = TaskQueue(scheduler: makeScheduler(workers: 1))
        let runs = Counter()
        for _ in 0..<20 {
            outer.async {
                let inner = TaskQueue(scheduler: makeScheduler())
                for _ in 0..<20 { inner.async { runs.add() } }
            }
        }
        outer.waitUntilAllTasksAreFinished()
        #expect(eventually { runs.count == 400 })
    }

    @Test("is one of many that come and go at once")
    func many() {
        let runs = Counter()
        onThreads(3) { thread in
            for _ in 0..<30 {
                let queue = TaskQueue(maxConcurrentTaskCount: thread + 1, scheduler: makeScheduler())
                for _ in 0..<10 { queue.async { queue.async { runs.add() } } }
                queue.waitUntilAllTasksAreFinished()
            }
        }
        #expect(runs.count == 900)
    }
}
