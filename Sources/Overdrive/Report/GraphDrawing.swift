// Owns the drawings of nodes and edges in DOT, Mermaid and SVG. Frozen graphs and reports make it. It never touches a run.

internal import OverdriveCore

/// Nodes and edges to draw, with the critical path of a run if it is known.
struct GraphDrawing {
    let name: String
    /// The name of each node. ``GraphPicture`` puts the nodes of one path into one box.
    let names: [String]
    let edges: [DrawnEdge]
    /// The text after a node's name, such as its time.
    var note: (Int) -> String = { _ in "" }
    /// The nodes of the critical path, each followed by the next one on the path; the last one is its own next.
    var critical: [Int: Int] = [:]

    /// The notation of a language for graphs.
    private struct Language {
        let head: String
        let node: (_ number: Int, _ label: String, _ isCritical: Bool) -> String
        let edge: (_ edge: DrawnEdge, _ isCritical: Bool) -> String
        let tail: String
    }

    private func isCritical(_ edge: DrawnEdge) -> Bool { critical[edge.from] == edge.to }

    private func text(in language: Language) -> String {
        var text = language.head
        for node in names.indices { text += language.node(node, names[node] + note(node), critical[node] != nil) }
        for edge in edges { text += language.edge(edge, isCritical(edge)) }
        return text + language.tail
    }

    func dot() -> String {
        let red = "color=\"#dd3333\", penwidth=2"
        return text(in: Language(
            head: "digraph \(GraphDrawing.quoted(name)) {\n    rankdir=LR;\n    node [shape=box];\n",
            node: { "    n\($0) [label=\(GraphDrawing.quoted($1))\($2 ? ", " + red : "")];\n" },
            edge: { edge, isCritical in
                let style: String? =
                    switch edge.kind {
                    case .needed: nil
                    case .order: "style=dashed"
                    case .whenTrue: "label=true"
                    case .whenFalse: "label=false"
                    }
                let styles = [style, isCritical ? red : nil].compactMap(\.self)
                return "    n\(edge.from) -> n\(edge.to)\(styles.isEmpty ? "" : " [\(styles.joined(separator: ", "))]");\n"
            },
            tail: "}\n"))
    }

    func mermaid() -> String {
        let red = edges.indices.lazy.filter { isCritical(edges[$0]) }.map { "\($0)" }.joined(separator: ",")
        let tail = (critical.isEmpty ? "" : "    classDef critical fill:#fdd,stroke:#d33\n")
            + (red.isEmpty ? "" : "    linkStyle \(red) stroke:#d33\n")
        return text(in: Language(
            head: "flowchart LR\n",
            node: { "    n\($0)[\"\(GraphDrawing.mermaid($1))\"]\($2 ? ":::critical" : "")\n" },
            edge: { edge, _ in
                let arrow =
                    switch edge.kind {
                    case .needed: "-->"
                    case .order: "-.->"
                    case .whenTrue: "-->|true|"
                    case .whenFalse: "-->|false|"
                    }
                return "    n\(edge.from) \(arrow) n\(edge.to)\n"
            },
            tail: tail))
    }

    func svg(title: String) -> String { GraphPicture(of: self).svg(title: title) }

    /// Returns a quoted string for DOT.
    private static func quoted(_ text: String) -> String {
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
    private static func mermaid(_ text: String) -> String {
        MarkupText.xml(text).split(separator: "#", omittingEmptySubsequences: false).joined(separator: "#35;")
    }
}

/// The boxes of a graph, in columns. A dependent is always to the right of its dependencies.
private struct GraphPicture {
    private struct Box {
        var title: String
        let column: Int
        var nodes = 0
        var row = 0
        var isCritical = false
    }

    /// The key of a box in a large graph: the column and path that its nodes share.
    private struct Place: Hashable {
        let column: Int
        let path: Substring?
    }

    /// An edge between boxes.
    private struct Line: Hashable {
        let from: Int
        let to: Int
    }

    private static let mostNodes = 300
    private static let mostColumns = 40
    private static let mostRows = 12

    private var boxes: [Box] = []
    /// The edges between boxes, with those of the critical path.
    private var lines: [Line] = []
    private var criticalLines: Set<Line> = []
    /// The number of edges that a line stands for.
    private var edgeCounts: [Line: Int] = [:]
    private var mostEdges = 0
    private var columns: [[Int]]

