internal import BenchmarkKit
internal import Dispatch

/// Forks as `concurrentPerform` of few iterations.
///
/// Nested ones are a plain loop as soon as they are as deep as there are threads: what this measures of deep
/// trees is mostly a serial program with a call per node. `Continuing` is a fork that really forks.
enum Apply: ForkJoin {
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) {
        withUnsafeTemporaryAllocation(of: Pair<A, B>.self, capacity: 1) { room in
            // Each iteration writes one half; concurrentPerform returns when both are done.
            nonisolated(unsafe) let pair = room.baseAddress!
            pair.initialize(to: Pair())
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == 0 { pair.pointee.a = a() } else { pair.pointee.b = b() }
            }
            defer { pair.deinitialize(count: 1) }
            return (pair.pointee.a!, pair.pointee.b!)
        }
    }

    private struct Pair<A, B> {
        var a: A?
        var b: B?
    }

    static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { room in
            nonisolated(unsafe) let sums = room.baseAddress!
            DispatchQueue.concurrentPerform(iterations: count) { sums[$0] = body($0) }
            return (0..<count).reduce(0) { $0 &+ sums[$1] }
        }
    }

    /// In strides: an iteration per index costs 6 to 14 ns of a shared counter.
    static func loop<Body: LoopBody>(_ count: Int, _ body: Body) {
        let strides = min(count, Body.stridesPerWorker * Harness.workers)
        DispatchQueue.concurrentPerform(iterations: strides) { stride in
            for i in count * stride / strides..<count * (stride + 1) / strides { body.run(i) }
        }
    }
}
