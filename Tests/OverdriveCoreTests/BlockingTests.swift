import OverdriveCore
import Testing

@Suite("Blocking", .timeLimit(.minutes(10)))
struct BlockingTests {
    @Test("returns and throws what its body does, anywhere")
    func results() throws {
        #expect(blocking { 5 } == 5)
        #expect(throws: Flaw.self) { try blocking { throw Flaw() } }
        let queue = TaskQueue(scheduler: makeScheduler())
        let seen = Log<Int>()
        queue.async {
            seen.note(blocking { blocking { 6 } })
            do throws(Flaw) { try blocking { () throws(Flaw) in throw Flaw() } } catch { seen.note(7) }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [6, 7])
    }

    @Test("result_of_blocking_may_be_ignored")
    func ignored() {
        let calls = Counter()
        blocking { calls.add() }
        blocking { () -> Int in calls.add() }
        #expect(calls.count == 2)
    }

    @Test("returns a value that does not copy")
    func noncopyable() {
        struct Unique: ~Copyable {
            let number: Int
        }
        let unique = blocking { Unique(number: 4) }
        #expect(unique.number == 4)
    }

    @Test("announced, lets all of 64 closures wait for each other on two workers")
    func announced() {
        let scheduler = makeScheduler(workers: 2, spares: 64)
        let queue = TaskQueue(scheduler: scheduler)
        let (inside, met) = (Counter(), Counter())
        for _ in 0..<64 {
            queue.async {
                inside.add()
                blocking { if eventually({ inside.count == 64 }) { met.add() } }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(met.count == 64)
        #expect(scheduler.metrics.mostSpares >= 62)
    }
}
