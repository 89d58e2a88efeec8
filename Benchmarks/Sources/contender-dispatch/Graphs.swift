internal import BenchmarkKit
internal import Dispatch

/// Work items that are notified of work items: all the dependencies that libdispatch has.
enum Graphs {
    static var entries: [Harness.Entry] { [("dag-chain", chain), ("dag-tree", tree)] }

    /// Items in a row, each notified of the one before.
    static func chain() {
        let (queue, n, ran) = (Queues.makeQueue(), Harness.value("n", 1000), AtomicCount())
        Harness.measure {
            ran.set(0)
            let items = (0..<n).map { i in DispatchWorkItem { if ran.value == i { ran.add() } } }
            for i in 1..<n { items[i - 1].notify(queue: queue, execute: items[i]) }
            queue.async(execute: items[0])
            items[n - 1].wait()
            return UInt64(ran.value)
        }
    }

    /// A binary tree: each inner node has a group that both its children leave.
    static func tree() {
        let (queue, n) = (Queues.makeQueue(), Harness.value("n", 1023))
        let nodes = TreeNode.tree(of: n)
        Harness.measure(prepare: { TreeNode.clear(nodes) }) {
            let inner = (n - 1) / 2
            let groups = (0..<inner).map { _ in DispatchGroup() }
            let done = DispatchGroup()
            for _ in 0..<n { done.enter() }
            @Sendable func run(_ node: Int) {
                nodes[node].run()
                if node > 0 { groups[(node - 1) / 2].leave() }
                done.leave()
            }
            for node in 0..<inner {
                groups[node].enter()
                groups[node].enter()
                groups[node].notify(queue: queue) { run(node) }
            }
            for leaf in inner..<n { queue.async { run(leaf) } }
            done.wait()
            return nodes[0].count
        }
    }
}
