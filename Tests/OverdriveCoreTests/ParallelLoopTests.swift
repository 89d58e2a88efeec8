import Synchronization
import Testing

@testable import OverdriveCore

@Suite("Parallel loops", .timeLimit(.minutes(10)))
struct ParallelLoopTests {
    @Test("forEach calls its body once for each number", arguments: Caller.allCases)
    func forEach(caller: Caller) async throws {
        for count in lengths {
            for grain in [nil, 1, 1_000] {
                let times = try await caller.call { () -> [Int] in
                    let counters = (0..<count).map { _ in Counter() }
                    Parallel(grain: grain).forEach(0..<count) { counters[$0].add() }
                    return counters.map(\.count)
                }
                #expect(times.allSatisfy { $0 == 1 })
                #expect(times.count == count)
            }
            if count == 4_097 { break } // a counter is an object: the long ones are for chunks
        }
    }

    /// A cache line with what each call of the body reads went to and fro with every part that a thread took.
    @Test("what a loop's threads take from shares its cache line with nothing")
    func line() throws {
        let share = Share(1_000)
        share.next.store(.max - 1, ordering: .relaxed)
        let words = unsafe withUnsafeBytes(of: share) { unsafe Array($0.bindMemory(to: UInt.self)) }
        let place = try #require(words.firstIndex(of: .max - 1))
        let (before, after) = (words.prefix(place).suffix(8), words.dropFirst(place + 1).prefix(8))
        #expect(before.count == 8 && after.count == 8)  // of eight bytes each: a line
        #expect((before + after).allSatisfy { $0 == 0 })
    }

    @Test("forEach takes ranges that do not begin at 0")
    func offset() {
        let sum = Counter()
        Parallel.forEach(-500..<1_500) { sum.add($0) }
        #expect(sum.count == (-500..<1_500).reduce(0, +))
    }

    @Test("forEachChunk hands out parts that together are the range", arguments: Caller.allCases)
    func chunks(caller: Caller) async throws {
        for count in lengths {
            for grain in [nil, 1, 64] {
                let parts = try await caller.call { () -> [Range<Int>] in
                    let log = Log<Range<Int>>()
                    Parallel(grain: grain).forEachChunk(5..<5 + count) { log.note($0) }
                    return log.all.sorted { $0.lowerBound < $1.lowerBound }
                }
                var next = 5
                for part in parts {
                    #expect(part.lowerBound == next)
                    #expect(!part.isEmpty)
                    next = part.upperBound
                }
                #expect(next == 5 + count)
            }
        }
    }

    @Test("uneven iterations, loops inside loops, and what they wrote", arguments: Caller.allCases)
    func nested(caller: Caller) async throws {
        let sum = try await caller.call { () -> Int in
            let sums = (0..<64).map { _ in Counter() }
            Parallel.forEach(0..<64) { i in
                Parallel.forEach(0..<i * i) { j in sums[i].add(j) }
            }
            return sums.reduce(0) { $0 + $1.count }
        }
        #expect(sum == (0..<64).reduce(0) { $0 + ($1 * $1) * ($1 * $1 - 1) / 2 })
    }

    @Test("a grain beyond the range makes one part of it, whoever else asks for one")
    func largeGrain() async throws {
        try await TaskQueue(scheduler: makeScheduler(workers: 3)).run {
            for count in [0, 1, 3, 255, 256, 1_000] {
                for _ in 0..<100 {
                    let sum = Counter()
                    Parallel(grain: .max).forEach(0..<count) { i in sum.add(i) }
                    #expect(sum.count == count * (count - 1) / 2)
                }
            }
        }
    }

    @Test("workers help")
    func workersHelp() async throws {
        let crowd = Crowd()
        try await TaskQueue(scheduler: makeScheduler(workers: 3)).run {
            Parallel(grain: 1).forEach(0..<3) { _ in crowd.visit { _ = eventually { crowd.most == 3 } } }
        }
        #expect(crowd.most == 3)
    }

    @Test("a thread that has no room among the guests does all of it by itself")
    func noRoom() {
        let scheduler = makeScheduler(workers: 2)
        let (inside, done, calls) = (Counter(), Counter(), Counter())
        let (full, over) = (Gate(), Gate())
        onThreads(258) { thread in
            if thread < 256 {
                // A guest of the scheduler until the others are done: the calling thread runs the first branch.
                _ = Parallel(on: scheduler).join {
                    if inside.add() == 256 { full.open() }
                    over.pass()
                } _: {}
            } else {
                full.pass()
                let (sum, _) = Parallel(on: scheduler).join {
                    Parallel.forEach(0..<10_000) { _ in calls.add() }
                    return Parallel.reduce(0..<10_000, 0, map: { $0 }, combine: { $0 + $1 })
                } _: {}
                #expect(sum == 49_995_000)
                if done.add() == 2 { over.open() }
            }
        }
        #expect(calls.count == 20_000)
    }
}
