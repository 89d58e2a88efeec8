internal import OverdriveCore
internal import Synchronization

/// A node of a frozen graph: what all runs share.
@usableFromInline
struct GraphNode: Sendable {
    /// Initialises the result at the place, or throws.
    @usableFromInline typealias Direct = @Sendable (TaskGraph.Reader, GraphSlot) throws -> Void
    @usableFromInline typealias Suspending = @Sendable (TaskGraph.Reader, GraphSlot) async throws -> Void
    typealias Destroy = @Sendable (GraphSlot) -> Void

    @usableFromInline
    enum Body: Sendable {
        case direct(Direct)
        case suspending(Suspending)
    }

    let name: String
    let offset: Int
    let queue: TaskQueue?
    let qos: TaskQueue.QoS?
    let retry: RetryPolicy?
    let body: Body
    /// nil: the result needs no deinitialisation.
    let destroy: Destroy?

    /// A run may wait for the node while no thread runs it.
    fileprivate var mayWait: Bool {
        if case .suspending = body { return true }
        return retry != nil
    }

    /// Neither a queue, nor a quality of service, nor an asynchronous body sends it elsewhere.
    fileprivate var isPlain: Bool {
        guard queue == nil, qos == nil, case .direct = body else { return false }
        return true
    }
}

/// A dependency as the node before it sees it: the dependent, and what it needs.
struct GraphEdge: Sendable {
    enum Kind: Int32 {
        /// The dependent reads the result.
        case needed
        /// The dependent waits only, or takes an optional result.
        case order
        /// The dependent runs if the result is true.
        case whenTrue
        /// The dependent runs if the result is false.
        case whenFalse
    }

    private let word: Int32

    init(to node: Int32, _ kind: Kind) {
        word = node << 2 | kind.rawValue
    }

    var node: Int { Int(word >> 2) }
    var kind: Kind { Kind(rawValue: word & 3) ?? .needed }
}

/// How a node ended in a run.
@usableFromInline
enum GraphOutcome: UInt8 {
    /// It has not ended, or never will: its job was discarded by a stop.
    case pending
    case finished
    case failed
    /// A node that it needs failed.
    case skipped
    /// It is on a branch that was not taken, or needs a node that is.
    case notTaken
    /// The run was cancelled, or stopped after a failure, before it began.
    case cancelled
}

/// A node's words in one run. They lie in the run's slab; the engine's jobs point at them.
@usableFromInline
struct GraphNodeState: ~Copyable {
    unowned(unsafe) let run: GraphRun
    /// Dependencies that have not ended.
    ///
    /// Edge: each dependency subtracts with release after its last write, and the last one acquires what all have written.
    let waitsFor: Atomic<Int32>
    let index: Int32
    /// Bits of dependencies that keep the node from running: `doomed`, `notTaken`. Written before `waitsFor` is released.
    let verdict = Atomic<UInt8>(0)
    /// Written by the thread that ends the node, before it releases dependents; read by these.
    @usableFromInline var outcome = GraphOutcome.pending
    /// Failed attempts. Attempts follow each other.
    var attempts: UInt16 = 0

    static var doomed: UInt8 { 1 }
    static var notTaken: UInt8 { 2 }

    init(run: GraphRun, index: Int32, waitsFor: Int32) {
        unsafe self.run = run
        self.index = index
        self.waitsFor = Atomic(waitsFor)
    }
}

/// A frozen graph's nodes and edges. It never changes.
///
/// Successors lie in compressed rows: those of node i are `edges[rows[i]..<rows[i + 1]]`.
final class GraphLayout: Sendable {
    struct Step: Sendable {
        let offset: Int
        /// How many dependencies the node has.
        let joins: Int32
        /// The node may run right after the node that released it, on the same thread.
        let isPlain: Bool
    }

    /// Slots lie at multiples of their type's alignment, of at most this many bytes.
    static let slotAlignment = 64

    let nodes: ContiguousArray<GraphNode>
    let rows: ContiguousArray<Int32>
    let edges: ContiguousArray<GraphEdge>
    /// The facts of a node that each run reads.
    let steps: ContiguousArray<Step>
    /// Nodes that depend on nothing, without inputs.
    let roots: ContiguousArray<Int32>
    let inputs: [GraphInput]
    /// Inputs that depend on nothing: their values are there before a run begins.
    let readyInputs: ContiguousArray<Int32>
    let slotBytes: Int
    let policy: TaskGraph.FailurePolicy
    /// A run may wait while no node runs: for an asynchronous body or a retry.
    let mayWait: Bool
    /// The builder's number, which nodes name.
    let graph: Int
    /// Nodes whose results need deinitialisation.
    let owners: ContiguousArray<Int32>

    init(
        nodes: ContiguousArray<GraphNode>, edges: ContiguousArray<(from: Int32, edge: GraphEdge)>, inputs: [GraphInput],
        slotBytes: Int, policy: TaskGraph.FailurePolicy, graph: Int
    ) {
        var rows = ContiguousArray<Int32>(repeating: 0, count: nodes.count + 1)
        var joins = ContiguousArray<Int32>(repeating: 0, count: nodes.count)
        for (from, edge) in edges {
            rows[Int(from) + 1] += 1
            joins[edge.node] += 1
        }
        for i in 0..<nodes.count { rows[i + 1] += rows[i] }
        var next = rows
        var sorted = ContiguousArray(repeating: GraphEdge(to: 0, .needed), count: edges.count)
        for (from, edge) in edges {
            sorted[Int(next[Int(from)])] = edge
            next[Int(from)] += 1
        }
        let inputNodes = Set(inputs.map(\.node))
        roots = ContiguousArray((0..<Int32(nodes.count)).filter { joins[Int($0)] == 0 && !inputNodes.contains($0) })
        readyInputs = ContiguousArray(inputs.lazy.map(\.node).filter { joins[Int($0)] == 0 })
        self.inputs = inputs
        owners = ContiguousArray((0..<Int32(nodes.count)).filter { nodes[Int($0)].destroy != nil })
        steps = ContiguousArray(nodes.indices.map { i in
            Step(offset: nodes[i].offset, joins: joins[i], isPlain: nodes[i].isPlain)
        })
        mayWait = nodes.contains(where: \.mayWait)
        self.nodes = nodes
        self.rows = rows
        self.edges = sorted
        self.slotBytes = slotBytes
        self.policy = policy
        self.graph = graph
    }

    func successors(of node: Int) -> Range<Int> {
        Int(rows[node])..<Int(rows[node + 1])
    }

    /// The nodes of a circle, each before its dependent; nil if there is none.
    ///
    /// Kahn's levels first, in linear time: nodes that remain wait for a circle. A walk along them ends in one.
    func circle() -> [Int]? {
        var left = ContiguousArray(steps.map(\.joins))
        var ready = roots + readyInputs
        while let node = ready.popLast() {
            for edge in edges[successors(of: Int(node))] {
                left[edge.node] -= 1
                if left[edge.node] == 0 { ready.append(Int32(edge.node)) }
            }
        }
        guard left.contains(where: { $0 > 0 }) else { return nil }
        var before = ContiguousArray<Int32>(repeating: -1, count: nodes.count)  // one remaining dependency of each
        for node in 0..<nodes.count where left[node] > 0 {
            for edge in edges[successors(of: node)] where left[edge.node] > 0 { before[edge.node] = Int32(node) }
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
