import Dispatch
import OverdriveCore
import Testing

@Suite("The main queue", .timeLimit(.minutes(10)))
struct MainQueueTests {
    @Test("runs closures on the main actor, in order, with their group")
    func async() async {
        let group = WaitGroup()
        let order = Log<Int>()
        for number in 0..<20 {
            TaskQueue.main.async(group: group) {
                MainActor.assertIsolated()
                order.note(number)
            }
        }
        await group.wait()
        #expect(order.all == Array(0..<20))
    }

    @Test("sync runs there and returns or throws here")
    func sync() {
        struct Trouble: Error {}
        let queue = TaskQueue(scheduler: makeScheduler())
        let results = Log<Int>()
        let failures = Counter()
        for _ in 0..<5 {
            queue.async {
                results.note(
                    TaskQueue.main.sync {
                        MainActor.assertIsolated()
                        return 7
                    })
                do throws(Trouble) {
                    try TaskQueue.main.sync { () throws(Trouble) in throw Trouble() }
                } catch {
                    failures.add()
                }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(results.all == [7, 7, 7, 7, 7])
        #expect(failures.count == 5)
    }

    @Test("run comes from there")
    func run() async throws {
        let result = try await TaskQueue.main.run { () -> Int in
            MainActor.assertIsolated()
            return 3
        }
        #expect(result == 3)
    }

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

    @Test("takes a group's notification")
    func notify() async {
        let queue = TaskQueue(scheduler: makeScheduler())
        let group = WaitGroup()
        for _ in 0..<10 { queue.async(group: group) {} }
        await withCheckedContinuation { continuation in
            group.notify(on: .main) {
                MainActor.assertIsolated()
                continuation.resume()
            }
        }
    }

    @Test("shares the order of the main dispatch queue")
    func dispatch() async {
        let order = Log<Int>()
        TaskQueue.main.async { order.note(1) }
        DispatchQueue.main.async { order.note(2) }
        TaskQueue.main.async { order.note(3) }
        await TaskQueue.main.drained()
        #expect(order.all == [1, 2, 3])
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
