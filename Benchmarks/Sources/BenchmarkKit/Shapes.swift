public import CWorkloads

/// A scheduler that forks and joins. The shapes below are generic over it and specialised in the contender's
/// own module, so that each fork is the contender's own code.
public protocol ForkJoin: SendableMetatype {
    /// Both results; `a` may run elsewhere while `b` runs here.
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B)
    /// The sum of `body(0)` to `body(count - 1)`, each of which may run elsewhere.
    static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64
    /// `body.run(i)` for each i of a loop, with the library's own way of splitting.
    static func loop<Body: LoopBody>(_ count: Int, _ body: Body)
    /// The same for bodies of a nanosecond or so: where the library has a form that gives parts, and says to take it
    /// for such bodies, in that one.
    static func loopInParts<Body: LoopBody>(_ count: Int, _ body: Body)
    /// Runs `body` where the others may be called.
    static func root<R: Sendable>(_ body: @Sendable () -> R) -> R
}

extension ForkJoin {
    /// A sum by halves, for contenders that have only `two`.
    @inlinable
    public static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        sumOfHalves(0, count, body)
    }

    @inlinable
    static func sumOfHalves(_ first: Int, _ end: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        if end - first == 1 { return body(first) }
        let middle = (first + end) / 2
        let (a, b) = two({ sumOfHalves(first, middle, body) }, { sumOfHalves(middle, end, body) })
        return a &+ b
    }

    @inlinable
    public static func loopInParts<Body: LoopBody>(_ count: Int, _ body: Body) { loop(count, body) }

    @inlinable
    public static func root<R: Sendable>(_ body: @Sendable () -> R) -> R { body() }
}

/// Pointers into blocks of which each branch uses a part of its own.
public struct Part<Element>: @unchecked Sendable {
    public let base: UnsafeMutablePointer<Element>

    @inlinable public init(_ base: UnsafeMutablePointer<Element>) { self.base = base }

    @inlinable public static func + (part: Part, distance: Int) -> Part { Part(part.base + distance) }
}

/// Something that lies in the frame of a caller, who waits.
public struct Look<Element>: @unchecked Sendable {
    public let at: UnsafePointer<Element>

    @inlinable public init(_ at: UnsafePointer<Element>) { self.at = at }
}

/// A read-only tree that all branches share.
public struct Tree: @unchecked Sendable {
    public let node: UnsafeMutablePointer<wl_tree_node>?

    @inlinable public init(_ node: UnsafeMutablePointer<wl_tree_node>?) { self.node = node }
}

/// The chess board of nqueens, by value.
public struct Board: Sendable {
    @usableFromInline var rows: SIMD16<Int8>

    @inlinable public init() { rows = .zero }

    /// The board with a queen in row `row`, unless one above attacks it.
    @inlinable
    public func placing(_ column: Int, row: Int) -> Board? {
        var board = self
        return withUnsafeMutableBytes(of: &board.rows) { bytes in
            bytes[row] = UInt8(truncatingIfNeeded: column)
            return wl_queen_is_safe(Int32(row), bytes.baseAddress?.assumingMemoryBound(to: Int8.self))
        } ? board : nil
    }
}

public enum Shapes<S: ForkJoin> {
    @inlinable
    public static func fib(_ n: Int) -> UInt64 {
        if n < 2 { return UInt64(n) }
        let (a, b) = S.two({ fib(n - 1) }, { fib(n - 2) })
        return a &+ b
    }

    @inlinable
    public static func skynet(_ first: Int, _ leaves: Int) -> UInt64 {
        if leaves == 1 { return UInt64(first) }
        return S.sum(10) { skynet(first + $0 * (leaves / 10), leaves / 10) }
    }

    @inlinable
    public static func queens(_ row: Int, _ n: Int, _ board: Board) -> UInt64 {
        if row == n { return 1 }
        // The safe columns, as a list of half-bytes.
        var safe = 0
        var columns: UInt64 = 0
        for column in 0..<n where board.placing(column, row: row) != nil {
            columns |= UInt64(column) << UInt64(4 * safe)
            safe += 1
        }
        if safe == 0 { return 0 }
        let list = columns
        return S.sumOfHalves(0, safe) { index in
            guard let next = board.placing(Int(list >> UInt64(4 * index) & 15), row: row) else { return 0 }
            return queens(row + 1, n, next)
        }
    }

    @inlinable
    public static func matmul(_ a: Part<Double>, _ b: Part<Double>, _ c: Part<Double>, _ n: Int, _ stride: Int) {
        if n <= 32 { return wl_matmul_leaf(a.base, b.base, c.base, stride) }
        let (h, down) = (n / 2, n / 2 * stride)
        for k in 0..<2 {  // each quarter of c takes the k-th half of the products
            _ = S.sumOfHalves(0, 4) { q in
                let (row, column) = (q & 2 != 0 ? down : 0, q & 1 != 0 ? h : 0)
                matmul(a + (row + k * h), b + (k * down + column), c + (row + column), h, stride)
                return 0
            }
        }
    }

    @inlinable
    public static func uts(_ tree: Look<wl_uts_tree>, _ node: Look<wl_uts_node>) -> UInt64 {
        let children = wl_uts_children(tree.at, node.at)
        if children == 0 { return 1 }
        return 1 + S.sum(Int(children)) { number in
            withUnsafePointer(to: wl_uts_child(node.at, Int32(number))) { uts(tree, Look($0)) }
        }
    }

    @inlinable
    public static func integrate(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ area: Double, _ epsilon: Double
    ) -> Double {
        let h = wl_halve(x1, y1, x2, y2, area, epsilon)
        if h.close { return h.left + h.right }
        let (left, right) = S.two(
            { integrate(x1, y1, h.middle, h.height, h.left, epsilon) },
            { integrate(h.middle, h.height, x2, y2, h.right, epsilon) })
        return left + right
    }

    @inlinable
    public static func mergesort(_ values: Part<Int32>, _ room: Part<Int32>, _ count: Int) {
        if count <= 2048 { return wl_sort_leaf(values.base, room.base, count) }
        let h = count / 2
        _ = S.two({ mergesort(values, room, h) }, { mergesort(values + h, room + h, count - h) })
        // Each merge is a fork too: one half of it from the front, the other from the back.
        _ = S.two(
            { wl_merge_front(values.base, h, values.base + h, count - h, room.base, h) },
            { wl_merge_back(values.base, h, values.base + h, count - h, room.base, count - h) })
        _ = S.two(
            { values.base.update(from: room.base, count: h) },
            { (values + h).base.update(from: (room + h).base, count: count - h) })
    }

    @inlinable
    public static func quicksort(_ values: Part<Int32>, _ room: Part<Int32>, _ count: Int) {
        if count <= 2048 { return wl_sort_leaf(values.base, room.base, count) }
        let k = wl_partition(values.base, count)
        _ = S.two({ quicksort(values, room, k) }, { quicksort(values + k, room + k, count - k) })
    }

    @inlinable
    public static func treeSum(_ tree: Tree) -> Int {
        guard let node = tree.node else { return 0 }
        let (left, right) = (Tree(node.pointee.left), Tree(node.pointee.right))
        let (a, b) = S.two({ treeSum(left) }, { treeSum(right) })
        return Int(node.pointee.value) + a + b
    }
}
