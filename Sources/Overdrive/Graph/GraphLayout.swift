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

    /// Empty: the node is called by its number.
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

    /// Neither runs elsewhere, nor is tried again.
    fileprivate var isSimple: Bool { isPlain && retry == nil }
}

/// The facts of a frozen node that each run reads. They lie in the layout's slab, and are never copied: a copy would count
/// a reference to the closure.
struct GraphStep: ~Copyable {
    fileprivate let body: GraphNode.Direct
    let offset: Int
    /// How many dependencies the node has.
    let joins: Int32
    let firstEdge: Int32
    let edges: Int32
    /// The node may run right after the node that released it, on the same thread.
    let isPlain: Bool
    /// The layout's `special` has the node.
    let isSpecial: Bool

    /// Runs the closure of a node that does not suspend.
    func call(_ reader: TaskGraph.Reader, _ slot: GraphSlot) throws { try body(reader, slot) }
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

        var isBranch: Bool { rawValue >= Kind.whenTrue.rawValue }
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
    /// Edge: each of several dependencies subtracts with release after its last write, and the last one acquires what all have
    /// written. An only dependency does not count: its thread runs or submits the node.
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
/// Successors lie in compressed rows: those of a node are `edges[firstEdge..<firstEdge + edges]` of its step.
@safe final class GraphLayout: Sendable {
    /// Slots lie at multiples of their type's alignment, of at most this many bytes.
    static let slotAlignment = 64

    /// How many nodes the graph has.
    let count: Int
    // The initialiser writes both slabs, and the deinitialiser frees them.
    nonisolated(unsafe) let steps: UnsafePointer<GraphStep>
    nonisolated(unsafe) let edges: UnsafePointer<GraphEdge>
    private let names: ContiguousArray<String>
    /// Nodes that have a queue, a quality of service, a retry policy or an asynchronous closure.
    private let special: [Int32: GraphNode]
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

    /// The name of a node. A node without a name has its number: most graphs never ask, so `add` makes no string for it.
    func name(of node: Int) -> String { names[node].isEmpty ? "node \(node)" : names[node] }

    /// The facts of a node that has a queue, a quality of service, a retry policy or an asynchronous closure; else nil.
    func special(_ node: Int) -> GraphNode? {
        unsafe steps[node].isSpecial ? special[Int32(node)] : nil
    }

    func offset(of node: Int) -> Int { unsafe steps[node].offset }

    /// How many dependencies a node has.
    func joins(of node: Int) -> Int32 { unsafe steps[node].joins }

    func isPlain(_ node: Int) -> Bool { unsafe steps[node].isPlain }

    /// The dependencies of other nodes on this one.
    func successors(of node: Int) -> UnsafeBufferPointer<GraphEdge> {
        unsafe UnsafeBufferPointer(start: edges + Int(steps[node].firstEdge), count: Int(steps[node].edges))
    }

    /// The nodes of a circle, each before its dependent; nil if there is none.
    ///
    /// Kahn's levels first, in linear time: nodes that remain wait for a circle. A walk along them ends in one.
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
