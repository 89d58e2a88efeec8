internal import BenchmarkKit
internal import CWorkloads

/// `async let` for one child, a task group for several. The last child is run by its parent, as the peers in C++ do.
enum Trees {
    static var entries: [Harness.Entry] {
        [
            ("fib", {
                let n = Harness.value("n", 18)
                blocking { await Harness.measure { await fib(n) } }
            }),
            ("skynet", {
                let leaves = Harness.value("leaves", 10_000)
                blocking { await Harness.measure { await skynet(0, leaves) } }
            }),
            ("nqueens", {
                let n = Harness.value("n", 8)
                blocking { await Harness.measure { await queens(0, n, Board()) } }
            }),
            ("matmul", {
                let n = Harness.value("n", 512)
                let (a, b, c) = (SharedBuffer(n * n, 0.0), SharedBuffer(n * n, 0.0), SharedBuffer(n * n, 0.0))
                blocking {
                    await Harness.measure(prepare: { wl_matmul_fill(a.base, b.base, c.base, n) }) {
                        await matmul(Part(a.base), Part(b.base), Part(c.base), n, n)
                        return 0
                    }
                }
                Harness.check(wl_matmul_answer(c.base, n))
            }),
            ("uts", {
                let tree = wl_uts_named(Int64(Harness.value("tree", 0)))
                let top = withUnsafePointer(to: tree) { wl_uts_root($0) }
                blocking { await Harness.measure { await uts(tree, top) } }
            }),
            ("integrate", {
                let to = Double(Harness.value("to", 100))
                let epsilon = 1 / Double(Harness.value("per_epsilon", 10_000_000))
                blocking {
                    await Harness.measure {
                        await integrate(0, wl_integrand(0), to, wl_integrand(to), 0, epsilon).bitPattern
                    }
                }
            }),
            ("mergesort", { sort { await mergesort($0, $1, $2) } }),
            ("quicksort", { sort { await quicksort($0, $1, $2) } }),
            ("tree-sum", {
                let tree = Tree(wl_tree_make(Harness.value("nodes", 1023)))
                blocking { await Harness.measure { UInt64(await treeSum(tree)) } }
            }),
        ]
    }

    static func fib(_ n: Int) async -> UInt64 {
        if n < 2 { return UInt64(n) }
        async let a = fib(n - 1)
        let b = await fib(n - 2)
        return await a + b
    }

    static func skynet(_ first: Int, _ leaves: Int) async -> UInt64 {
        if leaves == 1 { return UInt64(first) }
        return await withTaskGroup(of: UInt64.self) { group in
            for i in 0..<9 { group.addTask { await skynet(first + i * (leaves / 10), leaves / 10) } }
            let last = await skynet(first + 9 * (leaves / 10), leaves / 10)
            return await group.reduce(last, &+)
        }
    }

    static func queens(_ row: Int, _ n: Int, _ board: Board) async -> UInt64 {
        if row == n { return 1 }
        return await withTaskGroup(of: UInt64.self) { group in
            var last: Board?
            for column in 0..<n {
                guard let next = board.placing(column, row: row) else { continue }
                if let before = last { group.addTask { await queens(row + 1, n, before) } }
                last = next
            }
            guard let last else { return 0 }
            let own = await queens(row + 1, n, last)
            return await group.reduce(own, &+)
        }
    }

    static func matmul(_ a: Part<Double>, _ b: Part<Double>, _ c: Part<Double>, _ n: Int, _ stride: Int) async {
        if n <= 32 { return wl_matmul_leaf(a.base, b.base, c.base, stride) }
        let (h, down) = (n / 2, n / 2 * stride)
        for k in 0..<2 {
            await withDiscardingTaskGroup { group in
                for q in 0..<3 {
                    let (row, column) = (q & 2 != 0 ? down : 0, q & 1 != 0 ? h : 0)
                    group.addTask {
                        await matmul(a + (row + k * h), b + (k * down + column), c + (row + column), h, stride)
                    }
                }
                await matmul(a + (down + k * h), b + (k * down + h), c + (down + h), h, stride)
            }
        }
    }

    static func uts(_ tree: wl_uts_tree, _ node: wl_uts_node) async -> UInt64 {
        let children = withUnsafePointer(to: tree) { tree in withUnsafePointer(to: node) { wl_uts_children(tree, $0) } }
        if children == 0 { return 1 }
        return await withTaskGroup(of: UInt64.self) { group in
            for number in 0..<children - 1 {
                let child = withUnsafePointer(to: node) { wl_uts_child($0, number) }
                group.addTask { await uts(tree, child) }
            }
            let last = await uts(tree, withUnsafePointer(to: node) { wl_uts_child($0, children - 1) })
            return await group.reduce(1 &+ last, &+)
        }
    }

    static func integrate(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ area: Double, _ epsilon: Double
    ) async -> Double {
        let h = wl_halve(x1, y1, x2, y2, area, epsilon)
        if h.close { return h.left + h.right }
        async let left = integrate(x1, y1, h.middle, h.height, h.left, epsilon)
        let right = await integrate(h.middle, h.height, x2, y2, h.right, epsilon)
        return await left + right
    }

    static func sort(_ body: @escaping @Sendable (Part<Int32>, Part<Int32>, Int) async -> Void) {
        let n = Harness.value("n", 1_000_000)
        let (values, room) = (SharedBuffer<Int32>(n, 0), SharedBuffer<Int32>(n, 0))
        blocking {
            await Harness.measure(prepare: { wl_sort_fill(values.base, n) }) {
                await body(Part(values.base), Part(room.base), n)
                return 0
            }
        }
        Harness.check(wl_sort_answer(values.base, n))
    }

    static func mergesort(_ values: Part<Int32>, _ room: Part<Int32>, _ count: Int) async {
        if count <= 2048 { return wl_sort_leaf(values.base, room.base, count) }
        let h = count / 2
        async let left: Void = mergesort(values, room, h)
        await mergesort(values + h, room + h, count - h)
        await left
        async let front: Void = wl_merge_front(values.base, h, values.base + h, count - h, room.base, h)
        wl_merge_back(values.base, h, values.base + h, count - h, room.base, count - h)
        await front
        async let first: Void = values.base.update(from: room.base, count: h)
        (values + h).base.update(from: (room + h).base, count: count - h)
        await first
    }

    static func quicksort(_ values: Part<Int32>, _ room: Part<Int32>, _ count: Int) async {
        if count <= 2048 { return wl_sort_leaf(values.base, room.base, count) }
        let k = wl_partition(values.base, count)
        async let left: Void = quicksort(values, room, k)
        await quicksort(values + k, room + k, count - k)
        await left
    }

    static func treeSum(_ tree: Tree) async -> Int {
        guard let node = tree.node else { return 0 }
        let (left, right) = (Tree(node.pointee.left), Tree(node.pointee.right))
        async let a = treeSum(left)
        let b = await treeSum(right)
        return await Int(node.pointee.value) + a + b
    }
}
