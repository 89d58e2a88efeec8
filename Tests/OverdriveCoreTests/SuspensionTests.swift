import OverdriveCore
import Testing

@Suite("Suspension", .timeLimit(.minutes(10)))
struct SuspensionTests {
    @Test("flag is set once however often it is set, beside the count")
    func flag() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        queue.isSuspended = true
        queue.isSuspended = true
        #expect(queue.isSuspended)
        queue.isSuspended = false
        #expect(!queue.isSuspended)
        queue.isSuspended = false

        queue.suspend()
        queue.isSuspended = true
        queue.resume()
        #expect(queue.isSuspended)
        queue.isSuspended = false
        #expect(!queue.isSuspended)

        queue.isSuspended = true
        queue.suspend()
        queue.isSuspended = false
        #expect(queue.isSuspended)
        queue.resume()
        #expect(!queue.isSuspended)
        #expect(queue.sync { 1 } == 1)
    }

    @Test("flag set by many threads at once ends as the last says")
    func flagRaces() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let group = WaitGroup()
        let runs = Counter()
        onThreads(4) { _ in
            for round in 0..<200 {
                queue.isSuspended = round.isMultiple(of: 2)
                queue.async(group: group) { runs.add() }
            }
        }
        queue.isSuspended = false
        #expect(!queue.isSuspended)
        group.wait()
        #expect(runs.count == 800)
    }

    @Test("of a concurrent queue does not keep its own closures from sync")
    func syncFromInside() async {
        await #expect(processExitsWith: .success) {
            let queue = TaskQueue(scheduler: makeScheduler(workers: 1, spares: 8))
            let group = WaitGroup()
            queue.suspend()
            for _ in 0..<4 { queue.async(group: group) { queue.sync {} } }
            queue.resume()
            precondition(group.wait(timeout: .seconds(20)) == .success)
        }
    }
}
