import OverdriveCore
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite("Blocking", .timeLimit(.minutes(10)))
struct BlockingTests {
    private struct Trouble: Error {}

    @Test("returns and throws what its body does, anywhere")
    func results() throws {
        #expect(blocking { 5 } == 5)
        #expect(throws: Trouble.self) { try blocking { throw Trouble() } }
        let queue = TaskQueue(scheduler: makeScheduler())
        let seen = Log<Int>()
        queue.async {
            seen.note(blocking { blocking { 6 } })
            do throws(Trouble) { try blocking { () throws(Trouble) in throw Trouble() } } catch { seen.note(7) }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [6, 7])
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

    @Test("unannounced is noticed: 64 sleeping closures are all asleep at once")
    func noticed() {
        let scheduler = makeScheduler(workers: 2, spares: 64)
        let queue = TaskQueue(scheduler: scheduler)
        let inside = Counter()
        let gate = Gate()
        for _ in 0..<64 {
            queue.async {
                inside.add()
                gate.pass()
            }
        }
        #expect(eventually { inside.count == 64 })
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(scheduler.metrics.mostSpares >= 62)
        #expect(scheduler.workerCount == 2)
    }

    @Test("hands over no more places than the cap allows")
    func cap() {
        let scheduler = makeScheduler(workers: 2, spares: 3)
        let queue = TaskQueue(scheduler: scheduler)
        let inside = Counter()
        let gate = Gate()
        for _ in 0..<20 {
            queue.async {
                inside.add()
                gate.pass()
            }
        }
        #expect(eventually { inside.count == 5 })
        usleep(50_000)
        #expect(inside.count == 5)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(inside.count == 20)
        #expect(scheduler.metrics.mostSpares == 3)
    }

    @Test("in our own waits hands the place over at once")
    func ownWaits() {
        let scheduler = makeScheduler(workers: 1, spares: 8)
        let queue = TaskQueue(scheduler: scheduler)
        let done = WaitGroup()
        let runs = Counter()
        // Each closure waits for the next one, with one worker.
        func chain(_ left: Int, _ group: WaitGroup) {
            queue.async(group: group) {
                if left > 0 {
                    let next = WaitGroup()
                    chain(left - 1, next)
                    next.wait()
                }
                runs.add()
            }
        }
        chain(8, done)
        done.wait()
        #expect(runs.count == 9)
    }

    @Test("of a serial queue's closure holds up that queue alone")
    func serial() {
        let scheduler = makeScheduler(workers: 1, spares: 4)
        let (blocked, free) = (TaskQueue.serial(scheduler: scheduler), TaskQueue.serial(scheduler: scheduler))
        let gate = Gate()
        blocked.async { gate.pass() }
        let runs = Counter()
        for _ in 0..<100 { free.async { runs.add() } }
        free.waitUntilAllTasksAreFinished()
        #expect(runs.count == 100)
        gate.open()
        blocked.waitUntilAllTasksAreFinished()
    }
}
