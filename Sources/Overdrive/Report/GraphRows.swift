// Owns the successors of numbered nodes, as drawings and reports walk them. It never changes.

/// An edge of a drawing or a report: a node, its dependent, and the kind of the dependency.
struct DrawnEdge: Sendable {
    let from: Int
    let to: Int
    let kind: GraphEdge.Kind
}

/// The successors of numbered nodes, in compressed rows.
struct GraphRows {
    private var first: [Int]
    private var targets: [Int]
    private var joins: [Int]

    init(count: Int, edges: [DrawnEdge]) {
        first = Array(repeating: 0, count: count + 1)
        joins = Array(repeating: 0, count: count)
        targets = Array(repeating: 0, count: edges.count)
        for edge in edges {
            first[edge.from + 1] += 1
            joins[edge.to] += 1
        }
        for node in 0..<count { first[node + 1] += first[node] }
        var next = first
        for edge in edges {
            targets[next[edge.from]] = edge.to
            next[edge.from] += 1
        }
    }

    func successors(of node: Int) -> ArraySlice<Int> { targets[first[node]..<first[node + 1]] }

    /// The nodes, each after its dependencies.
    var order: [Int] {
        var left = joins
        var order = left.indices.filter { left[$0] == 0 }
        var next = 0
        while next < order.count {
            for node in successors(of: order[next]) {
                left[node] -= 1
                if left[node] == 0 { order.append(node) }
            }
            next += 1
        }
        return order
    }

    /// The length of the longest path to each node.
    var levels: [Int] {
        var levels = joins.map { _ in 0 }
        for node in order {
            for next in successors(of: node) { levels[next] = max(levels[next], levels[node] + 1) }
        }
        return levels
    }
}
