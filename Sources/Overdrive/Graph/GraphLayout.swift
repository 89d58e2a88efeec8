// Owns the types of a frozen graph that never change during runs: nodes, edges and the layout in memory.
// `TaskGraph.freeze` builds the layout, and `GraphRun` reads it. This file never runs a node.

internal import OverdriveCore
internal import Synchronization

/// A node of a frozen graph, as all runs share it.
@usableFromInline
struct GraphNode: Sendable {
    /// A synchronous body. It initialises the result in the slot, or throws.
    @usableFromInline typealias Direct = @Sendable (TaskGraph.Reader, GraphSlot) throws -> Void
    @usableFromInline typealias Suspending = @Sendable (TaskGraph.Reader, GraphSlot) async throws -> Void
    typealias Destroy = @Sendable (GraphSlot) -> Void

    @usableFromInline
    enum Body: Sendable {
        case direct(Direct)
        case suspending(Suspending)
    }

    /// The node's name. If it is empty, messages use the node's number.
    let name: String
    let offset: Int
    let queue: TaskQueue?
    let qos: TaskQueue.QoS?
    let retry: RetryPolicy?
    let body: Body
    /// Deinitialises a result. It is nil if the result's type needs no deinitialisation.
    let destroy: Destroy?
    /// The time limit of each attempt.
    var limit: GraphLimit?
    /// Whether the closure receives a context.
    var spawns = false

    /// Whether each attempt is a ``GraphAttempt``.
    var needsAttempt: Bool {
        if case .suspending = body { return true }
        return limit != nil || spawns
    }

    /// Whether a run may wait for the node while no thread runs it: during a suspension or the delay of a retry.
    fileprivate var mayWait: Bool { retry != nil || needsAttempt }

    /// Whether the node may run on any worker of the graph's queue, without an attempt.
    fileprivate var isPlain: Bool { queue == nil && qos == nil && !needsAttempt }

    /// Whether the node is plain and has no retry policy.
    fileprivate var isSimple: Bool { isPlain && retry == nil }
}

/// The properties of a frozen node that every run reads. They lie in the layout's array and are never copied, because
/// a copy would retain the closure.
struct GraphStep: ~Copyable {
    fileprivate let body: GraphNode.Direct
    let offset: Int
    /// The number of dependencies of the node.
    let joins: Int32
    let firstEdge: Int32
    let edges: Int32
    /// Whether the node may run on the thread that released it, right after the node that did so.
    let isPlain: Bool
    /// Whether the node has an entry in `GraphLayout.special`.
    let isSpecial: Bool

    /// Runs the body of a node that is not asynchronous.
    func call(_ reader: TaskGraph.Reader, _ slot: GraphSlot) throws { try body(reader, slot) }
}

/// An outgoing edge of a node: the dependent node, and the condition under which it runs. One word holds both.
struct GraphEdge: Sendable {
    enum Kind: Int32 {
        /// The dependent reads the result.
        case needed
        /// The dependent only waits, or takes an optional result.
        case order
        /// The dependent runs if the result is true.
        case whenTrue
        /// The dependent runs if the result is false.
        case whenFalse

        var isBranch: Bool { rawValue >= Kind.whenTrue.rawValue }
    }

    private let word: Int32

    init(to node: Int32, _ kind: Kind) {
        word = node << 2 | kind.rawValue
    }

    var node: Int { Int(word >> 2) }
    var kind: Kind { Kind(rawValue: word & 3) ?? .needed }
}

/// The outcome of a node in a run.
@usableFromInline
enum GraphOutcome: UInt8 {
    /// The node has not ended. It never ends if a shutdown discarded its job.
    case pending
    case finished
    case failed
    /// The node did not run, because a node that it needs failed.
    case skipped
    /// The node did not run: it, or a node that it needs, is on a branch that was not taken.
    case notTaken
    /// The node did not run, because the run was cancelled or stopped first.
    case cancelled
}

