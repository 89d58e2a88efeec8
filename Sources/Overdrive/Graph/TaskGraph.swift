public import OverdriveCore
internal import Synchronization

/// Collects nodes and their dependencies, to be run many times.
///
///     let graph = TaskGraph()
///     let parsed = graph.node("parse") { try parse(source) }
///     let checked = graph.node("check", after: parsed) { tree in try check(tree) }
///     let code = graph.node("generate", after: parsed, checked) { tree, types in generate(tree, types) }
///     let build = try graph.freeze()
///
///     let results = try build.run()
///     write(results[code])
///
/// A node is a closure. It runs once a run, after the nodes that it depends on, and receives their results. A graph is built
/// on one thread, then frozen. A frozen graph never changes, and runs as often as the program asks, several runs at a time too.
///
/// Take a graph when the dependencies are known before the work begins. Take ``Task`` when they are found on the way.
///
/// - Ordering: A node starts after all nodes that it depends on. It sees what they wrote.
/// - Threading: One thread builds a graph. ``Frozen`` is `Sendable`.
/// - Cost: About 0.5 µs a node to build; see `run(token:)` for a run.
///
/// Source: the layout (successors in compressed rows, one join counter a node, a released successor run at once) follows
/// oneTBB's scheduler bypass and the levels of Kahn, "Topological sorting of large networks", CACM 5(11), 1962.
@safe public final class TaskGraph {
    /// How a run continues after a node has failed.
    public enum FailurePolicy: Sendable {
        /// Skips the nodes that depend on the failed one. All others run, then `run` throws.
        case skipDependents
        /// Starts no further node. `run` throws once the nodes that had started have returned.
        case stop
        /// Runs all nodes that do not need the missing result. `run` does not throw: ask ``Results/outcome(of:)``.
        case goOn
    }

    var nodes: ContiguousArray<GraphNode> = []
    var edges: ContiguousArray<(from: Int32, edge: GraphEdge)> = []
    var inputs: [GraphInput] = []
    private var slotBytes = 0
    /// Names the graph in its nodes: an address may come back once a graph is gone.
    private let identity = TaskGraph.identities.add(1, ordering: .relaxed).newValue  // Relaxed: only the number counts.
    private static let identities = Atomic(0)
    private var prefix = ""
    private var isFrozen = false
    let policy: FailurePolicy
    let name: String

    /// Makes an empty graph.
    ///
    /// - Parameters:
    ///   - name: The label of the graph's closures in dumps and warnings.
    ///   - onFailure: What a run does after a node has failed.
    /// - Ordering: None.
    /// - Threading: The thread that makes a graph builds it.
    /// - Cost: One allocation.
    public init(name: String = "graph", onFailure: FailurePolicy = .skipDependents) {
        self.name = name
        policy = onFailure
    }

    /// How many nodes the graph has.
    public var count: Int { nodes.count }

    /// Adds nodes under a common path: a node "a" of the sub-graph "lib" is called "lib/a".
    ///
    ///     let lib = graph.subgraph("lib") { compileAndArchive(in: graph) }
    ///
    /// - Parameters:
    ///   - name: The part of the path.
    ///   - build: Adds the nodes, to this graph.
    /// - Returns: The value of `build`.
    /// - Throws: The error of `build`.
    /// - Ordering: None: the path is a name only.
    /// - Threading: The thread that builds the graph.
    /// - Cost: That of `build`.
    public func subgraph<R, E: Error>(_ name: String, _ build: () throws(E) -> R) throws(E) -> R {
        let outer = prefix
        prefix += name + "/"
        defer { prefix = outer }
        return try build()
    }

    /// Makes one node wait for another one whose result it does not need.
    ///
    ///     graph.order(makeFolder, before: writeFile)
    ///
    /// - Parameters:
    ///   - first: The node that runs first.
    ///   - second: The node that waits.
    /// - Ordering: `second` sees what `first` wrote.
    /// - Threading: The thread that builds the graph.
    /// - Cost: 8 bytes, and a locked instruction in each run.
    public func order<A, B>(_ first: Node<A>, before second: Node<B>) {
        check("order(_:before:)", first.graph)
        check("order(_:before:)", second.graph)
        edges.append((first.id, GraphEdge(to: second.id, .order)))
    }

    /// Checks the graph and lays it out for runs.
    ///
    /// - Parameter scheduler: The scheduler whose workers run the nodes.
    /// - Returns: The graph that runs.
    /// - Throws: ``TaskGraphError/circle(_:)`` with the names of its nodes. Only ``order(_:before:)`` can make a circle.
    /// - Ordering: None.
    /// - Threading: The thread that builds the graph, which cannot be changed afterwards.
    /// - Cost: Linear in nodes and dependencies; about 0.1 µs each.
    public func freeze(scheduler: Scheduler = .shared) throws(TaskGraphError) -> Frozen {
        check("freeze(scheduler:)", identity)
        let layout = GraphLayout(
            nodes: nodes, edges: edges, inputs: inputs, slotBytes: slotBytes, policy: policy, graph: identity)
        if let circle = layout.circle() { throw .circle(circle.map { layout.name(of: $0) }) }
        isFrozen = true
        nodes = []
        edges = []
        inputs = []
        return Frozen(layout, name: name, scheduler: scheduler)
    }

