public import CWorkloads

extension Closures where S: SerialQueues {
    @inlinable
    public static var serialEntries: [Harness.Entry] {
        [("serial-queue", serialQueue), ("serial-empty", serialEmpty), ("serial-many", serialMany), ("ping-pong", pingPong)]
    }

    /// Closures of a serial queue count without a lock.
    @inlinable
    static func serialQueue() {
        let (queue, n, count) = (S.makeSerialQueue(), Harness.value("n", 100_000), SharedBuffer(1, 0))
        let group = S.makeGroup(for: queue)
        Harness.measure {
            count[0] = 0
            for _ in 0..<n { S.submit(to: queue, in: group) { count[0] += 1 } }
            S.wait(for: group)
            return UInt64(count[0])
        }
    }

    /// Closures that capture nothing; the last of them is waited for.
    @inlinable
    static func serialEmpty() {
        let (queue, n, count) = (S.makeSerialQueue(), Harness.value("n", 100_000), SharedBuffer(1, 0))
        let group = S.makeGroup(for: queue)
        Harness.measure {
            for _ in 1..<n { S.submit(to: queue) {} }
            S.submit(to: queue, in: group) {}
            S.wait(for: group)
            return 0
        }
        for _ in 1..<n { S.submit(to: queue) { count[0] += 1 } }
        S.submit(to: queue, in: group) { count[0] += 1 }
        S.wait(for: group)
        Harness.check(UInt64(count[0]))
    }

    /// A hundred closures on each of many serial queues, in turn: each finds its queue's count where the one before left it.
    @inlinable
    static func serialMany() {
        let n = Harness.value("queues", 1000)
        let queues = (0..<n).map { _ in S.makeSerialQueue() }
        let groups = queues.map { S.makeGroup(for: $0) }
        let counts = SharedBuffer(n, 0)
        Harness.measure {
            for at in 0..<n { counts[at] = 0 }
            for i in 0..<100 {
                for at in 0..<n {
                    S.submit(to: queues[at], in: groups[at]) { if counts[at] == i { counts[at] += 1 } }
                }
            }
            for group in groups { S.wait(for: group) }
            return UInt64((0..<n).reduce(0) { $0 + counts[$1] })
        }
    }

    /// Two serial queues that hand one closure to and fro.
    @inlinable
    static func pingPong() {
        let trips = Harness.value("n", 1000)
        let (a, b) = (S.makeSerialQueue(), S.makeSerialQueue())
        let (gate, hops) = (Gate(), AtomicCount())
        @Sendable func hit(_ left: Int) {
            hops.add()
            if left == 0 { return gate.open() }
            S.submit(to: left % 2 == 0 ? b : a) { hit(left - 1) }
        }
        Harness.measure {
            hops.set(0)
            S.submit(to: a) { hit(2 * trips - 1) }
            gate.pass()
            return UInt64(hops.value / 2)
        }
    }
}

extension Closures where S: SyncQueues {
    @inlinable
    public static var syncEntries: [Harness.Entry] { [("sync", sync)] }

    /// Calls on a serial queue that nobody else uses.
    @inlinable
    static func sync() {
        let (queue, n) = (S.makeSerialQueue(), Harness.value("n", 100_000))
        Harness.measure {
            var count = 0
            for _ in 0..<n { S.sync(on: queue) { count += 1 } }
            return UInt64(count)
        }
    }
}

extension Closures where S: BarrierQueues {
    @inlinable
    public static var barrierEntries: [Harness.Entry] { [("barrier", barrier)] }

    /// Readers, and a writer for every so many; the writers count without a lock and find nobody else there.
    @inlinable
    static func barrier() {
        let (queue, n, every) = (S.makeQueue(), Harness.value("n", 20_000), Harness.value("every", 20))
        let group = S.makeGroup(for: queue)
        let (count, readers, broken) = (SharedBuffer(1, 0), AtomicCount(), AtomicCount())
        Harness.measure {
            count[0] = 0
            for i in 0..<n {
                if i % every == every - 1 {
                    S.submitAlone(to: queue, in: group) {
                        if readers.value != 0 { broken.add() }
                        count[0] += 1
                    }
                } else {
                    S.submit(to: queue, in: group) {
                        readers.add()
                        wl_nothing(UInt64(count[0]))
                        _ = readers.takeOne()
                    }
                }
            }
            S.wait(for: group)
            return broken.value == 0 ? UInt64(count[0]) : 0
        }
    }
}

extension Closures where S: LimitedQueues {
    @inlinable
    public static var limitedEntries: [Harness.Entry] { [("limited", limited)] }

    /// Closures of which one fewer may run at a time than there are workers, or the limit would never bind; none of them may
    /// see more than that. A pass follows in which they take long enough to meet.
    @inlinable
    static func limited() {
        let (limit, n) = (max(1, Harness.workers - 1), Harness.value("n", 100_000))
        let queue = S.makeQueue(limit: limit)
        let group = S.makeGroup(for: queue)
        let (inside, ran) = (AtomicCount(), AtomicCount())
        Harness.measure {
            ran.set(0)
            for _ in 0..<n {
                S.submit(to: queue, in: group) {
                    if inside.addAndCount() <= limit { ran.add() }
                    _ = inside.takeOne()
                }
            }
            S.wait(for: group)
            return UInt64(ran.value)
        }
        ran.set(0)
        for i in 0..<n {
            S.submit(to: queue, in: group) {
                if inside.addAndCount() <= limit { ran.add() }
                wl_nothing(wl_spin(UInt64(i), 1000))
                _ = inside.takeOne()
            }
        }
        S.wait(for: group)
        Harness.check(UInt64(ran.value))
    }
}
