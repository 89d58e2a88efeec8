import OverdriveCore
import Testing

@Suite("Shutting a scheduler down", .timeLimit(.minutes(10)))
struct ShutdownTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    @Test("that never worked reports nothing")
    func unused() async {
        let report = await makeScheduler().shutdown(deadline: .zero)
        #expect(report.ran == 0 && report.cancelled == 0 && report.stuck == 0)
        #expect(report.stuckQueues.isEmpty)
    }

    @Test("runs everything when there is time, and reports how much", arguments: widths)
    func everything(width: Int) {
        for _ in 0..<10 {
            let scheduler = makeScheduler()
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
            let runs = Counter()
            for _ in 0..<300 {
                queue.async {
                    queue.async { runs.add() }
                }
            }
            let report: ShutdownReport = scheduler.shutdown(deadline: .seconds(20))
            #expect(runs.count == 300)
            #expect(report.ran == 600)
            #expect(report.cancelled == 0)
            #expect(report.stuck == 0)
        }
    }

    @Test("cancels at the deadline what has not started, names what runs, empties the groups", arguments: widths)
    func deadline(width: Int) {
        let scheduler = makeScheduler(workers: 2)
        let queue = TaskQueue.concurrent(label: "stubborn", maxConcurrentTaskCount: width, scheduler: scheduler)
        let census = Census()
        let (group, running) = (WaitGroup(), WaitGroup())
        let (started, gate) = (Counter(), Gate())
        let stuck = width == 1 ? 1 : 2
        for _ in 0..<stuck {
            queue.async(group: running) {
                started.add()
                gate.pass()
            }
        }
        #expect(eventually { started.count == stuck })
        for _ in 0..<100 {
            let tracked = census.newborn()
            queue.async(group: group) { tracked.touch() }
        }
        let report: ShutdownReport = scheduler.shutdown(deadline: .milliseconds(5))
        #expect(report.ran == 0)
        #expect(report.stuck == stuck)
        #expect(report.stuckQueues == Array(repeating: "stubborn", count: stuck))
        #expect(report.cancelled == 100)
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(census.alive == 0)
        gate.open()
        running.wait()
    }

    @Test("cancels at the deadline what suspended queues hold", arguments: widths)
    func suspended(width: Int) {
        let scheduler = makeScheduler()
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        let group = WaitGroup()
        let census = Census()
        queue.suspend()
        for _ in 0..<50 {
            let tracked = census.newborn()
            queue.async(group: group) { tracked.touch() }
        }
        let report: ShutdownReport = scheduler.shutdown(deadline: .milliseconds(5))
        #expect(report.ran == 0)
        #expect(report.cancelled == 50)
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(census.alive == 0)
    }

    @Test("under load accounts for every closure", arguments: widths)
    func exact(width: Int) {
        for round in 0..<10 {
            let scheduler = makeScheduler(workers: 1 + round % 3)
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
            let group = WaitGroup()
            let census = Census()
            let runs = Counter()
            let reports = Log<ShutdownReport>()
            onThreads(3) { thread in
                if thread == 0 {
                    reports.note(scheduler.shutdown(deadline: .microseconds(50 * round)))
                } else {
                    for _ in 0..<500 {
                        let tracked = census.newborn()
                        queue.async(group: group) {
                            tracked.touch()
                            runs.add()
                        }
                    }
                }
            }
            #expect(group.wait(timeout: .seconds(20)) == .success)
            #expect(census.alive == 0)
            let metrics = scheduler.metrics
            #expect(metrics.executed == runs.count)
            #expect(metrics.executed + metrics.cancelled == 1_000)
        }
    }

    @Test("a second time returns the first report, from several threads too")
    func again() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        for _ in 0..<50 { queue.async {} }
        let reports = Log<ShutdownReport>()
        onThreads(3) { _ in reports.note(scheduler.shutdown(deadline: .seconds(10))) }
        #expect(reports.all.count == 3)
        #expect(reports.all.allSatisfy { $0 == reports.all[0] && $0.ran == 50 })
    }

    @Test("discards later closures, counted, and tells their groups", arguments: widths)
    func laterClosures(width: Int) {
        let scheduler = makeScheduler()
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        queue.async {}
        scheduler.shutdown(deadline: .seconds(10))
        let group = WaitGroup()
        let runs = Counter()
        for _ in 0..<50 { queue.async(group: group) { runs.add() } }
        group.wait()
        #expect(runs.count == 0)
        #expect(scheduler.metrics.cancelled == 50)
        #expect(scheduler.metrics.executed == 1)
        #expect(queue.sync { 1 } == 1)
        queue.waitUntilAllTasksAreFinished()
        #expect(queue.pendingTaskCount == 0)
    }

    @Test("lets later tasks go on, and cancels run")
    func laterTasks() async throws {
        let scheduler = makeScheduler()
        await scheduler.shutdown(deadline: .seconds(10))
        #expect(await Task(executorPreference: scheduler) { 7 }.value == 7)
        for queue in [TaskQueue(scheduler: scheduler), .serial(scheduler: scheduler)] {
            await #expect(throws: CancellationError.self) { try await queue.run { 8 } }
        }
    }

    @Test("loses no Swift task whose job waits at the deadline")
    func waitingSwiftTask() async throws {
        let scheduler = try Scheduler(workers: 1, name: "brief", spareWorkers: 0)
        let (begun, gate) = (WaitGroup(), Gate())
        begun.enter()
        TaskQueue(scheduler: scheduler).async {
            begun.leave()
            gate.pass()
        }
        await begun.wait()
        let task = Task(executorPreference: scheduler) { 7 }
        let report = await scheduler.shutdown(deadline: .zero)
        #expect(report.cancelled == 1)
        #expect(await task.value == 7)
        gate.open()
    }

    @Test("loses no Swift task that awaits something on a worker that is stuck")
    func stuckSwiftTask() async throws {
        let scheduler = try Scheduler(workers: 1, name: "brief", spareWorkers: 0)
        let (begun, gate) = (WaitGroup(), Gate())
        begun.enter()
        let task = Task(executorPreference: scheduler) {
            begun.leave()
            pass(gate)
            await Task.yield()
            return 7
        }
        await begun.wait()
        let report = await scheduler.shutdown(deadline: .zero)
        #expect(report.stuck == 1)
        gate.open()
        #expect(await task.value == 7)
    }

    @Test("names a stuck Swift task by no queue's label")
    func stuckTask() async {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.concurrent(label: "finished long ago", scheduler: scheduler)
        queue.async {}
        await queue.drained()
        let started = Counter()
        let gate = Gate()
        let task = Task(executorPreference: scheduler) {
            started.add()
            pass(gate)
        }
        while started.count == 0 { await Task.yield() }
        let report = await scheduler.shutdown(deadline: .zero)
        #expect(report.stuck == 1)
        #expect(report.stuckQueues.isEmpty)
        gate.open()
        await task.value
    }

    @Test("names no stuck queue that has no label")
    func stuckWithoutLabel() async {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        let started = Counter()
        let gate = Gate()
        queue.async {
            started.add()
            gate.pass()
        }
        while started.count == 0 { await Task.yield() }
        let report = await scheduler.shutdown(deadline: .zero)
        #expect(report.stuck == 1)
        #expect(report.stuckQueues.isEmpty)
        gate.open()
        await queue.drained()
    }

    /// A blocking wait, in a task on purpose.
    private func pass(_ gate: Gate) {
        gate.pass()
    }
}
