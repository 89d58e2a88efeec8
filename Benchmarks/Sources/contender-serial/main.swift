internal import BenchmarkKit

// No scheduler: the same source, and every fork a call.

enum Serial: ForkJoin {
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) { (a(), b()) }

    static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        var sum: UInt64 = 0
        for i in 0..<count { sum &+= body(i) }
        return sum
    }

    /// A function of its own, or the compiler leaves its calls of C's inline functions as they are.
    @inline(never)
    static func loop<Body: LoopBody>(_ count: Int, _ body: Body) {
        for i in 0..<count { body.run(i) }
    }
}

/// Every file of the tree, one after another.
func files() {
    let n = Harness.value("n", 500)
    let tree = FileTree(n)
    Harness.measure { (0..<n).reduce(0) { $0 &+ tree.checksum(of: $1) } }
}

/// The nodes of a graph in an order that respects its edges.
func graph() {
    let shape = GraphShape()
    Harness.measure(prepare: shape.clear) {
        for node in 0..<shape.count { shape.run(node) }
        return shape.answer
    }
}

Harness.main(Shapes<Serial>.trees + Shapes<Serial>.loops + [("files", files), ("graph", graph)])