/// The mutable state of a node in one run. It lies in the run's array, and the engine's jobs point at it.
@usableFromInline
struct GraphNodeState: ~Copyable {
    unowned(unsafe) let run: GraphRun
    /// The number of dependencies that have not ended.
    ///
    /// Edge: each of several dependencies subtracts with release after its last write. The last one acquires the
    /// writes of all of them. A single dependency is not counted: its thread runs or submits the node.
    let waitsFor: Atomic<Int32>
    let index: Int32
    /// Flags set by dependencies that keep the node from running: `doomed`, `notTaken`. A dependency sets them before
    /// it releases `waitsFor`.
    let verdict = Atomic<UInt8>(0)
    /// The outcome. The thread that ends the node writes it before it releases the dependents, which read it.
    @usableFromInline var outcome = GraphOutcome.pending
    /// The number of failed attempts. It needs no lock, because attempts do not overlap.
    var attempts: UInt16 = 0
    /// The number of the next node in the run's list of ready nodes, or -1.
    let nextReady = Atomic<Int32>(-1)

    static var doomed: UInt8 { 1 }
    static var notTaken: UInt8 { 2 }

    init(run: GraphRun, index: Int32, waitsFor: Int32) {
        unsafe self.run = run
        self.index = index
        self.waitsFor = Atomic(waitsFor)
    }
}

/// The nodes and edges of a frozen graph. It never changes.
///
/// Edges are stored in compressed sparse rows. The outgoing edges of a node are `edges[firstEdge..<firstEdge +
/// edges]` of its step.
@safe final class GraphLayout: Sendable {
    /// The largest alignment of a slot, in bytes. Each slot is aligned for its result type.
    static let slotAlignment = 64

    /// The number of nodes.
    let count: Int
    // The initialiser allocates and writes both arrays; the deinitialiser frees them.
    nonisolated(unsafe) let steps: UnsafePointer<GraphStep>
    nonisolated(unsafe) let edges: UnsafePointer<GraphEdge>
    private let names: ContiguousArray<String>
    /// The nodes that have a queue, a quality of service, a retry policy or an attempt.
    private let special: [Int32: GraphNode]
    /// The nodes without dependencies, except inputs.
    let roots: ContiguousArray<Int32>
    let inputs: [GraphInput]
    /// The inputs without dependencies. Their values are known before a run begins.
    let readyInputs: ContiguousArray<Int32>
    let slotBytes: Int
    let policy: TaskGraph.FailurePolicy
    /// Whether a run may wait while no thread runs a node: for an asynchronous body or a retry.
    let mayWait: Bool
    /// The unique number of the `TaskGraph` that built this layout. Its nodes carry the number.
    let graph: Int
    /// The nodes whose results need deinitialisation.
    let owners: ContiguousArray<(node: Int32, destroy: GraphNode.Destroy)>

