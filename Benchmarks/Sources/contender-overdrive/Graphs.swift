internal import BenchmarkKit
internal import Overdrive

/// Tasks that depend on tasks, tasks that try again, and pipelines.
enum Graphs {
    static var entries: [Harness.Entry] {
        [
            ("dag-chain", chain), ("dag-tree", tree), ("wavefront", wavefront), ("retry", retry), ("tasks", finishedTasks), ("handoff-operation", handoff),
            ("graph", graph), ("graph-memory", graphMemory), ("pipeline", pipeline),
        ]
    }

    /// Tasks in a row, each depending on the one before.
    static func chain() {
        let (queue, n, ran) = (Queues.makeQueue(), Harness.value("n", 1000), AtomicCount())
        Harness.measure {
            ran.set(0)
            let tasks = (0..<n).map { i in Task.inline { if ran.value == i { ran.add() } } }
            for i in 1..<n { tasks[i].add(dependency: tasks[i - 1]) }
            queue.add(tasks: tasks)
            tasks[n - 1].waitUntilFinished()
            return UInt64(ran.value)
        }
    }

    /// A binary tree of tasks, each after both its children.
    static func tree() {
        let (queue, n) = (Queues.makeQueue(), Harness.value("n", 1023))
        let nodes = TreeNode.tree(of: n)
        Harness.measure(prepare: { TreeNode.clear(nodes) }) {
            let tasks = nodes.map { node in Task.inline { node.run() } }
            for i in 1..<n { tasks[(i - 1) / 2].add(dependency: tasks[i]) }
            queue.add(tasks: tasks)
            tasks[0].waitUntilFinished()
            return nodes[0].count
        }
    }

    /// A square of tasks, each after its upper and left neighbours.
    static func wavefront() {
        let (queue, side, steps) = (Queues.makeQueue(), Harness.value("side", 64), UInt64(Harness.value("steps", 100)))
        let cells = SharedBuffer<UInt64>(side * side, 0)
        Harness.measure(prepare: { cells.clear() }) {
            let tasks = (0..<side * side).map { at in Task.inline { cells.fillCell(at, side, steps) } }
            for at in tasks.indices {
                if at % side > 0 { tasks[at].add(dependency: tasks[at - 1]) }
                if at >= side { tasks[at].add(dependency: tasks[at - side]) }
            }
            queue.add(tasks: tasks)
            tasks[side * side - 1].waitUntilFinished()
            return cells[side * side - 1]
        }
    }

    /// Numbers that go through a source, a parallel stage and an ordered stage, which adds them up.
    static func pipeline() {
        let (n, sum) = (Harness.value("n", 100_000), Sum())
        let pipeline = Pipeline(of: Int.self, tokens: Harness.value("tokens", 16)).parallel { $0 &+ 1 }.ordered { sum.value &+= $0 }
        Harness.measure(prepare: { sum.value = 0 }) {
            let count = try? pipeline.run(over: 0..<n)
            return count == n ? UInt64(sum.value) : 0
        }
    }

    final class Sum: @unchecked Sendable {
        // Only the ordered stage touches it, one item after another.
        var value = 0
    }

    struct Failure: Error {}

    final class Flaky: Task<Void>, @unchecked Sendable {
        // Only the attempts touch it, one after another.
        private var failuresLeft = 2

        override func run() {
            guard failuresLeft > 0 else {
                finish(with: .success(()))
                return
            }
            failuresLeft -= 1
            finish(with: .failure(Failure()))
        }
    }

    /// Tasks that fail twice and succeed then.
    static func retry() {
        let (queue, n) = (Queues.makeQueue(), Harness.value("n", 1000))
        Harness.measure {
            let tasks = (0..<n).map { _ in Flaky().retry(2) }
            for task in tasks { queue.add(task: task) }
            queue.waitUntilAllTasksAreFinished()
            return UInt64(tasks.count { (try? $0.result?.get()) != nil })
        }
    }

    /// Tasks, each with a handler that is told of its end.
    static func finishedTasks() {
        let (queue, n, ran, told) = (Queues.makeQueue(), Harness.value("n", 10_000), AtomicCount(), AtomicCount())
        Harness.measure {
            ran.set(0)
            told.set(0)
            for _ in 0..<n { queue.add(task: Task.inline { ran.add() }.onCompletion { _ in told.add() }) }
            queue.waitUntilAllTasksAreFinished()
            return told.value == n ? UInt64(ran.value) : 0
        }
    }

    /// A task's result is awaited, again and again.
    static func awaited() {
        let (queue, ran) = (Queues.makeQueue(), AtomicCount())
        Handoffs<Queues>.trips(on: Queues.self) {
            let task = queue.add { ran.add() }
            try? await task.value
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    /// A thread adds one task and waits for it.
    static func handoff() {
        let (queue, ran) = (Queues.makeQueue(), AtomicCount())
        Harness.measureTrips { queue.add { ran.add() }.waitUntilFinished() }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    /// A graph, made once with `again=1`, else within what is measured.
    static func graph() {
        let shape = GraphShape()
        if Harness.value("again", 0) == 0 {
            return Harness.measure(prepare: shape.clear) { run(frozen(shape), shape) }
        }
        let graph = frozen(shape)
        Harness.measure(prepare: shape.clear) { run(graph, shape) }
    }

    /// Resident memory of a graph that has run once: the sample is bytes.
    static func graphMemory() {
        let shape = GraphShape()
        let first = TaskGraph()
        first.node {}
        do { _ = try first.freeze(scheduler: Queues.scheduler).run() } catch { Harness.fail("\(error)") }  // the threads are there
        let before = Harness.residentBytes
        let graph = frozen(shape)
        let answer = run(graph, shape)
        Harness.sample(Harness.residentBytes - before, answer)
    }

    private static func frozen(_ shape: GraphShape) -> TaskGraph.Frozen {
        let graph = TaskGraph(name: "bench")
        let nodes = (0..<shape.count).map { node in graph.node { shape.run(node) } }
        for node in 0..<shape.count {
            for before in shape.before(node) { graph.order(nodes[before], before: nodes[node]) }
        }
        do { return try graph.freeze(scheduler: Queues.scheduler) } catch { Harness.fail("\(error)") }
    }

    private static func run(_ graph: TaskGraph.Frozen, _ shape: GraphShape) -> UInt64 {
        do { _ = try graph.run() } catch { Harness.fail("\(error)") }
        return shape.answer
    }
}
