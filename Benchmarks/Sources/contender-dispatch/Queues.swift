internal import BenchmarkKit
internal import CWorkloads
internal import Dispatch

/// Closures on queues.
enum Queues {
    static func makeQueue() -> DispatchQueue {
        DispatchQueue(label: "bench", attributes: .concurrent)
    }

    static var entries: [Harness.Entry] {
        [
            ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
            ("wake", wake), ("ping-pong", pingPong), ("chain", chain), ("serial-queue", serialQueue),
            ("group", groups), ("blocked", blocked), ("barrier", barrier), ("timers", timers), ("wavefront", wavefront),
            ("idle", idle), ("memory", memory),
        ]
    }

    static func spawnOutside() {
        let (queue, group) = (makeQueue(), DispatchGroup())
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
        let (queue, group, ballast) = (makeQueue(), DispatchGroup(), Ballast())
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
        let (queue, group) = (makeQueue(), DispatchGroup())
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
        let (queue, group) = (makeQueue(), DispatchGroup())
        Harness.measureTrips {
            queue.async(group: group) {}
            group.wait()
        }
    }

    /// Two serial queues that hand one closure to and fro.
    static func pingPong() {
        let trips = Harness.value("n", 1000)
        let (a, b) = (DispatchQueue(label: "ping"), DispatchQueue(label: "pong"))
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
        let (queue, gate, ran) = (makeQueue(), Gate(), AtomicCount())
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
        let (queue, group) = (DispatchQueue(label: "count"), DispatchGroup())
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
        let (queue, all, ran) = (makeQueue(), DispatchGroup(), AtomicCount())
        Harness.measure {
            ran.set(0)
            for _ in 0..<n / 10 {
                let group = DispatchGroup()
                for _ in 0..<10 { queue.async(group: group) {} }
                all.enter()
                group.notify(queue: queue) {
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
        let (queue, group, ran) = (makeQueue(), DispatchGroup(), AtomicCount())
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

    /// The CPU time of a pool that has worked and is left alone: the sample is CPU time, not wall time.
    static func idle() {
        let (queue, group) = (makeQueue(), DispatchGroup())
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
        let (queue, group) = (makeQueue(), DispatchGroup())
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

    /// Nine readers and a writer in turn; the writers count without a lock and find nobody else there.
    static func barrier() {
        let n = Harness.value("n", 20_000)
        let (queue, group) = (makeQueue(), DispatchGroup())
        let (count, readers, broken) = (SharedBuffer(1, 0), AtomicCount(), AtomicCount())
        Harness.measure {
            count[0] = 0
            for i in 0..<n {
                if i % 10 == 9 {
                    queue.async(group: group, flags: .barrier) {
                        if readers.value != 0 { broken.add() }
                        count[0] += 1
                    }
                } else {
                    queue.async(group: group) {
                        readers.add()
                        wl_nothing(UInt64(count[0]))
                        _ = readers.takeOne()
                    }
                }
            }
            group.wait()
            return broken.value == 0 ? UInt64(count[0]) : 0
        }
    }

    /// Timers that are due within a tenth of a second, all armed at once.
    static func timers() {
        let n = Harness.value("n", 10_000)
        let (queue, group, ran) = (makeQueue(), DispatchGroup(), AtomicCount())
        Harness.measure {
            ran.set(0)
            let start = DispatchTime.now()
            for i in 0..<n {
                group.enter()
                queue.asyncAfter(deadline: start + .microseconds(Int(wl_random(UInt64(i)) % 100_000))) {
                    ran.add()
                    group.leave()
                }
            }
            group.wait()
            return UInt64(ran.value)
        }
    }

    /// A square of cells, each after its upper and left neighbours.
    static func wavefront() {
        let (side, steps) = (Harness.value("side", 64), UInt64(Harness.value("steps", 100)))
        let (queue, gate) = (makeQueue(), Gate())
        let waiting = (0..<side * side).map { _ in AtomicCount() }
        let cells = SharedBuffer<UInt64>(side * side, 0)
        @Sendable func run(_ at: Int) {
            let up = at >= side ? cells[at - side] : 1
            let left = at % side > 0 ? cells[at - 1] : 1
            cells[at] = wl_spin(up &+ left, steps)
            if at == side * side - 1 { return gate.open() }
            if at % side + 1 < side && waiting[at + 1].takeOne() == 0 { queue.async { run(at + 1) } }
            if at + side < side * side && waiting[at + side].takeOne() == 0 { queue.async { run(at + side) } }
        }
        Harness.measure(prepare: {
            for at in waiting.indices { waiting[at].set((at % side > 0 ? 1 : 0) + (at >= side ? 1 : 0)) }
        }) {
            queue.async { run(0) }
            gate.pass()
            return cells[side * side - 1]
        }
    }
}
