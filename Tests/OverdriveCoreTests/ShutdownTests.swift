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

    @Test("counts what ran, and a second time says the same as the first")
    func ranToTheEnd() async {
        let scheduler = makeScheduler(workers: 2)
        let (queue, held, ran) = (TaskQueue(scheduler: scheduler), TaskQueue.serial(scheduler: scheduler), Counter())
        held.suspend()
        for _ in 0..<7 { held.async { ran.add(100) } }
        for _ in 0..<50 { queue.async { ran.add() } }
        await queue.drained()
        let first = await scheduler.shutdown(deadline: .milliseconds(5))
        #expect(ran.count == 50)
        #expect(first.ran == 50 && first.cancelled == 7 && first.stuck == 0)
        #expect(await scheduler.shutdown(deadline: .seconds(10)) == first)
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