    init(
        nodes: ContiguousArray<GraphNode>, edges: ContiguousArray<(from: Int32, edge: GraphEdge)>,
        inputs: [GraphInput], slotBytes: Int, policy: TaskGraph.FailurePolicy, graph: Int
    ) {
        let count = nodes.count
        guard edges.count < Int(Int32.max) else {
            trap("TaskGraph.freeze: too many dependencies (\(edges.count)). Split the graph.")
        }
        var rows = ContiguousArray<Int32>(repeating: 0, count: count + 1)
        var joins = ContiguousArray<Int32>(repeating: 0, count: count)
        for (from, edge) in edges {
            rows[Int(from) + 1] += 1
            joins[edge.node] += 1
        }
        for i in 0..<count { rows[i + 1] += rows[i] }
        let sorted = UnsafeMutablePointer<GraphEdge>.allocate(capacity: max(1, edges.count))
        var next = rows
        for (from, edge) in edges {
            unsafe (sorted + Int(next[Int(from)])).initialize(to: edge)
            next[Int(from)] += 1
        }
        let steps = UnsafeMutablePointer<GraphStep>.allocate(capacity: max(1, count))
        var special = [Int32: GraphNode]()
        for i in 0..<count {
            var body: GraphNode.Direct = { _, _ in }
            if case .direct(let direct) = nodes[i].body { body = direct }
            let isSimple = nodes[i].isSimple
            unsafe (steps + i).initialize(to: GraphStep(
                body: body, offset: nodes[i].offset, joins: joins[i], firstEdge: rows[i], edges: rows[i + 1] - rows[i],
                isPlain: nodes[i].isPlain, isSpecial: !isSimple))
            if !isSimple { special[Int32(i)] = nodes[i] }
        }
        let inputNodes = Set(inputs.map(\.node))
        roots = ContiguousArray((0..<Int32(count)).filter { joins[Int($0)] == 0 && !inputNodes.contains($0) })
        readyInputs = ContiguousArray(inputs.lazy.map(\.node).filter { joins[Int($0)] == 0 })
        self.inputs = inputs
        owners = ContiguousArray((0..<Int32(count)).lazy.compactMap { node in nodes[Int(node)].destroy.map { (node, $0) } })
        mayWait = special.values.contains(where: \.mayWait)
        names = ContiguousArray(nodes.lazy.map(\.name))
        self.special = special
        self.count = count
        unsafe self.steps = UnsafePointer(steps)
        unsafe self.edges = UnsafePointer(sorted)
        self.slotBytes = slotBytes
        self.policy = policy
        self.graph = graph
    }

    deinit {
        unsafe UnsafeMutablePointer(mutating: steps).deinitialize(count: count)
        unsafe steps.deallocate()
        unsafe edges.deallocate()
    }

    /// Returns the name of a node, or its number if it has none. `add` makes no string for unnamed nodes, because
    /// most graphs never need it.
    func name(of node: Int) -> String { names[node].isEmpty ? "node \(node)" : names[node] }

    /// Returns the node if it has a queue, a quality of service, a retry policy or an attempt; else nil.
    func special(_ node: Int) -> GraphNode? {
        unsafe steps[node].isSpecial ? special[Int32(node)] : nil
    }

    func offset(of node: Int) -> Int { unsafe steps[node].offset }

    /// Returns the number of dependencies of a node.
    func joins(of node: Int) -> Int32 { unsafe steps[node].joins }

    func isPlain(_ node: Int) -> Bool { unsafe steps[node].isPlain }

    /// Returns the outgoing edges of a node.
    func successors(of node: Int) -> UnsafeBufferPointer<GraphEdge> {
        unsafe UnsafeBufferPointer(start: edges + Int(steps[node].firstEdge), count: Int(steps[node].edges))
    }

    /// Returns the nodes of a cycle, each before its dependent; nil if there is none.
    ///
    /// Kahn's algorithm first removes, in linear time, all nodes that depend on no cycle. A walk backwards from any
    /// remaining node then ends in a cycle.
    func circle() -> [Int]? {
        var left = ContiguousArray((0..<count).lazy.map { self.joins(of: $0) })
        var ready = roots + readyInputs
        while let node = ready.popLast() {
            for unsafe edge in unsafe successors(of: Int(node)) {
                left[edge.node] -= 1
                if left[edge.node] == 0 { ready.append(Int32(edge.node)) }
            }
        }
        guard left.contains(where: { $0 > 0 }) else { return nil }
        var before = ContiguousArray<Int32>(repeating: -1, count: count)  // one remaining dependency of each
        for node in 0..<count where left[node] > 0 {
            for unsafe edge in unsafe successors(of: node) where left[edge.node] > 0 { before[edge.node] = Int32(node) }
        }
        guard var node = left.firstIndex(where: { $0 > 0 }) else { return nil }
        var seenAt = [Int: Int]()
        var path = [Int]()
        while seenAt[node] == nil {
            seenAt[node] = path.count
            path.append(node)
            node = Int(before[node])
        }
        return path[(seenAt[node] ?? 0)...].reversed()
    }
}
