import Overdrive
import Testing

@Suite("A task's quality of service", .timeLimit(.minutes(10)))
struct TaskQoSTests {
    @Test("is the higher of its own and its queue's, and readable in its body")
    func higher() throws {
        let scheduler = makeScheduler()
        for own in [TaskQueue.QoS.userInteractive, .utility, .background] {
            let queue = TaskQueue(qos: .utility, scheduler: scheduler)
            let task = Task.inline { TaskQueue.QoS.current }
            task.qos = own
            queue.add(task: task)
            #expect(task.qos == own)
            #expect(try task.wait() == max(own, .utility))
        }
    }

    @Test("is overridden by who waits for the task", arguments: [1, TaskQueue.unlimited])
    func overridden(width: Int) async throws {
        // Who waits hands its place to the spare, which has the choice of all.
        let scheduler = makeScheduler(workers: 1, spares: 1)
        let interactive = TaskQueue(qos: .userInteractive, scheduler: scheduler)
        let middle = TaskQueue(scheduler: scheduler)
        let background = TaskQueue(qos: .background, maxConcurrentTaskCount: width, scheduler: scheduler)
        let before = Counter()
        let ran = try await interactive.run {
            for _ in 0..<100 { middle.async { before.add() } }
            return try background.add { before.count }.wait()
        }
        #expect(ran == 0)
        await middle.drained()
    }
}
