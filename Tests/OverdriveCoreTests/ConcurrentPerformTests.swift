import OverdriveCore
import Synchronization
import Testing

@Suite("concurrentPerform", .timeLimit(.minutes(10)))
struct ConcurrentPerformTests {
    /// Whether each number below `count` was seen exactly once.
    private final class Tally: Sendable {
        private let times: [Counter]

        init(_ count: Int) {
            times = (0..<count).map { _ in Counter() }
        }

        func note(_ number: Int) {
            times[number].add()
        }

        var isExact: Bool { times.allSatisfy { $0.count == 1 } }
    }

    @Test("lets workers help, on the scheduler that the caller is on or says, with the caller's quality of service", arguments: [false, true])
    func workersHelp(isOnScheduler: Bool) {
        let scheduler = makeScheduler(workers: 3)
        let threads = Mutex<Set<UInt>>([])
        let strangers = Counter()
        let queue = TaskQueue(qos: .utility, scheduler: scheduler)
        queue.async {
            let body: @Sendable (Int) -> Void = { _ in
                if !scheduler.isCurrent || TaskQueue.QoS.current != .utility { strangers.add() }
                threads.withLock { _ = $0.insert(threadIdentity()) }
                _ = eventually { threads.withLock { $0.count == 3 } }
            }
            if isOnScheduler {
                scheduler.concurrentPerform(iterations: 3, execute: body)
            } else {
                TaskQueue.concurrentPerform(iterations: 3, execute: body)
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(threads.withLock { $0.count } == 3)
        #expect(strangers.count == 0)
    }

    @Test("is done by the caller alone while every worker is busy")
    func busy() {
        let scheduler = makeScheduler(workers: 2)
        let gate = Gate()
        let queue = TaskQueue(scheduler: scheduler)
        for _ in 0..<2 { queue.async { gate.pass() } }
        #expect(eventually { gate.arrivals == 2 })
        let tally = Tally(500)
        queue.concurrentPerform(iterations: 500) { tally.note($0) }
        #expect(tally.isExact)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("keeps to the queue's limit", arguments: 1...3)
    func limited(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 4))
        let (crowd, meeting) = (Crowd(), Meeting(of: width))
        let tally = Tally(2_000)
        queue.concurrentPerform(iterations: 2_000) { number in
            crowd.visit {
                meeting.attend()
                tally.note(number)
            }
        }
        #expect(tally.isExact)
        #expect(crowd.most == width)
        queue.async { queue.concurrentPerform(iterations: 100) { _ in crowd.visit() } }
        queue.waitUntilAllTasksAreFinished()
        #expect(crowd.most == width)
    }

    /// Who helped was discarded, and counted as such, or the caller waited for room that its own closure was to make.
    @Test(
        "asks a full queue for no more than there is room", .timeLimit(.minutes(5)),
        arguments: [TaskQueue.BackPressure.wait, .callerRuns, .reject])
    func full(policy: TaskQueue.BackPressure) {
        let queue = TaskQueue(pendingLimit: 1, policy: policy, scheduler: makeScheduler(workers: 4))
        let (inside, gate, done, runs) = (Counter(), Gate(), WaitGroup(), Counter())
        // Every worker is inside a closure, so what helps waits in the queue.
        #expect(eventually {
            _ = try? queue.tryAsync { inside.add(); gate.pass() }
            return inside.count == 4
        })
        done.enter()
        onThread {
            queue.concurrentPerform(iterations: 100) { _ in runs.add() }
            done.leave()
        }
        done.wait()
        #expect(runs.count == 100)
        #expect(queue.rejectedTaskCount == 0)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(queue.pendingTaskCount == 0)
    }

    @Test("on a serial queue waits its turn and runs in order")
    func serial() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let order = Log<Int>()
        for number in -10..<0 { queue.async { order.note(number) } }
        queue.concurrentPerform(iterations: 10) { order.note($0) }
        #expect(order.all == Array(-10..<10))
        let idle = TaskQueue.serial(scheduler: makeScheduler())
        idle.concurrentPerform(iterations: 10) { _ in #expect(idle.pendingTaskCount == 0) }  // Nobody helps.
    }

    @Test("is cancelled with who called it, in every thread")
    func cancelled() {
        let scheduler = makeScheduler(workers: 3)
        let (met, unaware) = (Counter(), Counter())
        let holder = Holder<WorkItem?>(nil)
        let item = WorkItem {
            TaskQueue.concurrentPerform(iterations: 3) { _ in
                if met.add() == 3 { holder.value?.cancel() }
                if !eventually({ Cancellation.isRequested }) { unaware.add() }
            }
        }
        holder.value = item
        TaskQueue(scheduler: scheduler).async(execute: item)
        item.wait()
        #expect(unaware.count == 0)
        holder.value = nil
    }

    @Test("behind the closure that let go of the scheduler")
    func goneScheduler() throws {
        let runs = Counter()
        do {
            let scheduler = try Scheduler(workers: 1, name: "gone", spareWorkers: 0)
            let queue = TaskQueue.serial(scheduler: scheduler)
            queue.suspend()
            queue.async { withExtendedLifetime(scheduler) {} }
            queue.async { TaskQueue.concurrentPerform(iterations: 100) { _ in runs.add() } }
        }  // the queue goes, and with that is resumed
        #expect(eventually { runs.count == 100 })
    }

    @Test("on a scheduler that was shut down")
    func afterShutdown() {
        let scheduler = makeScheduler()
        scheduler.shutdown(timeout: .seconds(1))
        let tally = Tally(100)
        scheduler.concurrentPerform(iterations: 100) { tally.note($0) }
        #expect(tally.isExact)
    }

    /// Only the caller saw it.
    @Test("shows the cancellation of a task around it to every thread")
    func cancellationOfTask() async {
        let scheduler = makeScheduler(workers: 3)
        let (known, inside, cancelled, seen) = (Gate(), Counter(), Counter(), Counter())
        let holder = Holder<Task<Void, Never>?>(nil)
        let task = Task {
            scheduler.concurrentPerform(iterations: 3) { _ in
                known.pass()
                if inside.add() == 3 {
                    holder.value?.cancel()
                    cancelled.add()
                }
                _ = eventually { cancelled.count == 1 }
                if Cancellation.isRequested { seen.add() }
            }
        }
        holder.value = task
        known.open()
        await task.value
        holder.value = nil
        #expect(seen.count == 3)
    }

    private final class Caller: CurrentWork {
        let isRequested = false
    }

    /// A task that lay in its parent's frame was let go of by who came late, when the frame was there no more.
    @Test("leaves nothing of its caller's with who comes late")
    func late() {
        let scheduler = makeScheduler(workers: 2)
        let queue = TaskQueue(scheduler: scheduler)
        let gate = Gate()
        for _ in 0..<2 { queue.async { gate.pass() } }
        #expect(eventually { gate.arrivals == 2 })
        weak var gone: Caller?
        do {
            let caller = Caller()
            gone = caller
            caller.whileCurrent { queue.concurrentPerform(iterations: 10) { _ in } }
        }
        #expect(gone == nil)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
    }
}