    init(of drawing: GraphDrawing) {
        let count = drawing.names.count
        let levels = GraphRows(count: count, edges: drawing.edges).levels
        let isLarge = count > GraphPicture.mostNodes
        let depth = (levels.max() ?? 0) + 1
        let width = isLarge ? min(depth, GraphPicture.mostColumns) : depth
        columns = Array(repeating: [], count: width)
        var known: [Place: Int] = [:]
        var boxOf: [Int] = []
        for node in 0..<count {
            let name = drawing.names[node]
            let column = levels[node] * width / depth
            var place = Place(column: column, path: name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name[..<$0] } ?? "nodes")
            if isLarge, known[place] == nil, columns[column].count >= GraphPicture.mostRows { place = Place(column: column, path: nil) }
            let box = (isLarge ? known[place] : nil) ?? boxes.count
            if box == boxes.count {
                boxes.append(Box(title: name + drawing.note(node), column: column, row: columns[column].count))
                columns[column].append(box)
                known[place] = box
            }
            boxes[box].nodes += 1
            if drawing.critical[node] != nil { boxes[box].isCritical = true }
            if isLarge, boxes[box].nodes == 2 { boxes[box].title = place.path.map { String($0) } ?? "others" }
            boxOf.append(box)
        }
        for edge in drawing.edges {
            let line = Line(from: boxOf[edge.from], to: boxOf[edge.to])
            guard boxes[line.from].column < boxes[line.to].column else { continue }
            if edgeCounts.updateValue(edgeCounts[line, default: 0] + 1, forKey: line) == nil { lines.append(line) }
            if drawing.critical[edge.from] == edge.to { criticalLines.insert(line) }
        }
        mostEdges = edgeCounts.values.max() ?? 0
        arrange()
    }

    /// Sorts each column by the mean row of the boxes that each box depends on.
    private mutating func arrange() {
        var before = [[Int]](repeating: [], count: boxes.count)
        for line in lines { before[line.to].append(line.from) }
        for column in columns.indices.dropFirst() {
            let means = columns[column].map { box in
                before[box].isEmpty
                    ? Double(boxes[box].row) : Double(before[box].reduce(0) { $0 + boxes[$1].row }) / Double(before[box].count)
            }
            columns[column] = zip(means, columns[column]).sorted { $0 < $1 }.map(\.1)
            for (row, box) in columns[column].enumerated() { boxes[box].row = row }
        }
    }

    /// Lines for few of many edges are pale, so that the main lines of a large graph stand out.
    private func opacity(of line: Line) -> Double {
        let share = Double(edgeCounts[line, default: 1]) / Double(max(mostEdges, 1))
        return mostEdges < 8 ? 0.7 : share > 0.25 ? 0.8 : share > 0.05 ? 0.4 : 0.15
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
            "<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">\(MarkupText.xml(title))</text>",
        ]
        // Lines of the critical path come last, so that no other line covers them.
        for line in lines.filter({ !criticalLines.contains($0) }) + lines.filter(criticalLines.contains) {
            let (x1, y1, x2, y2) = (x(line.from) + 150, y(line.from) + 12, x(line.to), y(line.to) + 12)
            let style = criticalLines.contains(line) ? "stroke=\"#d33\" stroke-width=\"2\"" : "stroke=\"#888\" opacity=\"\(opacity(of: line))\""
            parts.append("<path d=\"M\(x1) \(y1) C\(x1 + 25) \(y1) \(x2 - 25) \(y2) \(x2) \(y2)\" fill=\"none\" \(style)/>")
        }
        for (index, box) in boxes.enumerated() {
            let label = box.nodes == 1 ? box.title : "\(box.title) (\(box.nodes))"
            let shown = label.count <= 22 ? label : label.prefix(10) + "…" + label.suffix(11)
            let colors = box.isCritical ? "fill=\"#fdd\" stroke=\"#d33\"" : "fill=\"#e4edfb\" stroke=\"#37c\""
            parts.append(
                "<rect x=\"\(x(index))\" y=\"\(y(index))\" width=\"150\" height=\"24\" rx=\"3\" \(colors)><title>\(MarkupText.xml(label))</title></rect>")
            parts.append("<text x=\"\(x(index) + 75)\" y=\"\(y(index) + 16)\" text-anchor=\"middle\">\(MarkupText.xml(shown))</text>")
        }
        return (parts + ["</svg>\n"]).joined(separator: "\n")
    }
}
