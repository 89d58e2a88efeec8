import OverdriveCore
import Testing

@Suite("Parallel sorts", .timeLimit(.minutes(10)))
struct ParallelSortTests {
    private static func inputs(_ count: Int) -> [[Int]] {
        [
            scrambled(count), Array(0..<count), Array((0..<count).reversed()), Array(repeating: 5, count: count),
            scrambled(count, below: 3), (0..<count).map { $0 % 17 }, (0..<count / 2).map { $0 } + (0..<count / 2).reversed(),
            Array(0..<count) + [-1],
        ]
    }

    @Test("sort what Array.sort sorts", arguments: Caller.allCases)
    func ints(caller: Caller) async throws {
        for count in lengths {
            for input in Self.inputs(count) {
                let expected = input.sorted()
                let (unstable, stable, down) = try await caller.call { () -> ([Int], [Int], [Int]) in
                    var (unstable, stable, down) = (input, input, input)
                    Parallel.sort(&unstable)
                    Parallel.stableSort(&stable)
                    Parallel.sort(&down) { $0 > $1 }
                    return (unstable, stable, down)
                }
                #expect(unstable == expected)
                #expect(stable == expected)
                #expect(down == expected.reversed())
            }
        }
    }

    private struct Item: Sendable {
        let key, place: Int
    }

    @Test("stableSort keeps equals in their order", arguments: Caller.allCases, [1, 2, 10, 1_000])
    func stability(caller: Caller, keys: Int) async throws {
        for count in lengths {
            let items = scrambled(count, below: keys).enumerated().map { Item(key: $1, place: $0) }
            let sorted = try await caller.call { () -> [Item] in
                var items = items
                Parallel.stableSort(&items) { $0.key < $1.key }
                return items
            }
            #expect(sorted.count == count)
            #expect(zip(sorted, sorted.dropFirst()).allSatisfy { ($0.key, $0.place) < ($1.key, $1.place) })
        }
    }

    @Test("elements that are references live once", arguments: Caller.allCases)
    func references(caller: Caller) async throws {
        for count in [0, 1, 2, 100, 5_000] {
            let census = Census()
            try await caller.call {
                var items = scrambled(count).map { (key: $0, body: census.newborn()) }
                Parallel.sort(&items) { $0.key < $1.key }
                Parallel.stableSort(&items) { $0.key % 10 < $1.key % 10 }
                for item in items { item.body.touch() }
                #expect(zip(items, items.dropFirst()).allSatisfy { ($0.key % 10, $0.key) <= ($1.key % 10, $1.key) })
            }
            #expect(census.alive == 0)
        }
        var words = scrambled(3_000).map { String($0) }
        let expected = words.sorted()
        Caller.sort(&words)
        #expect(words == expected)
    }
}

extension Caller {
    fileprivate static func sort(_ words: inout [String]) {
        Parallel.sort(&words)
    }
}
