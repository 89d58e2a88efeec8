public import CWorkloads

/// The workloads of a contender that has queues of closures, by name.
public enum Closures<S: ClosureQueues> {
    @inlinable
    public static var entries: [Harness.Entry] {
        [
            ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
            ("wake", wake), ("chain", chain), ("blocked", { blocked { Harness.sleep(microseconds: $0) } }), ("idle", idle),
            ("files", files), ("wavefront-counted", wavefront),
        ]
    }

    /// For contenders that have no word for trying again.
    @inlinable
    public static var retryEntries: [Harness.Entry] { [("retry", retry)] }

    @inlinable
    static func spawnOutside() {
        let queue = S.makeQueue()
        let group = S.makeGroup(for: queue)
        let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
        Harness.measure {
            JoinableThread.each(of: submitters) {
                for _ in 0..<n / submitters { S.submit(to: queue, in: group) {} }
            }
            S.wait(for: group)
            return 0
        }
        let ran = AtomicCount()
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters { S.submit(to: queue, in: group) { ran.add() } }
        }
        S.wait(for: group)
        Harness.check(UInt64(ran.value))
    }

    /// Each closure captures its number and a reference, in the timed runs as in the pass that counts.
    @inlinable
    static func spawnCaptures() {
        let (queue, n) = (S.makeQueue(), Harness.value("n", 100_000))
        let group = S.makeGroup(for: queue)
        let submitters = Harness.value("submitters", 1)
        Ballast.measure { ballast in
            JoinableThread.each(of: submitters) {
                for number in 0..<n / submitters {
                    S.submit(to: queue, in: group) { ballast.add(number) }
                }
            }
            S.wait(for: group)
        }
    }

    @inlinable
    static func spawnInside() {
        let (queue, n) = (S.makeQueue(), Harness.value("n", 100_000))
        let group = S.makeGroup(for: queue)
        Harness.measure {
            S.submit(to: queue, in: group) {
                for _ in 0..<n { S.submit(to: queue, in: group) {} }
            }
            S.wait(for: group)
            return 0
        }
        let ran = AtomicCount()
        S.submit(to: queue, in: group) {
            for _ in 0..<n { S.submit(to: queue, in: group) { ran.add() } }
        }
        S.wait(for: group)
        Harness.check(UInt64(ran.value))
    }

    @inlinable
    static func wake() {
        let queue = S.makeQueue()
        let group = S.makeGroup(for: queue)
        Harness.measureTrips {
            S.submit(to: queue, in: group) {}
            S.wait(for: group)
        }
        let ran = AtomicCount()
        for _ in 0..<Harness.value("trips", 500) {
            S.submit(to: queue, in: group) { ran.add() }
            S.wait(for: group)
        }
        Harness.check(UInt64(ran.value))
    }

    /// Each closure submits the next.
    @inlinable
    static func chain() {
        let (queue, gate, ran, n) = (S.makeQueue(), Gate(), AtomicCount(), Harness.value("n", 10_000))
        @Sendable func link(_ left: Int) {
            ran.add()
            if left == 1 { return gate.open() }
            S.submit(to: queue) { link(left - 1) }
        }
        Harness.measure {
            ran.set(0)
            S.submit(to: queue) { link(n) }
            gate.pass()
            return UInt64(ran.value)
        }
    }

    /// More closures than workers sleep in the kernel.
    @inlinable
    public static func blocked(_ sleep: @escaping @Sendable (Int) -> Void) {
        let (queue, ran) = (S.makeQueueForBlocking(), AtomicCount())
        let group = S.makeGroup(for: queue)
        let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
        Harness.measure {
            ran.set(0)
            for _ in 0..<n {
                S.submit(to: queue, in: group) {
                    sleep(pause)
                    ran.add()
                }
            }
            S.wait(for: group)
            return UInt64(ran.value)
        }
    }

    /// The CPU time of a pool that has worked and is left alone: the sample is CPU time, not wall time.
    @inlinable
    static func idle() {
        let queue = S.makeQueue()
        let group = S.makeGroup(for: queue)
        let ran = AtomicCount()
        for _ in 0..<10_000 { S.submit(to: queue, in: group) { ran.add() } }
        S.wait(for: group)
        Harness.sleep(microseconds: 100_000)
        let before = Harness.cpu
        Harness.sleep(microseconds: Harness.value("ms", 1000) * 1000)
        Harness.sample(Harness.cpu - before, UInt64(ran.value))
    }

    /// Each piece of work fails twice and succeeds then; an attempt that fails submits the next.
    @inlinable
    static func retry() {
        let (queue, n, done) = (S.makeQueue(), Harness.value("n", 1000), AtomicCount())
        let group = S.makeGroup(for: queue)
        @Sendable func attempt(_ failuresLeft: Int) {
            if failuresLeft == 0 { return done.add() }
            S.submit(to: queue, in: group) { attempt(failuresLeft - 1) }
        }
        Harness.measure {
            done.set(0)
            for _ in 0..<n { S.submit(to: queue, in: group) { attempt(2) } }
            S.wait(for: group)
            return UInt64(done.value)
        }
    }

    /// A closure for each file of a tree reads it and adds its checksum.
    @inlinable
    static func files() {
        let (queue, n) = (S.makeQueue(), Harness.value("n", 500))
        let group = S.makeGroup(for: queue)
        let (tree, sums) = (FileTree(n), SharedBuffer<UInt64>(n, 0))
        Harness.measure {
            for file in 0..<n {
                S.submit(to: queue, in: group) { sums[file] = tree.checksum(of: file) }
            }
            S.wait(for: group)
            return (0..<n).reduce(0) { $0 &+ sums[$1] }
        }
    }

    /// A square of cells, each after its upper and left neighbours; a cell's closure is submitted by the last of them.
    @inlinable
    static func wavefront() {
        let (side, steps) = (Harness.value("side", 64), UInt64(Harness.value("steps", 100)))
        let (queue, gate) = (S.makeQueue(), Gate())
        let waiting = (0..<side * side).map { _ in AtomicCount() }
        let cells = SharedBuffer<UInt64>(side * side, 0)
        @Sendable func run(_ at: Int) {
            cells.fillCell(at, side, steps)
            if at == side * side - 1 { return gate.open() }
            if at % side + 1 < side && waiting[at + 1].takeOne() == 0 { S.submit(to: queue) { run(at + 1) } }
            if at + side < side * side && waiting[at + side].takeOne() == 0 { S.submit(to: queue) { run(at + side) } }
        }
        Harness.measure(prepare: {
            cells.clear()
            for at in waiting.indices { waiting[at].set((at % side > 0 ? 1 : 0) + (at >= side ? 1 : 0)) }
        }) {
            S.submit(to: queue) { run(0) }
            gate.pass()
            return cells[side * side - 1]
        }
    }
}

