import OverdriveCore
import Testing

@Suite("Parallel map, filter, reduce, scan, min and max", .timeLimit(.minutes(10)))
struct ParallelCollectionTests {
    @Test("map keeps the order, of ranges, arrays, slices and reversed ones", arguments: Caller.allCases)
    func map(caller: Caller) async throws {
        for count in lengths {
            #expect(try await caller.call { Parallel.map(0..<count) { $0 &* 7 } } == (0..<count).map { $0 &* 7 })
            let numbers = scrambled(count)
            #expect(try await caller.call { Parallel.map(numbers) { String($0) } } == numbers.map { String($0) })
            let (slice, grain) = (numbers.dropFirst(2), 100)
            #expect(try await caller.call { Parallel(grain: grain).map(slice) { $0 / 3 } } == slice.map { $0 / 3 })
            #expect(try await caller.call { Parallel.map(numbers.reversed()) { $0 } } == Array(numbers.reversed()))
        }
    }

    @Test("map's results live once", arguments: Caller.allCases)
    func mapLives(caller: Caller) async throws {
        let census = Census()
        try await caller.call {
            let objects = Parallel.map(0..<1_000) { _ in census.newborn() }
            let kept = Parallel().filter(objects) { _ in true }
            kept[999].touch()
        }
        #expect(throws: Flaw.self) {
            _ = try Parallel(grain: 10).map(0..<1_000) { number throws(Flaw) in
                if number == 999 { throw Flaw() }
                return census.newborn()
            }
        }
        #expect(census.alive == 0)
    }

    @Test("filter keeps what it should, in order", arguments: Caller.allCases)
    func filter(caller: Caller) async throws {
        for count in lengths {
            let numbers = scrambled(count)
            for divisor in [1, 2, 1_000, 1 << 40] {
                #expect(
                    try await caller.call { Parallel().filter(numbers) { $0 % divisor == 0 } }
                        == numbers.filter { $0 % divisor == 0 })
            }
        }
    }

    @Test("reduce keeps the order of what does not commute", arguments: Caller.allCases)
    func reduce(caller: Caller) async throws {
        for count in lengths where count <= 4_097 {
            let words = (0..<count).map { String($0) }
            #expect(try await caller.call { Parallel.reduce(words, "", +) } == words.joined())
            let together = try await caller.call { () -> [Int] in
                Parallel.reduce(0..<count, [Int](), map: { [$0] }, combine: { $0 + $1 })
            }
            #expect(together == Array(0..<count))
        }
        for count in lengths {
            let sum: Int = try await caller.call { Parallel.reduce(0..<count, 0, map: { $0 }, combine: +) }
            #expect(sum == count * (count - 1) / 2)
        }
    }

    /// x → scale · x + offset, modulo 2^64: plain memory, whose combination does not commute.
    private struct Line: Comparable, Sendable {
        var scale, offset: UInt64
        static func then(_ first: Line, _ second: Line) -> Line {
            Line(scale: first.scale &* second.scale, offset: first.offset &* second.scale &+ second.offset)
        }
        static func < (a: Line, b: Line) -> Bool { a.scale < b.scale }
    }

    @Test("plain values, a thousand at a time, are combined in their order", arguments: Caller.allCases)
    func plainValues(caller: Caller) async throws {
        for count in [1, 1_023, 1_024, 1_025, 2_048, 4_097, 300_001] {
            let lines = (0..<UInt64(count)).map { Line(scale: $0 &* 0x9E37_79B9_7F4A_7C15 | 1, offset: $0 &* $0) }
            var (sum, sums): (Line, [Line]) = (Line(scale: 1, offset: 0), [])
            for line in lines {
                sum = Line.then(sum, line)
                sums.append(sum)
            }
            let none = Line(scale: 1, offset: 0)
            #expect(try await caller.call { Parallel.reduce(lines, none) { Line.then($0, $1) } } == sum)
            #expect(try await caller.call { Parallel().scan(lines, none) { Line.then($0, $1) } } == sums)
            #expect(try await caller.call { Parallel().min(lines) } == lines.min())
            #expect(try await caller.call { Parallel().max(lines) } == lines.max())
        }
    }

    @Test("results that have a mapping of their own are whole")
    func largeResults() {
        let count = (32 << 20) / MemoryLayout<SIMD8<Int>>.stride + 3  // of 64 bytes
        let results = Parallel.map(0..<count) { SIMD8(repeating: $0) }
        #expect(results.count == count && (0..<count).allSatisfy { results[$0][7] == $0 })
    }

    @Test("reduce_by_chunks_covers_the_range_in_order", arguments: [0, 1, 1_025, 100_000])
    func chunks(count: Int) throws {
        let ranges = Parallel(grain: 10).reduce(5..<5 + count, [Range<Int>](), chunk: { [$0] }, combine: { $0 + $1 })
        #expect(ranges.flatMap { Array($0) } == Array(5..<5 + count) && ranges.dropLast().allSatisfy { $0.count >= 10 })
        #expect(Parallel.reduce(0..<count, 0, chunk: { $0.count }, combine: { $0 + $1 }) == count)
        #expect(throws: Flaw.self) {
            try Parallel.reduce(0..<count + 1, 0, chunk: { _ throws(Flaw) in throw Flaw() }, combine: { (a: Int, b: Int) throws(Flaw) in a + b })
        }
    }

    @Test("reduce rounds the same way for any number of workers", arguments: [1, 2, 1_000, 4_097, 100_000])
    func sameBits(count: Int) async throws {
        var all: Set<UInt64> = []
        for workers in 1...8 {
            let queue = TaskQueue(scheduler: makeScheduler(workers: workers))
            for _ in 0..<3 {
                let sum = try await queue.run { () -> Double in
                    Parallel.reduce(0..<count, 0.0, map: { 1 / (0.3 + Double($0)) }, combine: { $0 + $1 })
                }
                all.insert(sum.bitPattern)
                let chunks = try await queue.run { () -> Double in
                    try Parallel(token: CancellationToken()).reduce(
                        0..<count, 0.0, chunk: { part throws in part.reduce(0.0) { $0 + 1 / (0.3 + Double($1)) } }, combine: { $0 + $1 })
                }
                all.insert(chunks.bitPattern)  // the blocks are those of `map:`
                let factors = (0..<count).map { 1 + 1 / (3 + Double($0)) }
                let product = try await queue.run { () -> Double in
                    Parallel().scan(factors, 1.0, { $0 * $1 }).last ?? 0
                }
                all.insert(~product.bitPattern)
            }
        }
        #expect(all.count == 2)
    }

    @Test("scan", arguments: Caller.allCases)
    func scan(caller: Caller) async throws {
        for count in lengths {
            let numbers = scrambled(count, below: 1_000)
            var sum = 0
            let expected = numbers.map { number -> Int in
                sum += number
                return sum
            }
            #expect(try await caller.call { Parallel().scan(numbers, 0, +) } == expected)
        }
        let letters = Array("abcdefg").map { String($0) }
        #expect(
            try await caller.call { Parallel().scan(letters, "", +) }
                == ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"])
    }

    /// Compared by its key alone.
    private struct Item: Comparable, Sendable {
        let key, place: Int
        static func < (left: Item, right: Item) -> Bool { left.key < right.key }
        static func == (left: Item, right: Item) -> Bool { left.key == right.key }
    }

    @Test("min and max choose among equals as the standard library does", arguments: Caller.allCases)
    func extremes(caller: Caller) async throws {
        for count in lengths {
            let items = scrambled(count, below: 10).enumerated().map { Item(key: $1, place: $0) }
            #expect(try await caller.call { Parallel().min(items)?.place } == items.min()?.place)
            #expect(try await caller.call { Parallel().max(items)?.place } == items.max()?.place)
        }
    }
}
