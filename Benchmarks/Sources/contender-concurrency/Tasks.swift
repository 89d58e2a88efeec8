internal import BenchmarkKit
internal import CWorkloads

/// Detached tasks in place of closures on a queue.
enum DetachedTasks: HandoffQueues {
    struct Queue {}
    static func makeQueue() -> Queue { Queue() }
    static func submit(to queue: Queue, _ body: consuming @escaping @Sendable () -> Void) { Task.detached(operation: body) }
}

/// Tasks, groups and actors.
enum Tasks {
    static var entries: [Harness.Entry] {
        [
            ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
            ("wake", wake), ("ping-pong", pingPong), ("chain", chain), ("serial-queue", serialQueue),
            ("group", groups), ("timers", timers), ("retry", retry), ("idle", idle), ("blocked", blocked), ("files", files),
            ("dag-chain", dependencyChain), ("dag-tree", dependencyTree), ("wavefront", wavefront),
            ("limited", limited), ("await", awaited),
            ("handoff-continuation", Handoffs<DetachedTasks>.continuation),
            ("handoff-actor", { Handoffs<DetachedTasks>.actor(on: nil) }),
        ] + Handoffs<DetachedTasks>.entries
    }

    /// Detached tasks, because the submitter is no task; a count stands in for a group.
    static func spawnOutside() {
        let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
        Harness.measure {
            let all = Countdown(n / submitters * submitters)
            JoinableThread.each(of: submitters) {
                for _ in 0..<n / submitters { Task.detached { all.take() } }
            }
            all.wait()
            return 0
        }
        let (all, ran) = (Countdown(n / submitters * submitters), AtomicCount())
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters {
                Task.detached {
                    ran.add()
                    all.take()
                }
            }
        }
        all.wait()
        Harness.check(UInt64(ran.value))
    }

    /// A number, a reference, and the count that stands in for a group.
    static func spawnCaptures() {
        let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
        Ballast.measure { ballast in
            let all = Countdown(n / submitters * submitters)
            JoinableThread.each(of: submitters) {
                for number in 0..<n / submitters {
                    Task.detached {
                        ballast.add(number)
                        all.take()
                    }
                }
            }
            all.wait()
        }
    }

    /// A discarding group, which frees each child as it ends.
    static func spawnInside() {
        let n = Harness.value("n", 100_000)
        let ran = AtomicCount()
        blocking {
            await Harness.measure {
                await withDiscardingTaskGroup { group in
                    for _ in 0..<n { group.addTask {} }
                }
                return 0
            }
            await withDiscardingTaskGroup { group in
                for _ in 0..<n { group.addTask { ran.add() } }
            }
        }
        Harness.check(UInt64(ran.value))
    }

    static func wake() {
        let ran = AtomicCount()
        Harness.measureTrips {
            let gate = Gate()
            Task.detached {
                ran.add()
                gate.open()
            }
            gate.pass()
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    actor Player {
        private(set) var hits = 0
        func hit() { hits += 1 }
        func start() { hits = 0 }
    }

    /// A task calls two actors in turn.
    static func pingPong() {
        let n = Harness.value("n", 1000)
        blocking {
            let (a, b) = (Player(), Player())
            await Harness.measure {
                await a.start()
                await b.start()
                for _ in 0..<n {
                    await a.hit()
                    await b.hit()
                }
                return UInt64(await a.hits + b.hits) / 2
            }
        }
    }

    static func chain() {
        let (n, gate, ran) = (Harness.value("n", 10_000), Gate(), AtomicCount())
        @Sendable func link(_ left: Int) {
            ran.add()
            if left == 1 { return gate.open() }
            Task.detached { link(left - 1) }
        }
        Harness.measure {
            ran.set(0)
            Task.detached { link(n) }
            gate.pass()
            return UInt64(ran.value)
        }
    }

    actor Counter {
        private(set) var count = 0
        func add() { count += 1 }
        func start() { count = 0 }
    }

    /// An actor instead of a serial queue; each message is a child task.
    static func serialQueue() {
        let n = Harness.value("n", 100_000)
        blocking {
            let counter = Counter()
            await Harness.measure {
                await counter.start()
                await withDiscardingTaskGroup { group in
                    for _ in 0..<n { group.addTask { await counter.add() } }
                }
                return UInt64(await counter.count)
            }
        }
    }

    /// A pass follows in which the children count, as in `Closures.groups`.
    static func groups() {
        let (n, full) = (Harness.value("n", 10_000), AtomicCount())
        blocking {
            await Harness.measure {
                let ran = AtomicCount()
                await withDiscardingTaskGroup { all in
                    for _ in 0..<n / 10 {
                        all.addTask {
                            await withDiscardingTaskGroup { group in
                                for _ in 0..<10 { group.addTask {} }
                            }
                            ran.add()
                        }
                    }
                }
                return UInt64(10 * ran.value)
            }
            await withDiscardingTaskGroup { all in
                for _ in 0..<n / 10 {
                    all.addTask {
                        let inGroup = AtomicCount()
                        await withDiscardingTaskGroup { group in
                            for _ in 0..<10 { group.addTask { inGroup.add() } }
                        }
                        if inGroup.value == 10 { full.add(10) }
                    }
                }
            }
        }
        Harness.check(UInt64(full.value))
    }

    /// Sleeps that are due within a tenth of a second, all begun at once; one that ends early is not counted.
    static func timers() {
        let n = Harness.value("n", 10_000)
        blocking {
            await Harness.measure {
                let (ran, began, start) = (AtomicCount(), Harness.now, ContinuousClock.now)
                await withDiscardingTaskGroup { group in
                    for i in 0..<n {
                        group.addTask {
                            let microseconds = Int(wl_random(UInt64(i)) % 100_000)
                            try? await Task.sleep(until: start + .microseconds(microseconds))
                            if Harness.now - began >= 1000 * microseconds { ran.add() }
                        }
                    }
                }
                return UInt64(ran.value)
            }
        }
    }

    struct Failure: Error {}

    /// Each piece of work fails twice and succeeds then, in a loop of its own task.
    static func retry() {
        let n = Harness.value("n", 10_000)
        blocking {
            await Harness.measure {
                let done = AtomicCount()
                await withDiscardingTaskGroup { group in
                    for _ in 0..<n {
                        group.addTask {
                            for attempt in 0... {
                                do {
                                    if attempt < 2 { throw Failure() }
                                    return done.add()
                                } catch {
                                    await Task.yield()
                                }
                            }
                        }
                    }
                }
                return UInt64(done.value)
            }
        }
    }

    /// Tasks in a row, each of which awaits the one before.
    static func dependencyChain() {
        let n = Harness.value("n", 1000)
        blocking {
            await Harness.measure {
                let ran = AtomicCount()
                var last = Task.detached {}
                for i in 0..<n {
                    last = Task.detached { [last] in
                        await last.value
                        if ran.value == i { ran.add() }
                    }
                }
                await last.value
                return UInt64(ran.value)
            }
        }
    }

    /// A binary tree of tasks, each of which awaits both its children.
    static func dependencyTree() {
        let n = Harness.value("n", 1023)
        let nodes = TreeNode.tree(of: n)
        blocking {
            await Harness.measure(prepare: { TreeNode.clear(nodes) }) {
                var tasks = [Task<Void, Never>?](repeating: nil, count: n)
                for node in (0..<n).reversed() {
                    let (left, right) = (2 * node + 1, 2 * node + 2)
                    let children = (left < n ? tasks[left] : nil, right < n ? tasks[right] : nil)
                    tasks[node] = Task.detached { [node = nodes[node]] in
                        await children.0?.value
                        await children.1?.value
                        node.run()
                    }
                }
                await tasks[0]?.value
                return nodes[0].count
            }
        }
    }

    /// A square of tasks, each of which awaits its upper and left neighbours.
    static func wavefront() {
        let (side, steps) = (Harness.value("side", 64), UInt64(Harness.value("steps", 100)))
        let cells = SharedBuffer<UInt64>(side * side, 0)
        blocking {
            await Harness.measure(prepare: { cells.clear() }) {
                var tasks: [Task<Void, Never>] = []
                for at in 0..<side * side {
                    let neighbours = (at >= side ? tasks[at - side] : nil, at % side > 0 ? tasks[at - 1] : nil)
                    tasks.append(Task.detached {
                        await neighbours.0?.value
                        await neighbours.1?.value
                        cells.fillCell(at, side, steps)
                    })
                }
                await tasks.last?.value
                return cells[side * side - 1]
            }
        }
    }

    /// Its threads are as many as CPUs, whatever they do.
    static func blocked() {
        let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
        blocking {
            await Harness.measure {
                let ran = AtomicCount()
                await withDiscardingTaskGroup { group in
                    for _ in 0..<n {
                        group.addTask {
                            Harness.sleep(microseconds: pause)
                            ran.add()
                        }
                    }
                }
                return UInt64(ran.value)
            }
        }
    }

    static func files() {
        let n = Harness.value("n", 500)
        let (tree, sums) = (FileTree(n), SharedBuffer<UInt64>(n, 0))
        blocking {
            await Harness.measure {
                await withDiscardingTaskGroup { group in
                    for file in 0..<n { group.addTask { sums[file] = tree.checksum(of: file) } }
                }
                return (0..<n).reduce(0) { $0 &+ sums[$1] }
            }
        }
    }

    static func idle() {
        let ran = AtomicCount()
        blocking {
            await withDiscardingTaskGroup { group in
                for _ in 0..<10_000 { group.addTask { ran.add() } }
            }
        }
        Harness.sleep(microseconds: 100_000)
        let before = Harness.cpu
        Harness.sleep(microseconds: Harness.value("ms", 1000) * 1000)
        Harness.sample(Harness.cpu - before, UInt64(ran.value))
    }

    /// A group that takes the next child when one is done.
    static func limited() {
        let (limit, n) = (max(1, Harness.workers - 1), Harness.value("n", 100_000))
        blocking {
            let inside = AtomicCount()
            await Harness.measure {
                let ran = AtomicCount()
                await withTaskGroup(of: Void.self) { group in
                    for i in 0..<n {
                        if i >= limit { await group.next() }
                        group.addTask {
                            if inside.addAndCount() <= limit { ran.add() }
                            _ = inside.takeOne()
                        }
                    }
                }
                return UInt64(ran.value)
            }
        }
    }

    /// A task's value is awaited, again and again.
    static func awaited() {
        blocking {
            let ran = AtomicCount()
            await Harness.measureTrips {
                await Task.detached { ran.add() }.value
            }
            Harness.check(UInt64(ran.value - Harness.warmUpTrips))
        }
    }
}
