import Dispatch
import OverdriveCore
import Testing

@Suite("The main queue", .timeLimit(.minutes(10)))
struct MainQueueTests {
    @Test("onMain runs its closure on the main actor")
    func onMain() async {
        let count = await withCheckedContinuation { continuation in
            TaskQueue.onMain {
                MainActor.assertIsolated()
                continuation.resume(returning: 1)
            }
        }
        #expect(count == 1)
    }

    @Test("is where a closure is that came to it by libdispatch")
    func itself() async {
        let key = TaskQueue.SpecificKey<Int>()
        TaskQueue.main.setSpecific(key: key, value: 7)
        let (label, value) = await withCheckedContinuation { continuation in
            DispatchQueue.main.async { continuation.resume(returning: (TaskQueue.currentLabel, TaskQueue.getSpecific(key: key))) }
        }
        #expect(label == TaskQueue.main.label && value == 7)
        TaskQueue.main.setSpecific(key: key, value: nil)
    }

    @Test("counts what is pending, and is drained when all of it ran")
    func pending() async {
        let runs = Counter()
        let gate = Gate()
        TaskQueue.main.async { gate.pass() }
        for _ in 0..<10 { TaskQueue.main.async { runs.add() } }
        #expect(TaskQueue.main.pendingTaskCount >= 11)
        gate.open()
        await TaskQueue.main.drained()
        #expect(runs.count == 10)
    }

    @Test("is waited for from other threads")
    func wait() {
        let runs = Counter()
        for _ in 0..<10 { TaskQueue.main.async { runs.add() } }
        onThreads(2) { _ in
            TaskQueue.main.waitUntilAllTasksAreFinished()
            #expect(runs.count == 10)
        }
    }

    @Test("releases what its closures captured")
    func captures() async {
        let census = Census()
        for _ in 0..<10 {
            let tracked = census.newborn()
            TaskQueue.main.async { tracked.touch() }
        }
        await TaskQueue.main.drained()
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 10)
    }
}
