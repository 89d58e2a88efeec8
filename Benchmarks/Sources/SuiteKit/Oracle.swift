internal import BenchmarkKit
internal import CWorkloads
internal import Synchronization

/// What the workloads must compute: serially, or by another way than the contenders'.
public enum Oracle {
    /// Exact up to fib(78).
    static func fib(_ n: Int) -> Double {
        var (a, b) = (0.0, 1.0)
        for _ in 0..<n { (a, b) = (b, a + b) }
        return a
    }

    struct Queens {
        var nodes = 0
        var solutions: UInt64 = 0
    }

    /// By bit masks; the boards of the contenders are arrays.
    static func queens(_ n: Int) -> Queens {
        var result = Queens()
        func place(_ row: Int, _ columns: UInt32, _ rising: UInt32, _ falling: UInt32) {
            if row == n { return result.solutions += 1 }
            var free = ~(columns | rising | falling) & (1 << UInt32(n) - 1)
            while free != 0 {
                let bit = free & (~free + 1)
                free ^= bit
                result.nodes += 1
                place(row + 1, columns | bit, (rising | bit) << 1, (falling | bit) >> 1)
            }
        }
        return remembered("queens \(n)") {
            place(0, 0, 0, 0)
            return result
        }
    }

    static func matmul(_ n: Int) -> UInt64 { wl_matmul_oracle(n) }

    /// Published node counts; the small one is counted here.
    static func uts(_ tree: Int) -> UInt64 {
        switch tree {
        case 1: 4_130_071
        case 3: 4_112_897
        case 33: 111_345_631
        default:
            remembered("uts \(tree)") {
                let tree = wl_uts_named(Int64(tree))
                return withUnsafePointer(to: tree) { tree in
                    var root = wl_uts_root(tree)
                    return wl_uts_count(tree, &root)
                }
            }
        }
    }

    struct Integral {
        var calls = 0
        var bits: UInt64 = 0
    }

    static func integral(_ parameters: Workload.Parameters) -> Integral {
        let to = Double(parameters["to", default: 1])
        let epsilon = 1 / Double(parameters["per_epsilon", default: 1])
        var calls = 0
        func integrate(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ area: Double) -> Double {
            calls += 1
            let h = wl_halve(x1, y1, x2, y2, area, epsilon)
            if h.close { return h.left + h.right }
            let left = integrate(x1, y1, h.middle, h.height, h.left)
            return left + integrate(h.middle, h.height, x2, y2, h.right)
        }
        return remembered("integral \(to) \(epsilon)") {
            let result = integrate(0, wl_integrand(0), to, wl_integrand(to), 0)
            return Integral(calls: calls, bits: result.bitPattern)
        }
    }

    /// By the standard library's sort.
    static func sorted(_ n: Int) -> UInt64 {
        remembered("sorted \(n)") {
            var values = [Int32](repeating: 0, count: n)
            wl_sort_fill(&values, n)
            values.sort()
            return wl_sort_answer(values, n)
        }
    }

    static func wavefront(_ side: Int, _ steps: Int) -> UInt64 {
        remembered("wavefront \(side) \(steps)") {
            var above = [UInt64](repeating: 1, count: side)
            for _ in 0..<side {
                var left: UInt64 = 1
                for column in 0..<side {
                    left = wl_spin(above[column] &+ left, UInt64(steps))
                    above[column] = left
                }
            }
            return above[side - 1]
        }
    }

    /// The nodes in the order of their numbers, which respects all edges.
    static func graph(_ parameters: Workload.Parameters) -> (count: Int, answer: UInt64) {
        let (shape, n, steps) = (parameters["shape", default: 0], parameters["n", default: 0], parameters["steps", default: 0])
        return remembered("graph \(shape) \(n) \(steps)") {
            guard let graph = wl_graph_make(wl_shape(UInt32(shape)), Int64(n), UInt64(steps)) else { return (0, 0) }
            defer { wl_graph_free(graph) }
            for node in 0..<graph.pointee.count { wl_graph_run(graph, node) }
            return (Int(graph.pointee.count), wl_graph_answer(graph))
        }
    }

    static func files(_ count: Int) -> UInt64 {
        remembered("files \(count)") { wl_files_oracle(Int64(count)) }
    }

    private static let memory = Mutex<[String: any Sendable]>([:])

    private static func remembered<Value: Sendable>(_ name: String, _ compute: () -> Value) -> Value {
        if let known = memory.withLock({ $0[name] as? Value }) { return known }
        let value = compute()
        memory.withLock { $0[name] = value }
        return value
    }
}
