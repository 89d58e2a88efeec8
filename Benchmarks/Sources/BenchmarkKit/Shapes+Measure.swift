public import CWorkloads

/// The trees and loops of a contender that forks and joins, by name.
extension Shapes {
    @inlinable
    public static var trees: [Harness.Entry] {
        [
            ("fib", {
                let n = Harness.value("n", 25)
                Harness.measure { S.root { fib(n) } }
            }),
            ("skynet", {
                let leaves = Harness.value("leaves", 100_000)
                Harness.measure { S.root { skynet(0, leaves) } }
            }),
            ("nqueens", {
                let n = Harness.value("n", 10)
                Harness.measure { S.root { queens(0, n, Board()) } }
            }),
            ("nqueens-array", {
                let n = Harness.value("n", 10)
                Harness.measure { S.root { queensInArray(0, n, ArrayBoard(repeating: 0)) } }
            }),
            ("matmul", {
                let n = Harness.value("n", 512)
                let (a, b, c) = (SharedBuffer(n * n, 0.0), SharedBuffer(n * n, 0.0), SharedBuffer(n * n, 0.0))
                Harness.measure(prepare: { wl_matmul_fill(a.base, b.base, c.base, n) }) {
                    S.root {
                        matmul(Part(a.base), Part(b.base), Part(c.base), n, n)
                        return 0
                    }
                }
                Harness.check(wl_matmul_answer(c.base, n))
            }),
            ("uts", {
                let tree = wl_uts_named(Int64(Harness.value("tree", 0)))
                let top = withUnsafePointer(to: tree) { wl_uts_root($0) }
                JoinableThread.deep { Harness.measure { S.root {
                        withUnsafePointer(to: tree) { tree in
                            withUnsafePointer(to: top) { uts(Look(tree), Look($0)) }
                        }
                    } } }
            }),
            ("integrate", {
                let to = Double(Harness.value("to", 100))
                let epsilon = 1 / Double(Harness.value("per_epsilon", 10_000_000))
                Harness.measure {
                    S.root { integrate(0, wl_integrand(0), to, wl_integrand(to), 0, epsilon) }.bitPattern
                }
            }),
            ("mergesort", { sort { mergesort($0, $1, $2) } }),
            ("quicksort", { sort { quicksort($0, $1, $2) } }),
            ("tree-sum", {
                let root = wl_tree_make(Harness.value("nodes", 1023))
                let tree = Tree(root)
                Harness.measure { UInt64(S.root { treeSum(tree) }) }
            }),
        ]
    }

    @inlinable
    static func sort(_ body: @escaping @Sendable (Part<Int32>, Part<Int32>, Int) -> Void) {
        let n = Harness.value("n", 1_000_000)
        let (values, room) = (SharedBuffer<Int32>(n, 0), SharedBuffer<Int32>(n, 0))
        Harness.measure(prepare: { wl_sort_fill(values.base, n) }) {
            S.root {
                body(Part(values.base), Part(room.base), n)
                return 0
            }
        }
        Harness.check(wl_sort_answer(values.base, n))
    }

    @inlinable
    public static var loops: [Harness.Entry] {
        [
            ("loop-flops", {
                let body = FlopsBody(Harness.value("n", 1_000_000))
                loopInParts(body.x.count, body)
                body.check()
            }),
            ("loop-empty", { loopInParts(Harness.value("n", 1_000_000), EmptyBody()) }),
            ("loop-imbalanced", {
                let n = Harness.value("n", 20_000)
                loop(n, ImbalancedBody(n))
            }),
            ("loop-grain", { loop(Harness.value("n", 10_000), GrainBody(Harness.value("steps", 1000))) }),
        ]
    }

    // A pass that marks every index comes after the timed ones.

    @inlinable
    static func loop<Body: LoopBody>(_ n: Int, _ body: Body) {
        Harness.measure {
            S.loop(n, body)
            return 0
        }
        let marks = MarkBody(n)
        S.loop(n, marks)
        Harness.check(marks.once)
    }

    @inlinable
    static func loopInParts<Body: LoopBody>(_ n: Int, _ body: Body) {
        Harness.measure {
            S.loopInParts(n, body)
            return 0
        }
        let marks = MarkBody(n)
        S.loopInParts(n, marks)
        Harness.check(marks.once)
    }
}
