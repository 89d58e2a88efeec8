import OverdriveCore
import Testing

@Suite("Shutting a scheduler down", .timeLimit(.minutes(10)))
struct ShutdownTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    @Test("that never worked reports nothing")
    func unused() async {
        let report = await makeScheduler().shutdown(timeout: .zero)
        #expect(report.ran == 0 && report.cancelled == 0 && report.stuck == 0)
        #expect(report.stuckQueues.isEmpty)
    }

    @Test("cancels at the deadline what has not started, names what runs, empties the groups", arguments: widths)
    func deadline(width: Int) {
        let scheduler = makeScheduler(workers: 2)
        let queue = TaskQueue.concurrent(label: "stubborn", maxConcurrentTaskCount: width, scheduler: scheduler)
        let census = Census()
        let (group, running) = (WaitGroup(), WaitGroup())
        let gate = Gate()
        let stuck = width == 1 ? 1 : 2
        for _ in 0..<stuck { queue.async(group: running) { gate.pass() } }
        #expect(eventually { gate.arrivals == stuck })
        for _ in 0..<100 {
            let tracked = census.newborn()
            queue.async(group: group) { tracked.touch() }
        }
        let report: ShutdownReport = scheduler.shutdown(timeout: .milliseconds(5))
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
        let first = await scheduler.shutdown(timeout: .milliseconds(5))
        #expect(ran.count == 50)
        #expect(first.ran == 50 && first.cancelled == 7 && first.stuck == 0)
        #expect(await scheduler.shutdown(timeout: .seconds(10)) == first)
    }

    @Test("lets later tasks go on, and cancels run")
    func laterTasks() async throws {
        let scheduler = makeScheduler()
        await scheduler.shutdown(timeout: .seconds(10))
        #expect(await Task(executorPreference: scheduler) { 7 }.value == 7)
        for queue in [TaskQueue(scheduler: scheduler), .serial(scheduler: scheduler)] {
            await #expect(throws: CancellationError.self) { try await queue.run { 8 } }
        }
    }

    @Test("loses no Swift task whose job waits at the deadline")
    func waitingSwiftTask() async throws {
        let (scheduler, gate) = (makeScheduler(workers: 1), Gate())
        TaskQueue(scheduler: scheduler).async { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let task = Task(executorPreference: scheduler) { 7 }
        let report = await scheduler.shutdown(timeout: .zero)
        #expect(report.cancelled == 1)
        #expect(await task.value == 7)
        gate.open()
    }

    @Test("loses no Swift task that awaits something on a worker that is stuck, and names it by no queue's label")
    func stuckSwiftTask() async throws {
        let (scheduler, gate) = (makeScheduler(workers: 1), Gate())
        let queue = TaskQueue.concurrent(label: "finished long ago", scheduler: scheduler)
        queue.async {}
        await queue.drained()
        let task = Task(executorPreference: scheduler) {
            gate.pass()
            await Task.yield()
            return 7
        }
        while gate.arrivals == 0 { await Task.yield() }
        let report = await scheduler.shutdown(timeout: .zero)
        #expect(report.stuck == 1)
        #expect(report.stuckQueues.isEmpty)
        gate.open()
        #expect(await task.value == 7)
    }

    @Test("names no stuck queue that has no label")
    func stuckWithoutLabel() async {
        let (scheduler, gate) = (makeScheduler(workers: 1), Gate())
        let queue = TaskQueue(scheduler: scheduler)
        queue.async { gate.pass() }
        while gate.arrivals == 0 { await Task.yield() }
        let report = await scheduler.shutdown(timeout: .zero)
        #expect(report.stuck == 1)
        #expect(report.stuckQueues.isEmpty)
        gate.open()
        await queue.drained()
    }
}
