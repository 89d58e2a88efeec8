/// A node of a tree whose nodes are to run after both their children: each adds up what its children have counted, so that
/// the root's count is the tree's only if every node has run, and none before its children.
public final class TreeNode: @unchecked Sendable {
    // Its own run writes it, after those of its children and before that of its parent, which reads it.
    public private(set) var count: UInt64 = 0
    private let left, right: TreeNode?

    private init(_ left: TreeNode?, _ right: TreeNode?) { (self.left, self.right) = (left, right) }

    /// Node i's children are 2i + 1 and 2i + 2.
    public static func tree(of count: Int) -> [TreeNode] {
        var nodes = [TreeNode?](repeating: nil, count: 2 * count + 1)
        for at in (0..<count).reversed() { nodes[at] = TreeNode(nodes[2 * at + 1], nodes[2 * at + 2]) }
        return nodes[0..<count].map { $0! }
    }

    /// Before each sample.
    public static func clear(_ nodes: [TreeNode]) {
        for node in nodes { node.count = 0 }
    }

    public func run() {
        // A count that is not there yet stays away: the sum is too small then.
        count += 1 + (left?.count ?? 0) + (right?.count ?? 0)
    }
}
