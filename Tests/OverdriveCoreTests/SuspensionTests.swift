import OverdriveCore
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite("Suspension", .timeLimit(.minutes(10)))
struct SuspensionTests {
    @Test("keeps closures from starting until it is taken back", arguments: [1, 2, TaskQueue.unlimited])
    func holds(width: Int) {
        let scheduler = makeScheduler()
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
        let other = TaskQueue(scheduler: scheduler)
        let runs = Counter()
        queue.suspend()
        for _ in 0..<100 { queue.async { runs.add() } }
        // Other queues of the scheduler go on.
        for _ in 0..<100 { other.async {} }
        other.waitUntilAllTasksAreFinished()
        #expect(runs.count == 0)
        #expect(queue.pendingTaskCount == 100)
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 100)
    }

    @Test("calls nest")
    func nests() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let runs = Counter()
        queue.suspend()
        queue.suspend()
        queue.async { runs.add() }
        queue.resume()
        #expect(queue.isSuspended)
        #expect(runs.count == 0)
        queue.resume()
        #expect(!queue.isSuspended)
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 1)
    }

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

    @Test("lets what runs go on")
    func running() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let started = Gate()
        let gate = Gate()
        let done = WaitGroup()
        queue.async(group: done) {
            started.open()
            gate.pass()
        }
        started.pass()
        queue.suspend()
        gate.open()
        done.wait()
        queue.resume()
    }

    @Test("by a queue's own closure holds the next one", arguments: [1, 2, TaskQueue.unlimited])
    func fromInside(width: Int) {
        for _ in 0..<50 {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 1))
            let order = Log<Int>()
            let suspended = Gate()
            queue.async {
                order.note(1)
                queue.suspend()
                suspended.open()
            }
            for number in 2...40 { queue.async { order.note(number) } }
            suspended.pass()
            #expect(order.all == [1])
            queue.resume()
            queue.waitUntilAllTasksAreFinished()
            // A concurrent queue may let a batch overtake what was on its way to a worker.
            let isOrdered = width != TaskQueue.unlimited
            #expect((isOrdered ? order.all : order.all.sorted()) == Array(1...40))
        }
    }

    @Test("starts nothing between suspend and resume, under load", arguments: [1, 2, TaskQueue.unlimited])
    func underLoad(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let group = WaitGroup()
        let (started, finished) = (Counter(), Counter())
        let submitters = Counter()
        let wrong = Counter()
        onThreads(3) { thread in
            if thread == 0 {
                while submitters.count < 2 {
                    queue.suspend()
                    // What had started is on its way out; nothing may follow it.
                    if eventually({ started.count == finished.count }) {
                        let seen = started.count
                        for _ in 0..<50 where started.count - seen > 2 { wrong.add() }
                    }
                    queue.resume()
                }
            } else {
                for _ in 0..<3_000 {
                    queue.async(group: group) {
                        started.add()
                        finished.add()
                    }
                }
                submitters.add()
            }
        }
        group.wait()
        #expect(finished.count == 6_000)
        #expect(wrong.count == 0)
        #expect(!queue.isSuspended)
    }

    @Test("nested by many threads at once ends with the last resume")
    func nestedRaces() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let runs = Counter()
        onThreads(4) { _ in
            for _ in 0..<500 {
                queue.suspend()
                queue.async { runs.add() }
                queue.resume()
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(!queue.isSuspended)
        #expect(runs.count == 2_000)
    }

    @Test("of a serial queue keeps its order", arguments: 0..<10)
    func order(round: Int) {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let order = Holder<[Int]>([])
        for number in 0..<500 {
            if number.isMultiple(of: 50) { queue.suspend() }
            queue.async { order.value.append(number) }
            if number % 50 == 30 { queue.resume() }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(order.value == Array(0..<500))
    }

    @Test("of a concurrent queue leaves no limit behind: all of 16 closures wait for each other on one worker")
    func noLimitBehind() async {
        await #expect(processExitsWith: .success) {
            let queue = TaskQueue(scheduler: makeScheduler(workers: 1, spares: 32))
            let inside = Counter()
            let group = WaitGroup()
            queue.suspend()
            for _ in 0..<16 {
                queue.async(group: group) {
                    inside.add()
                    blocking { _ = eventually { inside.count == 16 } }
                }
            }
            queue.resume()
            exit(group.wait(timeout: .seconds(20)) == .success ? 0 : 1)
        }
    }

    @Test("of a concurrent queue does not keep its own closures from sync")
    func syncFromInside() async {
        await #expect(processExitsWith: .success) {
            let queue = TaskQueue(scheduler: makeScheduler(workers: 1, spares: 8))
            let group = WaitGroup()
            queue.suspend()
            for _ in 0..<4 { queue.async(group: group) { queue.sync {} } }
            queue.resume()
            exit(group.wait(timeout: .seconds(20)) == .success ? 0 : 1)
        }
    }

    @Test("holds nothing of what is submitted after a shutdown")
    func afterShutdown() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        scheduler.shutdown(deadline: .seconds(5))
        let runs = Counter()
        queue.isSuspended = true
        for _ in 0..<3 { queue.async { runs.add() } }
        #expect(queue.pendingTaskCount == 0)
        queue.isSuspended = false
        #expect(runs.count == 0)
    }
}
