import OverdriveCore
import Synchronization
import Testing

/// What no closure lets go of any more.
private let stuck = Mutex<[AnyObject]>([])

extension Scheduler.Dump.Worker {
    fileprivate var queueOfActivity: String? {
        switch activity {
        case .runs(let queue, _), .blocks(let queue, _): queue
        case .idle, .spare: nil
        }
    }

    /// For how long it has run a closure of `queue`, if it runs one.
    fileprivate func time(in queue: String) -> Duration? {
        if case .runs(queue, let time) = activity { time } else { nil }
    }
}

@Suite("A dump", .timeLimit(.minutes(10)))
struct DumpTests {
    @Test("of a scheduler that has done nothing is empty")
    func empty() {
        let dump = makeScheduler(name: "quiet").dump()
        #expect(dump.name == "quiet")
        #expect(dump.workers.isEmpty && dump.queues.isEmpty && dump.waiting == 0 && dump.queueCount == 0)
        #expect(dump.description == "Scheduler \"quiet\": 0 workers, 0 closures waiting")
    }

    @Test("counts a spare that waits on its bench apart from the workers")
    func spare() {
        let scheduler = makeScheduler(workers: 1, spares: 1, name: "one")
        TaskQueue(scheduler: scheduler).async {}
        #expect(eventually { scheduler.metrics.executed >= 1 })
        let dump = scheduler.dump()
        #expect(dump.description.hasPrefix("Scheduler \"one\": 1 worker and 1 spare, 0 closures waiting\n"), "\(dump)")
        #expect(dump.workers.allSatisfy { $0.threadID > 0 || dump.description.contains("worker \($0.index) (its thread starts)") })
    }

    @Test("says what each worker runs, for how long, and what waits where")
    func busy() throws {
        let scheduler = makeScheduler(workers: 2, name: "busy")
        let tiles = TaskQueue.serial(label: "tiles", scheduler: scheduler)
        let pages = TaskQueue.concurrent(label: "pages", qos: .utility, scheduler: scheduler)
        let held = TaskQueue.concurrent(label: "held", maxConcurrentTaskCount: 3, scheduler: scheduler)
        let gate = Gate()
        held.suspend()
        for _ in 0..<4 { held.async {} }
        for queue in [tiles, pages] { queue.async { gate.pass() } }
        #expect(eventually { gate.arrivals == 2 })
        for _ in 0..<10 { tiles.async {} }
        for _ in 0..<5 { pages.async {} }
        let before = ContinuousClock.now
        _ = scheduler.dump()
        #expect(eventually { ContinuousClock.now - before >= .milliseconds(20) })
        let least = ContinuousClock.now - before - .milliseconds(5)
        let dump = scheduler.dump()

        #expect(dump.workers.count == 2)
        var running: Set<String> = []
        for worker in dump.workers {
            guard case .runs(let queue, let time) = worker.activity else {
                Issue.record("a busy worker: \(worker)")
                continue
            }
            running.insert(queue)
            #expect(time >= least)
            #expect(worker.threadID > 0)
        }
        #expect(running == ["tiles", "pages"])
        let queues = Dictionary(uniqueKeysWithValues: dump.queues.map { ($0.label, $0) })
        #expect(queues.count == 3 && dump.queueCount == 3)
        let serial = try #require(queues["tiles"])
        #expect(serial.pending == 11 && serial.maxConcurrentTaskCount == 1 && !serial.isSuspended)
        let concurrent = try #require(queues["pages"])
        #expect(concurrent.pending == 6 && concurrent.qos == .utility)
        #expect(concurrent.maxConcurrentTaskCount == TaskQueue.unlimited)
        let suspended = try #require(queues["held"])
        #expect(suspended.pending == 4 && suspended.isSuspended && suspended.maxConcurrentTaskCount == 3)
        #expect(dump.waiting + dump.workers.reduce(0) { $0 + $1.waiting } >= 5)

        let lines = dump.description.split(separator: "\n")
        #expect(lines[0].hasPrefix("Scheduler \"busy\": 2 workers, "))
        #expect(lines.contains { $0.contains("): runs \"tiles\" for 0.") })
        #expect(lines.contains("  queue \"tiles\" (serial, default): 11 pending, 1 running"))
        #expect(lines.contains("  queue \"held\" (3 at a time, default, suspended): 4 pending"))
        held.resume()
        gate.open()
        for queue in [tiles, pages, held] { queue.waitUntilAllTasksAreFinished() }
        #expect(eventually { scheduler.dump().workers.allSatisfy { $0.activity == .idle } })
        #expect(scheduler.dump().queues.isEmpty)
    }

