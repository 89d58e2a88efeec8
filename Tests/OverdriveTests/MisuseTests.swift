import Dispatch
import Overdrive
import Testing

/// Broken promises end the process with one sentence that names the call.
@Suite("Misuse", .timeLimit(.minutes(10)))
struct MisuseTests {
    @Test("ends the process with a sentence", arguments: scenes.names)
    func ends(name: String) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
            await Self.scenes.play(name)
        }
        #expect(sentences(result?.standardErrorContent) == ["overdrive: \(try #require(Self.scenes.sentence(of: name)))"])
    }

    private static func legacy() -> TaskQueue { TaskQueue(queue: DispatchQueue(label: "legacy")) }

    private static let scenes = [
        Scene(
            "a task that is added twice",
            says: "TaskQueue.add(task:): the task was added or started before (\"twice\"). Make a new task."
        ) {
            let (queue, task) = (TaskQueue(), Task.inline {})
            task.name = "twice"
            queue.add(task: task)
            queue.add(task: task)
        },
        Scene(
            "a cancelled task that is added twice",
            says: "TaskQueue.add(task:): the task was added or started before (a Task<()>). Make a new task."
        ) {
            let task = Task.inline {}
            task.cancel()
            for _ in 0..<2 { TaskQueue().add(task: task) }
        },
        Scene(
            "a body that is missing",
            says: "Task.run(): not overridden (a Task<Int>). Override it without calling super, or make the task from a closure."
        ) {
            TaskQueue().add(task: Task<Int>())
            try? await AsyncTask.sleep(for: .seconds(60))
        },
        Scene(
            "a circle, whose message shows the way round",
            says: "Task.add(dependency:): a circle (\"c\" waits for \"a\", \"a\" for \"b\", \"b\" for \"c\"). Remove one of these dependencies."
        ) {
            let (a, b, c) = (Task.inline {}, Task.inline {}, Task.inline {})
            (a.name, b.name, c.name) = ("a", "b", "c")
            a.add(dependency: b)
            b.add(dependency: c)
            c.add(dependency: a)
        },
        Scene(
            "a graph that is changed after it was frozen",
            says: "TaskGraph.node: the graph is frozen (build). Run the frozen graph again, or build another TaskGraph."
        ) {
            let graph = TaskGraph(name: "build")
            _ = try? graph.freeze()
            graph.node {}
        },
        Scene(
            "a node of another graph",
            says: "TaskGraph.node: the node belongs to another graph than build. Pass results between graphs by hand."
        ) {
            let (graph, other) = (TaskGraph(name: "build"), TaskGraph())
            graph.node(after: other.node { 1 }) { _ in }
        },
        Scene(
            "a time limit of zero",
            says: "TaskGraph.limit(_:to:waits:): not positive (0.0 seconds). Choose a longer time."
        ) {
            let graph = TaskGraph()
            graph.limit(graph.node {}, to: .zero)
        },
        Scene(
            "a spawn after the node has ended",
            says: "TaskGraph.Context.spawn: the node has ended (\"scan\"). Spawn before its closures return."
        ) {
            let graph = TaskGraph()
            let scan = graph.node("scan", after: graph.context) { $0 }
            guard let results = try? await graph.freeze().run() else { return }
            results[scan].spawn {}
        },
        Scene(
            "a run without a value for an input",
            says: "TaskGraph.run: no value for input \"lib/path\". Pass it to run(with:)."
        ) {
            let graph = TaskGraph()
            let path = graph.subgraph("lib") { graph.input("path", of: String.self) }
            graph.node(after: path) { print($0) }
            _ = try? await graph.freeze().run()
        },
        Scene(
            "a run with 2 values for an input",
            says: "TaskGraph.run: 2 values for input \"level\". Give it one."
        ) {
            let graph = TaskGraph()
            let level = graph.input("level", default: 1)
            _ = try? await graph.freeze().run(with: [level.given(2), level.given(2)])
        },
        Scene(
            "a run with a value for an input of another graph",
            says: "TaskGraph.run: the input belongs to another graph. Give values only to inputs of the graph that runs."
        ) {
            let (graph, other) = (TaskGraph(), TaskGraph())
            _ = graph.input("level", default: 1)
            _ = try? await graph.freeze().run(with: [other.input("level", default: 1).given(2)])
        },
        Scene(
            "a result of a node that did not finish",
            says: "TaskGraph.Results: node \"late\" did not finish. Use outcome(of:)."
        ) {
            let graph = TaskGraph()
            let never = graph.node { false }
            let late = graph.node("late", when: never.isTrue) { 1 }
            guard let frozen = try? graph.freeze(), let results = try? await frozen.run() else { return }
            print(results[late])
        },
        Scene(
            "a wait for a task in what it calls before its end",
            says: "Task.waitUntilFinished(): this callback runs before the end of the task, so the wait would never end (\"t\"). "
                + "Wait in an onCompletion handler, or on another thread."
        ) {
            struct Waits: TaskObserver {
                func taskWillFinishExecution<T>(_ task: Task<T>) { task.waitUntilFinished() }
            }
            let task = Task.inline {}
            task.name = "t"
            task.add(observer: Waits())
            task.start()
        },
        Scene("a jitter without end", says: "RetryPolicy.jitter: out of range (inf). Choose 0 to 1.") {
            var policy = RetryPolicy(attempts: 2)
            policy.jitter = .infinity
        },
        Scene(
            "a circle of groups",
            says: "TaskGroup.register(_:): a circle of groups. Register the group in another one."
        ) {
            let (outer, middle, inner) = (TaskGroup(), TaskGroup(), TaskGroup())
            outer.register(middle)
            middle.register(inner)
            inner.register(outer)
        },
        Scene(
            "suspend of a dispatch queue",
            says: "TaskQueue.suspend(): the queue runs on a dispatch queue (\"legacy\"). Make another TaskQueue."
        ) { legacy().suspend() },
        Scene(
            "cancelAll of a dispatch queue", says: "TaskQueue.cancelAll(): a dispatch queue's closures cannot be cancelled (\"legacy\"). Cancel a WorkItem."
        ) { legacy().cancelAll() },
        Scene(
            "waiting for a dispatch queue from one of its closures",
            says: "TaskQueue.waitUntilAllTasksAreFinished(): a closure of the queue would wait for itself (\"legacy\"). Wait elsewhere."
        ) {
            let queue = legacy()
            queue.async { queue.waitUntilAllTasksAreFinished() }
            await queue.drained()
        },
        Scene(
            "progress of a dispatch queue",
            says: "TaskQueue.trackProgress(total:): the queue runs on a dispatch queue (\"legacy\"). Track another TaskQueue."
        ) { legacy().trackProgress() },
    ]
}
