import OverdriveCore
import Testing

@Suite("A wait group", .timeLimit(.minutes(10)))
struct WaitGroupTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("that is empty is waited for without waiting")
    func empty() async {
        let group = WaitGroup()
        wait(for: group)
        #expect(group.wait(timeout: .zero) == .success)
        await group.wait()
    }

    @Test("counts enter and leave")
    func enterAndLeave() {
        let group = WaitGroup()
        group.enter()
        group.enter()
        #expect(group.wait(timeout: .zero) == .timedOut)
        group.leave()
        #expect(group.wait(timeout: .milliseconds(1)) == .timedOut)
        group.leave()
        #expect(group.wait(timeout: .zero) == .success)
        group.wait()
    }

    @Test("takes any timeout")
    func timeouts() {
        let group = WaitGroup()
        group.enter()
        for timeout: Duration in [.zero, .seconds(-1), .nanoseconds(1), .milliseconds(2), .seconds(Int64.min)] {
            #expect(group.wait(timeout: timeout) == .timedOut)
        }
        group.leave()
        for timeout: Duration in [.seconds(Int64.max), .seconds(Int64.min), .seconds(1_000_000_000_000)] {
            #expect(group.wait(timeout: timeout) == .success)
        }
    }

    @Test("is waited for until a deadline")
    func deadlines() {
        let group = WaitGroup()
        group.enter()
        #expect(group.wait(deadline: .now - .seconds(1)) == .timedOut)
        #expect(group.wait(deadline: .now + .milliseconds(2)) == .timedOut)
        #expect(group.description == "WaitGroup (1 under way)")
        group.leave()
        #expect(group.wait(deadline: .now - .seconds(1)) == .success)
        #expect(group.wait(deadline: .now + .seconds(20)) == .success)
    }

    @Test("is not empty before each closure ran, however often it is used")
    func reuse() {
        let group = WaitGroup()
        let runs = Counter()
        for round in 1...2_000 {
            for _ in 0..<3 { queue.async(group: group) { runs.add() } }
            group.wait()
            #expect(runs.count == 3 * round)
        }
    }

    @Test("that timed out succeeds later")
    func laterSuccess() {
        let group = WaitGroup()
        let gate = Gate()
        queue.async(group: group) { gate.pass() }
        #expect(group.wait(timeout: .milliseconds(5)) == .timedOut)
        gate.open()
        #expect(group.wait(timeout: .seconds(20)) == .success)
    }

    @Test("lets many threads wait, workers among them")
    func manyWaiters() {
        let group = WaitGroup()
        let gate = Gate()
        let (runs, wrong) = (Counter(), Counter())
        queue.async(group: group) { gate.pass() }
        for _ in 0..<50 { queue.async(group: group) { runs.add() } }
        let waiters = WaitGroup()
        let others = TaskQueue(scheduler: makeScheduler(workers: 1, spares: 8))
        for _ in 0..<5 {
            others.async(group: waiters) {
                group.wait()
                if runs.count != 50 { wrong.add() }
            }
        }
        onThreads(4) { thread in
            if thread == 0 { gate.open() }
            group.wait()
            if runs.count != 50 { wrong.add() }
        }
        waiters.wait()
        #expect(wrong.count == 0)
    }

    @Test("over several queues and closures that submit more is never empty early")
    func nestedOverQueues() {
        for round in 0..<100 {
            let scheduler = makeScheduler(workers: 1 + round % 3)
            let queues = [
                TaskQueue(scheduler: scheduler), TaskQueue.serial(scheduler: scheduler),
                TaskQueue(qos: .utility, maxConcurrentTaskCount: 2, scheduler: scheduler),
                TaskQueue(qos: .userInteractive, scheduler: makeScheduler()),
            ]
            let group = WaitGroup()
            let runs = Counter()
            spread(depth: 4, over: queues, group, runs)
            group.wait()
            // 1 + 2 + 4 + 8 + 16
            #expect(runs.count == 31)
        }
    }

    private func spread(depth: Int, over queues: [TaskQueue], _ group: WaitGroup, _ runs: Counter) {
        queues[(depth &* 7 &+ runs.count) % queues.count].async(group: group) {
            if depth > 0 {
                spread(depth: depth - 1, over: queues, group, runs)
                spread(depth: depth - 1, over: queues, group, runs)
            }
            runs.add()
        }
    }

    @Test("entered and left by hand around other APIs mixes with closures")
    func mixed() {
        let group = WaitGroup()
        for _ in 0..<200 {
            let done = Counter()
            for _ in 0..<4 {
                group.enter()
                queue.async(group: group) {
                    queue.async {
                        done.add()
                        group.leave()
                    }
                }
            }
            group.wait()
            #expect(done.count == 4)
        }
    }

    @Test("shows what its closures wrote")
    func visibility() {
        let group = WaitGroup()
        for round in 0..<1_000 {
            let values = (0..<4).map { _ in Holder(0) }
            for value in values { queue.async(group: group) { value.value = round } }
            group.wait()
            #expect(values.allSatisfy { $0.value == round })
        }
    }

    @Test("may go away while its closures are pending")
    func released() {
        let runs = Counter()
        for _ in 0..<500 {
            let group = WaitGroup()
            for _ in 0..<3 { queue.async(group: group) { runs.add() } }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 1_500)
    }

    @Test("that goes away while it is entered makes no notification and no trouble")
    func releasedEntered() {
        let notified = Counter()
        for _ in 0..<100 {
            let group = WaitGroup()
            group.enter()
            group.notify(on: queue) { notified.add() }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(notified.count == 0)
    }

    // MARK: - Notifications

    @Test("that is empty notifies at once")
    func notifyEmpty() {
        let group = WaitGroup()
        let notified = WaitGroup()
        notified.enter()
        group.notify(on: queue) { notified.leave() }
        #expect(notified.wait(timeout: .seconds(20)) == .success)
    }

    @Test("makes each of many notifications once, in order on a serial queue, after everything ran")
    func notifyMany() {
        let serial = TaskQueue.serial(scheduler: makeScheduler())
        for _ in 0..<50 {
            let group = WaitGroup()
            let gate = Gate()
            let runs = Counter()
            let order = Holder<[Int]>([])
            let wrong = Counter()
            queue.async(group: group) { gate.pass() }
            for number in 0..<10 {
                queue.async(group: group) { runs.add() }
                group.notify(on: serial) {
                    if runs.count != 10 { wrong.add() }
                    order.value.append(number)
                }
            }
            gate.open()
            #expect(eventually { serial.sync { order.value.count == 10 } })
            #expect(order.value == Array(0..<10))
            #expect(wrong.count == 0)
        }
    }

    @Test("notifies once per notify, and again only when asked again")
    func notifyOnce() {
        let group = WaitGroup()
        let notified = Counter()
        for round in 1...50 {
            group.notify(on: queue) { notified.add() }
            #expect(eventually { notified.count == round })
            queue.async(group: group) {}
            group.wait()
            queue.waitUntilAllTasksAreFinished()
            #expect(notified.count == round)
        }
    }

    @Test("notifies at the quality of service that was asked for")
    func notifyQoS() {
        let group = WaitGroup()
        let seen = Log<TaskQueue.QoS?>()
        group.notify(on: queue, qos: .userInteractive) { seen.note(.current) }
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [.userInteractive])
    }

    @Test("waits with its notification for what is submitted in the meantime")
    func notifyAfterMore() {
        let group = WaitGroup()
        let order = Log<String>()
        group.enter()
        group.notify(on: queue) { order.note("notified") }
        queue.async(group: group) { order.note("ran") }
        queue.waitUntilAllTasksAreFinished()
        group.leave()
        #expect(eventually { order.all.count == 2 })
        #expect(order.all == ["ran", "notified"])
    }

    @Test("notified by a leave that races with notify is notified exactly once")
    func notifyRaces() {
        for _ in 0..<300 {
            let group = WaitGroup()
            let notified = Counter()
            group.enter()
            onThreads(2) { thread in
                if thread == 0 { group.leave() } else { group.notify(on: queue) { notified.add() } }
            }
            #expect(eventually { notified.count == 1 })
        }
    }

    @Test("notifies on a suspended queue when that is resumed")
    func notifySuspended() {
        let target = TaskQueue(scheduler: makeScheduler())
        let group = WaitGroup()
        let notified = Counter()
        target.suspend()
        group.notify(on: target) { notified.add() }
        #expect(target.pendingTaskCount == 1)
        #expect(notified.count == 0)
        target.resume()
        target.waitUntilAllTasksAreFinished()
        #expect(notified.count == 1)
    }

    @Test("keeps the notified queue and the closure's captures until then, and no longer")
    func notifyCaptures() {
        let census = Census()
        let group = WaitGroup()
        group.enter()
        do {
            let short = TaskQueue.serial(scheduler: makeScheduler())
            for _ in 0..<10 {
                let tracked = census.newborn()
                group.notify(on: short) { tracked.touch() }
            }
        }
        #expect(census.alive == 10)
        group.leave()
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 10)
    }

    // MARK: - Asynchronous waiting

    @Test("is awaited by many tasks at once")
    func asyncWait() async {
        for _ in 0..<50 {
            let group = WaitGroup()
            let runs = Counter()
            for _ in 0..<10 { queue.async(group: group) { runs.add() } }
            await withTaskGroup(of: Int.self) { tasks in
                for _ in 0..<5 {
                    tasks.addTask {
                        await group.wait()
                        return runs.count
                    }
                }
                for await seen in tasks { #expect(seen == 10) }
            }
        }
    }

    @MainActor
    @Test("awaited on an actor comes back to it")
    func asyncWaitOnActor() async {
        let group = WaitGroup()
        queue.async(group: group) {}
        await group.wait()
        MainActor.assertIsolated()
    }

    private func wait(for group: WaitGroup) {
        group.wait()
    }
}
