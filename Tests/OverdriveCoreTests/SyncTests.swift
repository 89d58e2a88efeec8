import OverdriveCore
import Testing

@Suite("sync", .timeLimit(.minutes(10)))
struct SyncTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    @Test("throws what its closure throws, with its type", arguments: widths)
    func typedThrow(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        do throws(Flaw) {
            try queue.sync { () throws(Flaw) in throw Flaw(number: 7) }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == Flaw(number: 7))
        }
        // The queue goes on.
        #expect(queue.sync { 1 } == 1)
    }

    @Test("holds one of a limited queue's places")
    func limited() {
        let queue = TaskQueue(maxConcurrentTaskCount: 2, scheduler: makeScheduler(workers: 4))
        let (gate, threads) = (Gate(), Log<String>())
        for _ in 0..<3 {
            onThread {
                threads.note(thisThread())
                queue.sync { gate.pass() }
            }
        }
        #expect(eventually { threads.all.count == 3 })
        #expect(comesToRest(Set(threads.all)))
        #expect(gate.arrivals == 2)
        gate.open()
        #expect(eventually { gate.arrivals == 3 })
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
