internal import BenchmarkKit

// No scheduler: the same source, and every fork a call.

enum Serial: ForkJoin {
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) { (a(), b()) }

    static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        var sum: UInt64 = 0
        for i in 0..<count { sum &+= body(i) }
        return sum
    }

    static func loop(_ count: Int, _ body: @Sendable (Int) -> Void) {
        for i in 0..<count { body(i) }
    }
}

/// Every file of the tree, one after another.
func files() {
    let n = Harness.value("n", 500)
    let tree = FileTree(n)
    Harness.measure { (0..<n).reduce(0) { $0 &+ tree.checksum(of: $1) } }
}

Harness.main(Shapes<Serial>.trees + Shapes<Serial>.loops + [("files", files)])
