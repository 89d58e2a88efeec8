import OverdriveCore
import Synchronization
import Testing

/// What a loop promises on grain, and a scope on order.
struct ParallelScopeRulesTests {
    @Test(arguments: [1, 7, 50, 60, 99, 100, 1000])
    func partsAreAtLeastAsLongAsTheGrain(grain: Int) {
        for _ in 0..<50 {
            let lengths = Log<Int>()
            Parallel(grain: grain).forEachChunk(0..<100) { part in lengths.note(part.count) }
            #expect(lengths.all.reduce(0, +) == 100)
            #expect(lengths.all.allSatisfy { $0 >= min(grain, 100) })
        }
    }

    @Test
    func blocksReachTheEndOfAllIntegers() {
        let range = (Int.max - 5000)..<Int.max
        let sum: Int = Parallel.reduce(range, 0, map: { _ in 1 }, combine: { $0 + $1 })
        #expect(sum == 5000)
    }

    @Test
    func aRangeWithMoreNumbersThanIntHasSaysSo() async {
        await #expect(processExitsWith: .failure) { Parallel.forEach(Int.min..<Int.max) { _ in } }
        await #expect(processExitsWith: .failure) { Parallel().forEachChunk(-2..<Int.max) { _ in } }
        await #expect(processExitsWith: .failure) {
            _ = Parallel.reduce(Int.min..<0, 0, map: { $0 }, combine: { $0 &+ $1 })
        }
    }

    /// The last number that a range can have, from every loop.
    @Test
    func loopsReachTheEndsOfAllIntegers() throws {
        for range in [Int.max - 300..<Int.max, Int.min..<Int.min + 300, Int.max - 1..<Int.max, Int.max..<Int.max] {
            let lengths = Log<Int>()
            Parallel.forEach(range) { i in if range.contains(i) { lengths.note(1) } }
            Parallel().forEachChunk(range) { part in if part.clamped(to: range) == part { lengths.note(part.count) } }
            try Parallel(token: CancellationToken()).forEach(range) { i throws in if range.contains(i) { lengths.note(1) } }
            #expect(lengths.all.reduce(0, +) == 3 * range.count)
            #expect(Parallel.map(range) { $0 } == Array(range))
            #expect(Parallel().min(range) == range.first)
            #expect(Parallel().max(range) == range.last)
        }
    }

    @Test
    func aScopeDoesNotForkWhileALaterOneIsOpen() async {
        await #expect(processExitsWith: .failure) {
            Parallel.scope { outer in
                outer.fork {}
                Parallel.scope { inner in
                    inner.fork {}
                    outer.fork {}
                }
            }
        }
    }

    /// A stack of 64 KiB comes with room for 32,768 forks.
    @Test
    func aScopeTakesMoreChildrenThanItsThreadHasRoomFor() async throws {
        let sum = Atomic(0)
        try await TaskQueue(scheduler: makeScheduler(workers: 1, stackSize: 64 << 10)).run {
            Parallel.scope { scope in
                for i in 0..<100_000 { scope.fork { sum.add(i, ordering: .relaxed) } }
            }
        }
        #expect(sum.load(ordering: .relaxed) == 100_000 * 99_999 / 2)
    }

    @Test
    func scopesNest() {
        let lengths = Log<Int>()
        Parallel.scope { outer in
            for _ in 0..<10 {
                outer.fork {
                    Parallel.scope { inner in
                        for _ in 0..<10 { inner.fork { lengths.note(1) } }
                    }
                }
            }
            Parallel.scope { inner in inner.fork { lengths.note(1) } }
            outer.fork { lengths.note(1) }
        }
        #expect(lengths.all.count == 102)
    }
}