    /// Adds a node of any form. Its results come to lie in a slot of `layout`'s size.
    @usableFromInline
    func add<R: Sendable>(
        _ name: String, returning type: R.Type, when condition: Condition?, on queue: TaskQueue?, qos: TaskQueue.QoS?,
        retry: RetryPolicy?, body: GraphNode.Body
    ) -> Node<R> {
        guard nodes.count < Int(Int32.max) >> 2 else { trap("TaskGraph.node: too many nodes (\(nodes.count)). Split the graph.") }
        check("node", identity)
        let alignment = MemoryLayout<R>.alignment
        let offset = (slotBytes + alignment - 1) / alignment * alignment
        guard alignment <= GraphLayout.slotAlignment else {
            trap("TaskGraph.node: alignment of \(R.self) is too large (\(alignment)). Return a class or an array.")
        }
        slotBytes = offset + MemoryLayout<R>.stride
        let id = Int32(nodes.count)
        var destroy: GraphNode.Destroy?
        if !_isPOD(R.self) {
            destroy = { $0.deinitialize(R.self) }
        }
        nodes.append(GraphNode(
            name: prefix.isEmpty ? name : prefix + (name.isEmpty ? "node \(id)" : name), offset: offset, queue: queue, qos: qos,
            retry: retry, body: body, destroy: destroy))
        if let condition {
            check("node", condition.node.graph)
            edges.append((condition.node.id, GraphEdge(to: id, condition.expected ? .whenTrue : .whenFalse)))
        }
        return Node(id: id, offset: offset, graph: identity)
    }

    @usableFromInline
    func addEdge<A>(from node: Node<A>, to id: Int32, isNeeded: Bool) {
        check("node", node.graph)
        edges.append((node.id, GraphEdge(to: id, isNeeded ? .needed : .order)))
    }

    private func check(_ call: StaticString, _ graph: Int) {
        if isFrozen { trap("TaskGraph.\(call): the graph is frozen (\(name)). Build another TaskGraph.") }
        if graph != identity {
            trap("TaskGraph.\(call): the node belongs to another graph than \(name). Pass results between graphs by hand.")
        }
    }
}

extension TaskGraph {
    /// A node of a graph, whose closure returns `T`.
    public struct Node<T: Sendable>: Sendable {
        @usableFromInline let id: Int32
        @usableFromInline let offset: Int
        @usableFromInline let graph: Int

        init(id: Int32, offset: Int, graph: Int) {
            self.id = id
            self.offset = offset
            self.graph = graph
        }

        /// The node as a dependency whose result may be missing: the dependent then receives nil and runs all the same.
        ///
        /// A result is missing if the node was on a branch that was not taken. After a failure, dependents run with nil
        /// under ``FailurePolicy/goOn`` only.
        public var optional: OptionalNode<T> { OptionalNode(node: self) }
    }

    /// A dependency whose result may be missing; see ``Node/optional``.
    public struct OptionalNode<T: Sendable>: Sendable {
        @usableFromInline let node: Node<T>

        init(node: Node<T>) {
            self.node = node
        }
    }

    /// Whether a branch is taken: the result of a Boolean node, as nodes name it in `when:`.
    public struct Condition: Sendable {
        let node: Node<Bool>
        let expected: Bool
    }
}

extension TaskGraph.Node where T == Bool {
    /// Runs a node only if this one returned true.
    public var isTrue: TaskGraph.Condition { TaskGraph.Condition(node: self, expected: true) }
    /// Runs a node only if this one returned false.
    public var isFalse: TaskGraph.Condition { TaskGraph.Condition(node: self, expected: false) }
}

/// Why a graph could not be frozen, or why a run gave no results.
public enum TaskGraphError: Error, CustomStringConvertible {
    /// Nodes wait for each other: each name is the path of a node that waits for the one before it.
    case circle([String])
    /// A node failed: its path, its error, and how many other nodes failed.
    case failed(node: String, error: any Error, others: Int)
    /// The run was cancelled, or its scheduler was shut down: how many nodes did not run.
    case cancelled(unfinished: Int)

    public var description: String {
        switch self {
        case .circle(let names):
            "TaskGraph.freeze: nodes wait for each other (\((names + names.prefix(1)).joined(separator: " → "))). "
                + "Remove one of the dependencies."
        case .failed(let node, let error, let others):
            "TaskGraph.run: node \"\(node)\" failed (\(error))\(others > 0 ? ", and \(others) more" : "")."
        case .cancelled(let unfinished): "TaskGraph.run: cancelled (\(unfinished) nodes did not run)."
        }
    }
}