extension Closures where S: PausableQueues {
    @inlinable
    public static var pausableEntries: [Harness.Entry] { [("memory", memory)] }

    /// Resident memory of closures that wait in a suspended queue: the sample is bytes.
    @inlinable
    static func memory() {
        let (queue, n, ran) = (S.makeQueue(), Harness.value("n", 1_000_000), AtomicCount())
        let group = S.makeGroup(for: queue)
        S.submit(to: queue, in: group) { ran.add() }
        S.wait(for: group)
        S.suspend(queue)
        let before = Harness.residentBytes
        for _ in 0..<n { S.submit(to: queue, in: group) { ran.add() } }
        let bytes = Harness.residentBytes - before
        S.resume(queue)
        S.wait(for: group)
        Harness.sample(bytes, UInt64(ran.value - 1))
    }
}

extension SharedBuffer<UInt64> {
    /// Before each sample of a wavefront: values that are there from the one before would hide a neighbour that came too late.
    @inlinable
    public func clear() { base.update(repeating: 0, count: count) }

    /// The work of a cell of the wavefronts: from its upper and left neighbours.
    @inlinable
    public func fillCell(_ at: Int, _ side: Int, _ steps: UInt64) {
        let up = at >= side ? self[at - side] : 1
        let left = at % side > 0 ? self[at - 1] : 1
        self[at] = wl_spin(up &+ left, steps)
    }
}
