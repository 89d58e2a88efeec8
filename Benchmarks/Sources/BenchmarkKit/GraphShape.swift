internal import CWorkloads

/// A graph whose nodes wait for nodes of lower numbers, and the work of its nodes; CWorkloads makes it for all contenders.
///
/// The arguments name it: `shape=` is a number of `wl_shape`, `n=` its size, `steps=` the work of a node.
@safe public struct GraphShape: @unchecked Sendable {
    // Nodes write their own values, and read those of nodes that they wait for.
    private let graph: UnsafeMutablePointer<wl_graph>

    public init() {
        graph = wl_graph_make(
            wl_shape(UInt32(Harness.value("shape", 0))), Int64(Harness.value("n", 1000)), UInt64(Harness.value("steps", 0)))
    }

    public var count: Int { Int(graph.pointee.count) }

    /// The nodes that `node` waits for.
    public func before(_ node: Int) -> some Sequence<Int> {
        let graph = graph.pointee
        return (graph.rows[node]..<graph.rows[node + 1]).lazy.map { Int(graph.before[Int($0)]) }
    }

    public func run(_ node: Int) { wl_graph_run(graph, Int64(node)) }

    /// Before each sample.
    public func clear() { wl_graph_clear(graph) }

    public var answer: UInt64 { wl_graph_answer(graph) }
}
