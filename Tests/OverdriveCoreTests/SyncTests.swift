import OverdriveCore
import Testing

@Suite("sync", .timeLimit(.minutes(10)))
struct SyncTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    private enum Trouble: Error, Equatable {
        case number(Int)
    }

    @Test("returns what its closure returns", arguments: widths)
    func result(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        #expect(queue.sync { 42 } == 42)
        #expect(queue.sync { "a string that is not stored in place" }.count == 36)
        #expect(queue.sync { Int?.none } == nil)
        queue.sync {}
    }

    @Test("throws what its closure throws, with its type", arguments: widths)
    func typedThrow(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        do throws(Trouble) {
            try queue.sync { () throws(Trouble) in throw .number(7) }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == .number(7))
        }
        // The queue goes on.
        #expect(queue.sync { 1 } == 1)
    }

    @Test("runs on the calling thread", arguments: widths)
    func callingThread(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let here = threadIdentity()
        for _ in 0..<100 {
            queue.async {}
            #expect(queue.sync { threadIdentity() } == here)
        }
    }

    @Test("runs after everything submitted before on a serial queue")
    func afterEarlier() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let runs = Holder(0)
        for round in 1...300 {
            for _ in 0..<10 { queue.async { runs.value += 1 } }
            #expect(queue.sync { runs.value } == 10 * round)
        }
    }

    @Test("excludes a serial queue's closures and other sync callers")
    func exclusion() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let sum = Holder(0)
        let crowd = Crowd()
        onThreads(4) { thread in
            for _ in 0..<300 {
                if thread < 2 {
                    queue.sync { crowd.visit { sum.value += 1 } }
                } else {
                    queue.async { crowd.visit { sum.value += 1 } }
                }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(sum.value == 1_200)
        #expect(crowd.most == 1)
    }

    @Test("holds one of a limited queue's places")
    func limited() {
        let queue = TaskQueue(maxConcurrentTaskCount: 2, scheduler: makeScheduler(workers: 4))
        let crowd = Crowd()
        onThreads(4) { thread in
            for _ in 0..<200 {
                if thread < 3 {
                    queue.sync { crowd.visit() }
                } else {
                    queue.async { crowd.visit() }
                }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(crowd.most <= 2)
    }

    @Test("waits while the queue is suspended")
    func suspended() {
        for width in Self.widths {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
            let passed = Counter()
            queue.suspend()
            let helper = TaskQueue(scheduler: makeScheduler())
            helper.async {
                queue.sync { _ = passed.add() }
            }
            helper.async { queue.resume() }
            helper.waitUntilAllTasksAreFinished()
            #expect(passed.count == 1)
        }
    }

    @Test("nests over different serial queues")
    func nesting() {
        let scheduler = makeScheduler()
        let queues = (0..<20).map { TaskQueue.serial(label: "\($0)", scheduler: scheduler) }
        func nested(_ depth: Int) -> Int {
            depth == queues.count ? 0 : queues[depth].sync { 1 + nested(depth + 1) }
        }
        for queue in queues { queue.async {} }
        #expect(nested(0) == 20)
    }

    @Test("from one serial queue's closure onto another waits its turn there, on few workers too")
    func acrossQueues() {
        let scheduler = makeScheduler(workers: 1, spares: 8)
        let total = Holder(0)
        let account = TaskQueue.serial(label: "account", scheduler: scheduler)
        let clerks = (0..<10).map { TaskQueue.serial(label: "clerk \($0)", scheduler: scheduler) }
        for _ in 0..<20 {
            for clerk in clerks {
                clerk.async { account.sync { total.value += 1 } }
            }
        }
        for clerk in clerks { clerk.waitUntilAllTasksAreFinished() }
        #expect(account.sync { total.value } == 200)
    }

    @Test("on a concurrent queue from its own closures just runs")
    func ownConcurrentQueue() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let runs = Counter()
        for _ in 0..<100 {
            queue.async { queue.sync { queue.sync { _ = runs.add() } } }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 100)
    }

    @Test("works while the limit changes", arguments: 0..<5)
    func whileWidthChanges(round: Int) {
        let queue = TaskQueue(scheduler: makeScheduler())
        let runs = Counter()
        let done = Counter()
        onThreads(3) { thread in
            if thread == 0 {
                while done.count < 2 {
                    queue.maxConcurrentTaskCount = 1
                    queue.maxConcurrentTaskCount = TaskQueue.unlimited
                }
            } else {
                for _ in 0..<300 {
                    queue.sync { _ = runs.add() }
                    queue.async { runs.add() }
                }
                done.add()
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 1_200)
    }

    @Test("of a value that is not Sendable keeps it in the caller's hands")
    func unsendable() {
        final class Ledger {
            var lines: [String] = []
        }
        let ledger = Ledger()
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        queue.sync { ledger.lines.append("one") }
        let same = queue.sync { ledger }
        #expect(same === ledger)
        #expect(ledger.lines == ["one"])
    }
}
