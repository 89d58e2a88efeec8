import Overdrive
import Testing

@Suite("A dump has tasks", .timeLimit(.minutes(10)))
struct TaskDumpTests {
    private func find(_ label: String, of scheduler: Scheduler) -> Scheduler.Dump.Queue? {
        scheduler.dump().queues.first { $0.label == label }
    }

    @Test("that wait for dependencies, in a queue without closures")
    func waiting() throws {
        let (scheduler, other) = (makeScheduler(workers: 2), makeScheduler(workers: 1))
        let queue = TaskQueue.concurrent(label: "pages", qos: .utility, scheduler: scheduler)
        let gate = Task<Void> { _ in {} }
        gate.start()
        let tasks = (0..<5).map { _ in Task.inline {} }
        for task in tasks { task.add(dependency: gate) }
        queue.add(tasks: tasks)
        let row = try #require(find("pages", of: scheduler))
        #expect(row.waitingTasks == 5 && row.pending == 0 && row.unfinishedTasks == 0 && row.asynchronousTasks == 0)
        let text = scheduler.dump().description
        #expect(text.contains("queue \"pages\" (concurrent, utility): 0 pending, 5 tasks wait for dependencies or conditions"), "\(text)")
        #expect(find("pages", of: other) == nil)  // A queue is in the dump of its own scheduler alone.
        gate.finish(with: .value(()))
        for task in tasks { try task.wait() }
        #expect(eventually { find("pages", of: scheduler) == nil })
    }

    @Test("whose bodies have returned without finish(with:), and no longer once the queue is gone")
    func unfinished() throws {
        let scheduler = makeScheduler(workers: 1)
        let task = Task<Int> { _ in {} }
        TaskQueue.serial(label: "forgetful", scheduler: scheduler).add(task: task)
        #expect(eventually { find("forgetful", of: scheduler)?.unfinishedTasks == 1 })
        let text = scheduler.dump().description
        #expect(text.contains("queue \"forgetful\" (serial, default): 0 pending, 1 task waits for finish(with:)"), "\(text)")
        task.finish(with: .value(1))
        #expect(eventually { find("forgetful", of: scheduler) == nil })
    }

    @Test("whose suspended asynchronous bodies hold a slot")
    func asynchronous() async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.serial(label: "slots", scheduler: scheduler)
        let gate = Task<Void> { _ in {} }
        gate.start()
        let body = Task<Void>.async { try await gate.value }
        queue.add(task: body)
        #expect(eventually { find("slots", of: scheduler)?.asynchronousTasks == 1 })
        queue.async {}
        let row = try #require(find("slots", of: scheduler))
        #expect(row.pending >= 1 && row.running == 0)
        #expect(scheduler.dump().description.contains("1 task is in its async body"))
        gate.finish(with: .value(()))
        try await body.value
        await queue.drained()
    }

    @Test("and names waits for a task, a task group and the tasks of a queue")
    func waits() throws {
        let scheduler = makeScheduler(workers: 3, spares: 8)
        let queue = TaskQueue.concurrent(label: "waits", scheduler: scheduler)
        let tasks = TaskQueue.concurrent(label: "tasks", scheduler: scheduler)
        let gate = Task<Void> { _ in {} }
        let group = TaskGroup()
        tasks.add(task: gate)
        group.register(gate, taskId: "gate")
        queue.async { gate.waitUntilFinished() }
        queue.async { group.waitUntilFinished() }
        queue.async { tasks.waitUntilAllTasksAreFinished() }
        let expected: Set<String> = ["for a task", "for a task group", "for the tasks of a queue"]
        #expect(eventually { Set(scheduler.dump().workers.compactMap(\.waitsFor)) == expected })
        gate.finish(with: .value(()))
        queue.waitUntilAllTasksAreFinished()
    }
}
