internal import BenchmarkKit
internal import CWorkloads
internal import OverdriveCore

/// Closures on queues.
enum Queues {
    static let scheduler: Scheduler = {
        do {
            let scheduler = try Scheduler(workers: Harness.workers, name: "bench")
            Harness.counters = {
                let metrics = scheduler.metrics
                return [
                    ("steals", metrics.steals.reduce(0, +)), ("failed_steals", metrics.failedSteals),
                    ("parks", metrics.parks), ("useful_wakes", metrics.usefulWakes),
                    ("spurious_wakes", metrics.spuriousWakes), ("threads", metrics.threadsStarted),
                ]
            }
            return scheduler
        } catch {
            Harness.fail("\(error)")
        }
    }()

    static var entries: [Harness.Entry] {
        [
            ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
            ("wake", wake), ("ping-pong", pingPong), ("chain", chain), ("serial-queue", serialQueue),
            ("group", groups), ("blocked", blocked), ("blocked-said", blockedSaid), ("idle", idle), ("memory", memory),
            ("timers", timers),
        ]
    }

    static func spawnOutside() {
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
        Harness.measure {
            JoinableThread.each(of: submitters) {
                for _ in 0..<n / submitters { queue.async(group: group) {} }
            }
            group.wait()
            return 0
        }
        let ran = AtomicCount()
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters { queue.async(group: group) { ran.add() } }
        }
        group.wait()
        Harness.check(UInt64(ran.value))
    }

    static func spawnCaptures() {
        let (queue, group, ballast) = (TaskQueue(scheduler: scheduler), WaitGroup(), Ballast())
        let n = Harness.value("n", 100_000)
        func submit(stride: Int) {
            for number in 0..<n {
                queue.async(group: group) {
                    if number % stride == 0 { ballast.add() }
                }
            }
            group.wait()
        }
        Harness.measure {
            submit(stride: n)
            return 0
        }
        let before = ballast.count
        submit(stride: 1)
        Harness.check(UInt64(ballast.count - before))
    }

    static func spawnInside() {
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        let n = Harness.value("n", 100_000)
        Harness.measure {
            queue.async(group: group) {
                for _ in 0..<n { queue.async(group: group) {} }
            }
            group.wait()
            return 0
        }
        let ran = AtomicCount()
        queue.async(group: group) {
            for _ in 0..<n { queue.async(group: group) { ran.add() } }
        }
        group.wait()
        Harness.check(UInt64(ran.value))
    }

    static func wake() {
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        Harness.measureTrips {
            queue.async(group: group) {}
            group.wait()
        }
    }

    /// Two serial queues that hand one closure to and fro.
    static func pingPong() {
        let trips = Harness.value("n", 1000)
        let (a, b) = (TaskQueue.serial(label: "ping", scheduler: scheduler), TaskQueue.serial(label: "pong", scheduler: scheduler))
        let (gate, hops) = (Gate(), AtomicCount())
        @Sendable func hit(_ left: Int) {
            hops.add()
            if left == 0 { return gate.open() }
            (left % 2 == 0 ? b : a).async { hit(left - 1) }
        }
        Harness.measure {
            hops.set(0)
            a.async { hit(2 * trips - 1) }
            gate.pass()
            return UInt64(hops.value / 2)
        }
    }

    /// Each closure submits the next.
    static func chain() {
        let n = Harness.value("n", 10_000)
        let (queue, gate, ran) = (TaskQueue(scheduler: scheduler), Gate(), AtomicCount())
        @Sendable func link(_ left: Int) {
            ran.add()
            if left == 1 { return gate.open() }
            queue.async { link(left - 1) }
        }
        Harness.measure {
            ran.set(0)
            queue.async { link(n) }
            gate.pass()
            return UInt64(ran.value)
        }
    }

    /// Closures of a serial queue count without a lock.
    static func serialQueue() {
        let n = Harness.value("n", 100_000)
        let (queue, group) = (TaskQueue.serial(label: "count", scheduler: scheduler), WaitGroup())
        let count = SharedBuffer(1, 0)
        Harness.measure {
            count[0] = 0
            for _ in 0..<n { queue.async(group: group) { count[0] += 1 } }
            group.wait()
            return UInt64(count[0])
        }
    }

    /// Many small groups, each with a notification.
    static func groups() {
        let n = Harness.value("n", 10_000)
        let (queue, all, ran) = (TaskQueue(scheduler: scheduler), WaitGroup(), AtomicCount())
        Harness.measure {
            ran.set(0)
            for _ in 0..<n / 10 {
                let group = WaitGroup()
                for _ in 0..<10 { queue.async(group: group) {} }
                all.enter()
                group.notify(on: queue) {
                    ran.add()
                    all.leave()
                }
            }
            all.wait()
            return UInt64(10 * ran.value)
        }
    }

    /// More closures than workers sleep in the kernel.
    static func blocked() {
        let (queue, group, ran) = (TaskQueue(scheduler: scheduler), WaitGroup(), AtomicCount())
        let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
        Harness.measure {
            ran.set(0)
            for _ in 0..<n {
                queue.async(group: group) {
                    Harness.sleep(microseconds: pause)
                    ran.add()
                }
            }
            group.wait()
            return UInt64(ran.value)
        }
    }

    /// The same, and they say so.
    static func blockedSaid() {
        let (queue, group, ran) = (TaskQueue(scheduler: scheduler), WaitGroup(), AtomicCount())
        let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
        Harness.measure {
            ran.set(0)
            for _ in 0..<n {
                queue.async(group: group) {
                    OverdriveCore.blocking { Harness.sleep(microseconds: pause) }
                    ran.add()
                }
            }
            group.wait()
            return UInt64(ran.value)
        }
    }

    /// The CPU time of a pool that has worked and is left alone: the sample is CPU time, not wall time.
    static func idle() {
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        for _ in 0..<10_000 { queue.async(group: group) {} }
        group.wait()
        Harness.sleep(microseconds: 100_000)
        let before = Harness.cpu
        Harness.sleep(microseconds: Harness.value("ms", 1000) * 1000)
        Harness.sample(Harness.cpu - before, 10_000)
    }

    /// Resident memory of closures that wait behind one that blocks the queue: the sample is bytes.
    static func memory() {
        let n = Harness.value("n", 1_000_000)
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        let ran = AtomicCount()
        queue.async(group: group) { ran.add() }
        group.wait()
        queue.suspend()
        let before = Harness.residentBytes
        for _ in 0..<n { queue.async(group: group) { ran.add() } }
        let bytes = Harness.residentBytes - before
        queue.resume()
        group.wait()
        Harness.sample(bytes, UInt64(ran.value - 1))
    }

    /// Timers that are due within a tenth of a second, all armed at once.
    static func timers() {
        let n = Harness.value("n", 10_000)
        let (queue, group, ran) = (TaskQueue(scheduler: scheduler), WaitGroup(), AtomicCount())
        Harness.measure {
            ran.set(0)
            let start = ContinuousClock.now
            for i in 0..<n {
                group.enter()
                queue.asyncAfter(deadline: start + .microseconds(Int64(wl_random(UInt64(i)) % 100_000))) {
                    ran.add()
                    group.leave()
                }
            }
            group.wait()
            return UInt64(ran.value)
        }
    }
}
