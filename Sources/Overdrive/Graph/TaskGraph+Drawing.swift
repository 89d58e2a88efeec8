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
    public func dot() -> String {
        var text = "digraph \(GraphPicture.quoted(name)) {\n    rankdir=LR;\n    node [shape=box];\n"
        for node in 0..<count { text += "    n\(node) [label=\(GraphPicture.quoted(layout.name(of: node)))];\n" }
        layout.forEachEdge { from, edge in
            let style =
                switch edge.kind {
                case .needed: ""
                case .order: " [style=dashed]"
                case .whenTrue: " [label=true]"
                case .whenFalse: " [label=false]"
                }
            text += "    n\(from) -> n\(edge.node)\(style);\n"
        }
        return text + "}\n"
    }

    /// Draws the graph in the Mermaid language, for Markdown pages.
    ///
    ///     print(build.mermaid())    // flowchart LR …
    ///
    /// - Returns: The text of a Mermaid block, without its fence.
    /// - Ordering: None: a frozen graph never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in nodes and dependencies.
    public func mermaid() -> String {
        var text = "flowchart LR\n"
        for node in 0..<count { text += "    n\(node)[\"\(GraphPicture.mermaid(layout.name(of: node)))\"]\n" }
        layout.forEachEdge { from, edge in
            let arrow =
                switch edge.kind {
                case .needed: "-->"
                case .order: "-.->"
                case .whenTrue: "-->|true|"
                case .whenFalse: "-->|false|"
                }
            text += "    n\(from) \(arrow) n\(edge.node)\n"
        }
        return text
    }

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
    public func svg() -> String { GraphPicture(of: layout).svg(title: "\(name): \(count) nodes") }
}

extension GraphLayout {
    fileprivate func forEachEdge(_ body: (_ from: Int, _ edge: GraphEdge) -> Void) {
        for node in 0..<count {
            for unsafe edge in unsafe successors(of: node) { body(node, edge) }
        }
    }

    /// The length of the longest path to each node.
    fileprivate var levels: [Int] {
        var left = (0..<count).map { joins(of: $0) }
        var levels = [Int](repeating: 0, count: count)
        var ready = (0..<count).filter { left[$0] == 0 }
        while let node = ready.popLast() {
            for unsafe edge in unsafe successors(of: node) {
                levels[edge.node] = max(levels[edge.node], levels[node] + 1)
                left[edge.node] -= 1
                if left[edge.node] == 0 { ready.append(edge.node) }
            }
        }
        return levels
    }
}

/// The boxes of a graph, in columns. A dependent is always to the right of its dependencies.
private struct GraphPicture {
    private struct Box {
        var title: String
        let column: Int
        var nodes = 0
        var row = 0
    }

    /// The key of a box in a large graph: the column and path that its nodes share.
    private struct Place: Hashable {
        let column: Int
        let path: String?
    }

    private static let mostNodes = 300
    private static let mostColumns = 40
    private static let mostRows = 12

    private var boxes: [Box] = []
    private var edges: [(from: Int, to: Int)] = []
    private var columns: [[Int]]

    init(of layout: GraphLayout) {
        let levels = layout.levels
        let isLarge = layout.count > GraphPicture.mostNodes
        let depth = (levels.max() ?? 0) + 1
        let width = isLarge ? min(depth, GraphPicture.mostColumns) : depth
        columns = Array(repeating: [], count: width)
        var known: [Place: Int] = [:]
        var boxOf: [Int] = []
        for node in 0..<layout.count {
            let name = layout.name(of: node)
            let column = levels[node] * width / depth
            var place = Place(column: column, path: name.lastIndex(of: "/").map { String(name[..<$0]) } ?? "nodes")
            if isLarge, known[place] == nil, columns[column].count >= GraphPicture.mostRows { place = Place(column: column, path: nil) }
            let box = (isLarge ? known[place] : nil) ?? boxes.count
            if box == boxes.count {
                boxes.append(Box(title: name, column: column, row: columns[column].count))
                columns[column].append(box)
                known[place] = box
            }
            boxes[box].nodes += 1
            if isLarge, boxes[box].nodes == 2 { boxes[box].title = place.path ?? "others" }
            boxOf.append(box)
        }
        var seen: Set<[Int]> = []
        layout.forEachEdge { from, edge in
            let (from, to) = (boxOf[from], boxOf[edge.node])
            if boxes[from].column < boxes[to].column, seen.insert([from, to]).inserted { edges.append((from, to)) }
        }
        arrange()
    }

    /// Sorts each column by the mean row of the boxes that each box depends on.
    private mutating func arrange() {
        var before = [[Int]](repeating: [], count: boxes.count)
        for (from, to) in edges { before[to].append(from) }
        for column in columns.indices.dropFirst() {
            let means = columns[column].map { box in
                before[box].isEmpty
                    ? Double(boxes[box].row) : Double(before[box].reduce(0) { $0 + boxes[$1].row }) / Double(before[box].count)
            }
            columns[column] = zip(means, columns[column]).sorted { $0 < $1 }.map(\.1)
            for (row, box) in columns[column].enumerated() { boxes[box].row = row }
        }
    }

    func svg(title: String) -> String {
        let (step, line, top) = (200, 34, 48)
        let rows = columns.map(\.count).max() ?? 0
        let (width, height) = (columns.count * step + 16, top + rows * line + 16)
        func x(_ box: Int) -> Int { 16 + boxes[box].column * step }
        func y(_ box: Int) -> Int { top + (rows - columns[boxes[box].column].count) * line / 2 + boxes[box].row * line }
        var parts = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" font-family=\"sans-serif\" font-size=\"12\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
            "<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">\(GraphPicture.escaped(title))</text>",
        ]
        for (from, to) in edges {
            let (x1, y1, x2, y2) = (x(from) + 150, y(from) + 12, x(to), y(to) + 12)
            parts.append(
                "<path d=\"M\(x1) \(y1) C\(x1 + 25) \(y1) \(x2 - 25) \(y2) \(x2) \(y2)\" fill=\"none\" stroke=\"#888\" opacity=\"0.7\"/>")
        }
        for (index, box) in boxes.enumerated() {
            let label = box.nodes == 1 ? box.title : "\(box.title) (\(box.nodes))"
            let shown = label.count <= 22 ? label : label.prefix(10) + "…" + label.suffix(11)
            parts.append(
                "<rect x=\"\(x(index))\" y=\"\(y(index))\" width=\"150\" height=\"24\" rx=\"3\" fill=\"#e4edfb\" stroke=\"#37c\"><title>\(GraphPicture.escaped(label))</title></rect>")
            parts.append("<text x=\"\(x(index) + 75)\" y=\"\(y(index) + 16)\" text-anchor=\"middle\">\(GraphPicture.escaped(shown))</text>")
        }
        return (parts + ["</svg>\n"]).joined(separator: "\n")
    }

    /// Returns a quoted string for DOT.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(scalar.value < 32 ? " " : scalar)
            }
        }
        return quoted + "\""
    }

    /// Returns escaped text for Mermaid, in which # begins an entity.
    static func mermaid(_ text: String) -> String {
        escaped(text).split(separator: "#", omittingEmptySubsequences: false).joined(separator: "#35;")
    }

    /// Returns escaped text for SVG. It works on scalars, because one character may be a quote with a combining
    /// accent.
    static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(scalar.value < 32 ? " " : scalar)
            }
        }
        return escaped
    }
}
