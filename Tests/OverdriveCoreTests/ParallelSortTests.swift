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
                    Parallel().sort(&unstable)
                    Parallel().stableSort(&stable)
                    Parallel().sort(&down) { $0 > $1 }
                    return (unstable, stable, down)
                }
                #expect(unstable == expected)
                #expect(stable == expected)
                #expect(down == expected.reversed())
            }
        }
    }

    /// Strings of each kind that the sort by bytes has to tell apart, or leave to others.
    private static func lines(_ kind: String, _ count: Int) -> [String] {
        let numbers = scrambled(count)
        return numbers.map { number in
            let number = number.magnitude
            switch kind {
            case "log": return "2026-11-\(10 + number % 20)T\(number / 7 % 14) host\(number % 97) took \(number % 1000) ms"
            case "short": return String(number % 50)
            case "few": return ["", "a", "equal beyond eight bytes", "equal beyond eight byte"][Int(number % 4)]
            case "zeros": return String(repeating: "\0", count: Int(number % 20)) + (number % 3 == 0 ? "a" : "")
            case "nested": return String(repeating: "ab", count: Int(number % 700)) + (number % 5 == 0 ? "!" : "")
            case "deep": return String(repeating: "x", count: 1_500) + String(number % 1_000)
            default: return number % 997 == 3 ? "é\(number)" : "e\(number)"
            }
        }
    }

    /// In bytes, so that equals count as equal only where they are the same.
    @Test(
        "sort strings as Array.sort does, whatever is in them", arguments: Caller.allCases,
        ["log", "short", "few", "zeros", "nested", "deep", "one of many"])
    func strings(caller: Caller, kind: String) async throws {
        for count in [0, 1, 2, 255, 256, 300, 2_500] {
            let input = Self.lines(kind, count)
            let (sorted, stable) = try await caller.call { () -> ([String], [String]) in
                var (sorted, stable) = (input, input)
                Parallel().sort(&sorted)
                Parallel().stableSort(&stable)
                return (sorted, stable)
            }
            let expected = input.sorted()
            #expect(sorted == expected)
            #expect(stable.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
        }
    }

    private struct Item: Sendable {
        let key, place: Int
    }

    @Test("stableSort keeps equals in their order", arguments: Caller.allCases, [1, 2, 10, 1_000])
    func stability(caller: Caller, keys: Int) async throws {
        for count in lengths {
            for keys in [scrambled(count, below: keys), (0..<count).map { -(($0 + 1) / 2) }] {
                let items = keys.enumerated().map { Item(key: $1, place: $0) }
                let sorted = try await caller.call { () -> [Item] in
                    var items = items
                    Parallel().stableSort(&items) { $0.key < $1.key }
                    return items
                }
                #expect(sorted.count == count)
                #expect(zip(sorted, sorted.dropFirst()).allSatisfy { ($0.key, $0.place) < ($1.key, $1.place) })
            }
        }
    }

    @Test("elements that are references live once", arguments: Caller.allCases)
    func references(caller: Caller) async throws {
        for count in [0, 1, 2, 100, 5_000] {
            let census = Census()
            try await caller.call {
                var items = scrambled(count).map { (key: $0, body: census.newborn()) }
                Parallel().sort(&items) { $0.key < $1.key }
                Parallel().stableSort(&items) { $0.key % 10 < $1.key % 10 }
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
        Parallel().sort(&words)
    }
}
