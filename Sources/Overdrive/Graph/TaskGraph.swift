// Owns the builder of graphs and its public types. Programs call it on one thread, then freeze the graph. It never
// runs a node.

public import OverdriveCore
internal import Synchronization

/// Collects nodes and their dependencies for any number of runs.
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
/// A node is a closure. It runs once in each run, after its dependencies, and receives their results. One thread
/// builds a graph and freezes it. A frozen graph never changes. It can be run any number of times, also concurrently.
///
/// Use a graph when the dependencies are known before the work begins. Use ``Task`` when the work itself finds them.
///
/// - Ordering: A node starts after all its dependencies, and sees their writes.
/// - Threading: One thread builds a graph. ``Frozen`` is `Sendable`.
/// - Cost: About 0.5 µs to add a node; see `run(token:)` for a run.
///
/// Source: the compressed rows and join counters follow Kahn, "Topological sorting of large networks", CACM 5(11),
/// 1962. The immediate run of a released node follows oneTBB's scheduler bypass.
@safe public final class TaskGraph {
    /// The treatment of the other nodes after a node has failed.
    public enum FailurePolicy: Sendable {
        /// Skips the dependents of the failed node. All other nodes run, then `run` throws.
        case skipDependents
        /// Starts no further node. `run` throws once the started nodes have returned.
        case stop
        /// Runs all nodes that do not need the missing result. `run` does not throw; use ``Results/outcome(of:)``.
        case goOn
    }

    var nodes: ContiguousArray<GraphNode> = []
    var edges: ContiguousArray<(from: Int32, edge: GraphEdge)> = []
    var inputs: [GraphInput] = []
    private var slotBytes = 0
    /// A unique number that the graph's nodes carry. An address would not do: another graph may reuse it.
    // Relaxed: only the number counts.
    private let identity = TaskGraph.identities.add(1, ordering: .relaxed).newValue
    private static let identities = Atomic(0)
    private var prefix = ""
    private var isFrozen = false
    let policy: FailurePolicy
    let name: String

    /// Creates an empty graph.
    ///
    /// - Parameters:
    ///   - name: The label of the graph's closures in dumps and warnings.
    ///   - onFailure: The treatment of the other nodes after a node has failed.
    /// - Ordering: None.
    /// - Threading: The thread that creates a graph also builds it.
    /// - Cost: One allocation.
    public init(name: String = "graph", onFailure: FailurePolicy = .skipDependents) {
        self.name = name
        policy = onFailure
    }

    /// The number of nodes in the graph.
    public var count: Int { nodes.count }

    /// Adds nodes under a common path: node "a" in the sub-graph "lib" has the name "lib/a".
    ///
    ///     let lib = graph.subgraph("lib") { compileAndArchive(in: graph) }
    ///
    /// - Parameters:
    ///   - name: The component of the path.
    ///   - build: Adds the nodes to this graph.
    /// - Returns: The value of `build`.
    /// - Throws: The error of `build`.
    /// - Ordering: None; the path only changes names.
    /// - Threading: The thread that builds the graph.
    /// - Cost: The cost of `build`.
    public func subgraph<R, E: Error>(_ name: String, _ build: () throws(E) -> R) throws(E) -> R {
        let outer = prefix
        prefix += name + "/"
        defer { prefix = outer }
        return try build()
    }

    /// Makes a node wait for another node without reading its result.
    ///
    ///     graph.order(makeFolder, before: writeFile)
    ///
    /// - Parameters:
    ///   - first: The node that runs first.
    ///   - second: The node that waits.
    /// - Ordering: `second` sees the writes of `first`.
    /// - Threading: The thread that builds the graph.
    /// - Cost: 8 bytes, and an atomic instruction in each run.
    public func order<A, B>(_ first: Node<A>, before second: Node<B>) {
        check("order(_:before:)", first.graph)
        check("order(_:before:)", second.graph)
        edges.append((first.id, GraphEdge(to: second.id, .order)))
    }

    /// Checks the graph and prepares it for runs.
    ///
    /// - Parameter scheduler: The scheduler whose workers run the nodes.
    /// - Returns: The frozen graph.
    /// - Throws: ``TaskGraphError/circle(_:)`` with the names of the nodes in a cycle. Only ``order(_:before:)`` can
    ///   create a cycle.
    /// - Ordering: None.
    /// - Threading: The thread that builds the graph. No node can be added afterwards.
    /// - Cost: Linear in nodes and dependencies; about 0.1 µs for each.
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

    @available(*, unavailable, message: "write try graph.freeze(), once, and run the frozen graph")
    public func run() {}

    /// Adds a node of any form. Reserves an aligned slot for its result in each run.
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

    func check(_ call: StaticString, _ graph: Int) {
        if isFrozen { trap("TaskGraph.\(call): the graph is frozen (\(name)). Run the frozen graph again, or build another TaskGraph.") }
        if graph != identity {
            trap("TaskGraph.\(call): the node belongs to another graph than \(name). Pass results between graphs by hand.")
        }
    }
}

extension TaskGraph {
    /// A node of a graph. Its closure returns `T`.
    public struct Node<T: Sendable>: Sendable {
        @usableFromInline let id: Int32
        @usableFromInline let offset: Int
        @usableFromInline let graph: Int

        init(id: Int32, offset: Int, graph: Int) {
            self.id = id
            self.offset = offset
            self.graph = graph
        }

        /// The node as a dependency whose result may be missing. The dependent then receives nil and still runs.
        ///
        /// A result is missing if the node was on a branch that was not taken. After a failure, dependents run with
        /// nil only under ``FailurePolicy/goOn``.
        public var optional: OptionalNode<T> { OptionalNode(node: self) }
    }

    /// A dependency whose result may be missing; see ``Node/optional``.
    public struct OptionalNode<T: Sendable>: Sendable {
        @usableFromInline let node: Node<T>

        init(node: Node<T>) {
            self.node = node
        }
    }

    /// A branch of a graph: a Boolean node and the expected result, for the parameter `when:`.
    public struct Condition: Sendable {
        let node: Node<Bool>
        let expected: Bool
    }
}

extension TaskGraph.Node where T == Bool {
    /// The condition that this node returned true.
    public var isTrue: TaskGraph.Condition { TaskGraph.Condition(node: self, expected: true) }
    /// The condition that this node returned false.
    public var isFalse: TaskGraph.Condition { TaskGraph.Condition(node: self, expected: false) }
}

/// The error of a graph that could not be frozen, or of a run without results.
public enum TaskGraphError: Error, CustomStringConvertible {
    /// Nodes depend on each other in a cycle. Each named node waits for the node before it.
    case circle([String])
    /// A node failed: its path, its error, and the number of other nodes that failed.
    case failed(node: String, error: any Error, others: Int)
    /// The run was cancelled, or its scheduler was shut down; the number of nodes that did not run.
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