    @Test("says who waits, and may be taken from inside")
    func blocked() {
        let scheduler = makeScheduler(workers: 1, spares: 4)
        let queue = TaskQueue.concurrent(label: "waiters", scheduler: scheduler)
        let semaphore = CountingSemaphore(value: 0)
        let seen = Log<Scheduler.Dump>()
        queue.async { semaphore.wait() }
        queue.async {
            _ = eventually {
                scheduler.dump().workers.contains {
                    if case .blocks("waiters", _) = $0.activity { true } else { false }
                }
            }
            seen.note(scheduler.dump())
            semaphore.signal()
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all.first?.description.contains("waits in \"waiters\" for ") == true)
    }

    @Test("says at its first look for how long a closure has run", arguments: [0, 1, 500])
    func firstLook(before: Int) throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.serial(label: "stuck", scheduler: scheduler)
        let gate = Gate()
        queue.suspend()
        for _ in 0..<before { queue.async {} }
        queue.async { gate.pass() }
        queue.resume()
        #expect(eventually { gate.arrivals == 1 })
        let since = ContinuousClock.now
        pass(.milliseconds(300))
        let least = ContinuousClock.now - since - .milliseconds(20)  // ticks of the clock that it uses
        let worker = try #require(scheduler.dump().workers.first)
        let time = try #require(worker.time(in: "stuck"), "\(worker)")
        let atMost = try #require(worker.atMost)
        #expect(atMost >= least)
        #expect(time <= atMost)
        if before == 0 { #expect(time >= least) }
        let text = scheduler.dump().description
        // One that was asleep, and ran others before, is known to be in this one since somebody looked.
        #expect(before > 0 || !text.contains("\"stuck\" for 0.0"), "\(text)")
        gate.open()
        queue.waitUntilAllTasksAreFinished()
    }

