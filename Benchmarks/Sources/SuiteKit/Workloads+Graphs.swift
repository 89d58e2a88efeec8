extension Workload {
    /// Graphs that are made once and run again, and what making them costs. `shape` is a number of `wl_shape`.
    static let frozenGraphs: [Workload] = [
        graph(
            "graph-chain", "A frozen graph is run again: nodes in a row.", quick: ["shape": 0, "n": 1000],
            full: ["shape": 0, "n": 100_000]),
        graph(
            "graph-tree", "A frozen graph is run again: a binary tree, each node after both its children.",
            quick: ["shape": 1, "n": 1023], full: ["shape": 1, "n": 65_535]),
        graph(
            "graph-wavefront", "A frozen graph is run again: a square of cells, each after its upper and left neighbours.",
            quick: ["shape": 2, "n": 64, "steps": 100], full: ["shape": 2, "n": 256, "steps": 100]),
        graph(
            "graph-random", "A frozen graph is run again: each node after up to 3 of the 1,000 before it.",
            quick: ["shape": 3, "n": 10_000], full: ["shape": 3, "n": 1_000_000]),
        graph(
            "graph-random-small", "As graph-random, of 1,000 nodes.", quick: ["shape": 3, "n": 1000], full: ["shape": 3, "n": 1000],
            beside: "graph-random"),
        graph(
            "graph-lu", "A frozen graph is run again: LU of 16 × 16 tiles.", quick: ["shape": 4, "n": 16, "steps": 500],
            full: ["shape": 4, "n": 32, "steps": 500], beside: "graph-random"),
        graph(
            "graph-build", "A frozen graph is run again: the 210 commands of a build of this package.",
            quick: ["shape": 5, "steps": 1000], full: ["shape": 5, "steps": 1000], beside: "graph-random"),
        graph(
            "graph-made", "As graph-random, of 100,000 nodes (1,000,000 when full); each sample makes the graph.",
            quick: ["shape": 3, "n": 100_000], full: ["shape": 3, "n": 1_000_000, "warmup_ms": 0], again: 0, beside: "graph-random"),
        graph(
            "graph-memory", "Resident memory of a graph that has run once.", quick: ["shape": 3, "n": 1_000_000],
            full: ["shape": 3, "n": 1_000_000], word: "graph-memory", unit: .nodeBytes, beside: "graph-random"),
    ]

    private static func graph(
        _ id: String, _ question: String, quick: Parameters, full: Parameters, word: String = "graph", again: Int = 1,
        unit: Unit = .node, beside: String? = nil
    ) -> Workload {
        Workload(
            id: id, word: word, question: question,
            caution: "OpenMP has no graph to keep: it makes its tasks in each sample. serial is the work of the nodes.",
            unit: unit, family: .graphs, quick: quick.merging(["again": again]) { given, _ in given },
            full: full.merging(["again": again]) { given, _ in given },
            units: { Double(Oracle.graph($0).count) }, oracle: { Oracle.graph($0).answer }, beside: beside)
    }
}
