// Owns the drawings of a frozen graph in DOT, Mermaid and SVG. Programs call it. It never touches a run.

extension TaskGraph.Frozen {
    /// Draws the graph in the DOT language, for Graphviz.
    ///
    ///     print(build.dot())    // digraph "build" { …
    ///
    /// A dashed edge is an order without a result. The label of a branch edge is the condition's value.
    ///
    /// - Returns: The text of a DOT file.
    /// - Ordering: None: a frozen graph never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in nodes and dependencies.
    public func dot() -> String { drawing.dot() }

    /// Draws the graph in the Mermaid language, for Markdown pages.
    ///
    ///     print(build.mermaid())    // flowchart LR …
    ///
    /// - Returns: The text of a Mermaid block, without its fence.
    /// - Ordering: None: a frozen graph never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in nodes and dependencies.
    public func mermaid() -> String { drawing.mermaid() }

    /// Draws the graph as an SVG picture: each node to the right of the nodes that it depends on.
    ///
    ///     try build.svg().write(toFile: "build.svg", atomically: true, encoding: .utf8)
    ///
    /// In a graph of more than 300 nodes, nodes of one column and one ``TaskGraph/subgraph(_:_:)`` path share a box.
    ///
    /// - Returns: The text of an SVG file.
    /// - Ordering: None: a frozen graph never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in nodes and dependencies.
    public func svg() -> String { drawing.svg(title: "\(name): \(count) nodes") }

    private var drawing: GraphDrawing {
        GraphDrawing(name: name, names: (0..<count).map { layout.name(of: $0) }, edges: layout.drawnEdges)
    }
}

extension GraphLayout {
    /// All edges, in the order of the nodes from which they come.
    var drawnEdges: [DrawnEdge] {
        var all: [DrawnEdge] = []
        for node in 0..<count {
            for unsafe edge in unsafe successors(of: node) { all.append(DrawnEdge(from: node, to: edge.node, kind: edge.kind)) }
        }
        return all
    }
}