    /// The longest that it can have run went back to before the closure ahead of it, which had waited.
    @Test("counts no wait of a closure ahead to the time of the one that runs")
    func afterWait() throws {
        let scheduler = makeScheduler(workers: 1, spares: 4)
        let queue = TaskQueue.serial(label: "stuck", scheduler: scheduler)
        let (gate, back) = (Gate(), Holder(ContinuousClock.now))
        queue.suspend()
        for _ in 0..<20 { queue.async {} }
        queue.async {
            blocking {
                pass(.milliseconds(300))
                back.value = .now
            }
        }
        queue.async { gate.pass() }
        queue.resume()
        #expect(eventually { gate.arrivals == 1 })
        let dump = scheduler.dump()
        let longest = ContinuousClock.now - back.value + .milliseconds(20)  // ticks of the clock that it uses
        let worker = try #require(dump.workers.first { $0.atMost != nil })
        #expect(try #require(worker.atMost) <= longest)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("knows from the first look on how long a closure has run while work waits")
    func watched() throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue.concurrent(label: "stuck", scheduler: scheduler)
        let gate = Gate()
        for _ in 0..<500 { queue.async {} }
        queue.async { gate.pass() }
        #expect(eventually { gate.arrivals == 1 })
        queue.async {}
        pass(.milliseconds(400))
        let worker = try #require(scheduler.dump().workers.first)
        #expect(try #require(worker.time(in: "stuck"), "\(worker)") >= .milliseconds(150))
        gate.open()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("says whom a worker waits for, and since when")
    func whom() throws {
        let scheduler = makeScheduler(workers: 4, spares: 8)
        let database = TaskQueue.serial(label: "db", scheduler: scheduler)
        let pages = TaskQueue.concurrent(label: "pages", scheduler: scheduler)
        let gate = Gate()
        let (group, semaphore) = (WaitGroup(), CountingSemaphore(value: 0))
        group.enter()
        database.async { gate.pass() }
        #expect(eventually { gate.arrivals == 1 })
        pages.async { database.sync {} }
        pages.async { group.wait() }
        pages.async { semaphore.wait() }
        pages.async { database.waitUntilAllTasksAreFinished() }
        let expected: Set<String> = ["in sync on \"db\"", "for a group", "for a semaphore", "for the end of \"db\""]
        #expect(eventually { Set(scheduler.dump().workers.compactMap(\.waitsFor)) == expected })
        pass(.milliseconds(200))

        let dump = scheduler.dump()
        for worker in dump.workers {
            guard case .blocks(let queue, let time) = worker.activity else { continue }
            #expect(queue == "pages" && time >= .milliseconds(180))
        }
        let holder = try #require(dump.workers.first { $0.time(in: "db") != nil }?.index)
        let text = dump.description
        #expect(text.contains(" s, in sync on \"db\", which worker \(holder) runs"), "\(text)")
        #expect(text.contains(" s, for a group\n"), "\(text)")
        group.leave()
        semaphore.signal()
        gate.open()
        for queue in [database, pages] { queue.waitUntilAllTasksAreFinished() }
    }

    @Test("has one clock for a wait for an item, which is made of parts")
    func waitForItem() throws {
        let scheduler = makeScheduler(workers: 2, spares: 2)
        let queue = TaskQueue.serial(label: "waits", scheduler: scheduler)
        let suspended = TaskQueue.serial(scheduler: scheduler)
        let item = WorkItem {}
        suspended.suspend()
        suspended.async(execute: item)
        queue.async { item.wait() }
        #expect(eventually { scheduler.dump().workers.contains { $0.waitsFor == "for a work item" } })
        pass(.milliseconds(400))  // a part began after 300 ms
        let activity = try #require(scheduler.dump().workers.first { $0.waitsFor == "for a work item" }).activity
        guard case .blocks(_, let time) = activity else {
            Issue.record("\(activity)")
            return
        }
        #expect(time >= .milliseconds(300))
        suspended.resume()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("has the chain of who waits for whom, down to the one who runs")
    func chain() throws {
        let scheduler = makeScheduler(workers: 3, spares: 8, name: "chained")
        let disk = TaskQueue.serial(label: "disk", scheduler: scheduler)
        let database = TaskQueue.serial(label: "db", scheduler: scheduler)
        let pages = TaskQueue.concurrent(label: "pages", scheduler: scheduler)
        let gate = Gate()
        disk.async { gate.pass() }
        #expect(eventually { gate.arrivals == 1 })
        database.async { disk.sync {} }
        #expect(eventually { scheduler.dump().workers.contains { $0.waitsFor == "in sync on \"disk\"" } })
        #expect(scheduler.dump().waitChains.isEmpty)  // two are told on one line
        pages.async { database.waitUntilAllTasksAreFinished() }
        #expect(eventually { scheduler.dump().waitChains.count == 1 })
        let dump = scheduler.dump()
        #expect(dump.deadlocks.isEmpty)
        let chain = try #require(dump.waitChains.first)
        let queues = chain.map { index in dump.workers.first { $0.index == index }?.queueOfActivity }
        #expect(queues == ["pages", "db", "disk"])
        let line = "  chain: worker \(chain[0]) in \"pages\" waits for worker \(chain[1]) in \"db\", "
            + "which waits for worker \(chain[2]) in \"disk\""
        #expect(dump.description.hasSuffix(line), "\(dump)")
        gate.open()
        for queue in [disk, database, pages] { queue.waitUntilAllTasksAreFinished() }
        #expect(scheduler.dump().waitChains.isEmpty)
    }

    /// Queues whose closures wait for each other, `count` in a circle, and one that waits for the first of them. They stay
    /// so: nothing of them is let go of. (Where all waits are a `sync` onto a serial queue, the last of them traps.)
    @Test("names a deadlock, and no more", arguments: [2, 3])
    func deadlock(count: Int) throws {
        let scheduler = makeScheduler(workers: count + 1, spares: 8, name: "stuck")
        // Of one label, all but the first: it is not by their labels that they are told apart.
        let queues = (0..<count).map { TaskQueue.serial(label: $0 == 0 ? "first" : "other", scheduler: scheduler) }
        let inside = Counter()
        for index in 0..<count {
            queues[index].async {
                inside.add()
                _ = eventually { inside.count == count }
                let next = queues[(index + 1) % count]
                if index == 0 { next.waitUntilAllTasksAreFinished() } else { next.sync {} }
            }
        }
        TaskQueue.concurrent(label: "outside", scheduler: scheduler).async { queues[0].sync {} }
        #expect(eventually { !scheduler.dump().deadlocks.isEmpty })
        let dump = scheduler.dump()
        #expect(dump.deadlocks.count == 1)
        let circle = try #require(dump.deadlocks.first)
        #expect(circle.count == count && Set(circle).count == count && dump.waitChains.isEmpty)
        let inCircle = circle.map { index in dump.workers.first { $0.index == index } }
        #expect(inCircle.allSatisfy { $0?.queueOfActivity == "first" || $0?.queueOfActivity == "other" })
        let last = try #require(dump.description.split(separator: "\n").last)
        #expect(last.hasPrefix("  deadlock: worker \(circle[0]) in \""), "\(dump)")
        #expect(last.hasSuffix("\", which waits for worker \(circle[0])"), "\(dump)")
        stuck.withLock { $0 += [scheduler as AnyObject] + queues }
    }

    /// One place of two is a caller's in sync, who is on no worker: the circle through the other one opens when he leaves.
    @Test("takes a full queue for no deadlock of one who holds a place of two")
    func placeOfSync() {
        let scheduler = makeScheduler(workers: 3, spares: 8)
        let serial = TaskQueue.serial(label: "a", scheduler: scheduler)
        let limited = TaskQueue.concurrent(label: "b", maxConcurrentTaskCount: 2, scheduler: scheduler)
        let gate = Gate()
        onThreads(2) { thread in
            if thread == 0 {
                return limited.sync { gate.pass() }
            }
            #expect(eventually { gate.arrivals == 1 })
            let begun = Counter()
            limited.async {
                begun.add()
                _ = eventually { begun.count == 2 }
                serial.waitUntilAllTasksAreFinished()
            }
            #expect(eventually { begun.count == 1 })
            serial.async {
                begun.add()
                limited.sync {}
            }
            #expect(eventually { scheduler.dump().workers.filter { $0.waitsFor != nil }.count == 2 })
            let dump = scheduler.dump()
            #expect(dump.deadlocks.isEmpty, "\(dump)")
            gate.open()
        }
        for queue in [limited, serial] { queue.waitUntilAllTasksAreFinished() }
    }

    @Test("takes waits that go on for no deadlock")
    func busyWaits() {
        let scheduler = makeScheduler(workers: 3, spares: 8)
        let queues = ["a", "b"].map { TaskQueue.serial(label: $0, scheduler: scheduler) }
        let busy = Counter()
        onThreads(2) { thread in
            if thread == 0 {
                while busy.count < 1 { #expect(scheduler.dump().deadlocks.isEmpty) }
            } else {
                for number in 0..<400 {
                    // One way, then the other: never both at once.
                    queues[number % 2].async { queues[1 - number % 2].sync {} }
                    for queue in queues { queue.waitUntilAllTasksAreFinished() }
                }
                busy.add()
            }
        }
    }

    @Test("is taken while everything changes")
    func racing() {
        let scheduler = makeScheduler(workers: 3)
        let busy = Counter()
        onThreads(3) { thread in
            if thread == 0 {
                while busy.count < 2 { #expect(scheduler.dump().workers.count <= 3) }
            } else {
                for number in 0..<300 {
                    let queue = TaskQueue.concurrent(
                        label: "\(number)", maxConcurrentTaskCount: thread, scheduler: scheduler)
                    for _ in 0..<10 { queue.async {} }
                    if number % 3 == 0 { queue.waitUntilAllTasksAreFinished() }
                }
                busy.add()
            }
        }
    }

    /// Lets time pass.
    private func pass(_ time: Duration) {
        let begin = ContinuousClock.now
        #expect(eventually { ContinuousClock.now - begin >= time })
    }
}
