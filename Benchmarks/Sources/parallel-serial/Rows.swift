import OverdriveCore
import Synchronization

/// A number without a pattern for each place, the same in each run.
func scrambled(_ place: Int) -> UInt64 {
    var x = UInt64(truncatingIfNeeded: place) &+ 0x9E37_79B9_7F4A_7C15
    x = (x ^ (x >> 30)) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ (x >> 27)) &* 0x94D0_49BB_1331_11EB
    return x ^ (x >> 31)
}

/// What lines are taken from and sorted in.
final class Lines {
    let original: [String]
    var here: [String] = []

    init(_ count: Int) {
        original = (0..<count).map { place in
            let number = scrambled(place)
            return "2026-11-\(10 + number % 20)T\(10 + number / 7 % 14):\(10 + number / 11 % 50):\(10 + number / 13 % 50)"
                + " host\(number % 97) service[\(number % 32768)]: request \(number) took \(number % 1000) ms"
        }
    }

    /// What an order of them comes to.
    var sum: UInt64 {
        var sum: UInt64 = 0
        for place in stride(from: 0, to: here.count, by: 101) {
            sum = sum &* 31 &+ UInt64(here[place].utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        }
        return sum
    }
}

final class Numbers {
    let original: [Int]
    var here: [Int] = []

    init(_ count: Int) { original = (0..<count).map { Int(truncatingIfNeeded: scrambled($0) >> 40) } }
}

final class Bits: @unchecked Sendable {
    // Each place is written by one part.
    var places: [UInt8]
    init(_ count: Int) { places = [UInt8](repeating: 0, count: count) }
}

/// Sums of short arrays, as many of them as make ten million numbers.
@MainActor
func short(_ length: Int, of values: [Int]) -> [Row] {
    let values = Array(values.prefix(length))
    let times = 10_000_000 / length
    nonisolated(unsafe) let places = UnsafeMutablePointer<Int>.allocate(capacity: length)
    places.initialize(repeating: 0, count: length)
    func repeated(_ body: () -> Int) -> UInt64 {
        var sum = 0
        for _ in 0..<times { sum ^= body() }
        return UInt64(truncatingIfNeeded: sum)
    }
    return [
        Row(
            name: "sum-of-\(length)", unit: "ns an Int", count: times * length,
            serial: { repeated { values.reduce(0, &+) } },
            parallel: { repeated { Parallel.reduce(values, 0) { $0 &+ $1 } } }),
        Row(
            name: "scan-of-\(length)", unit: "ns an Int", count: times * length,
            serial: {
                repeated {
                    var sums: [Int] = []
                    sums.reserveCapacity(length)
                    var sum = 0
                    for value in values {
                        sum &+= value
                        sums.append(sum)
                    }
                    return sums[length - 1]
                }
            },
            parallel: { repeated { Parallel().scan(values, 0, { $0 &+ $1 })[length - 1] } }),
        Row(
            name: "for-each-of-\(length)", unit: "ns a number", count: times * length,
            serial: {
                repeated {
                    for i in 0..<length { places[i] = i ^ places[i] }
                    return places[length - 1]
                }
            },
            parallel: {
                repeated {
                    Parallel.forEach(0..<length) { i in places[i] = i ^ places[i] }
                    return places[length - 1]
                }
            }),
    ]
}

@MainActor
func rows() -> [Row] {
    let many = 20_000_000
    let numbers = Numbers(many)
    let values = numbers.original
    let words = (0..<1_000_000).map { "word\(scrambled($0) % 5_000)" }
    let lines = Lines(1_000_000)
    let target = UnsafeMutablePointer<Int>.allocate(capacity: many)
    target.initialize(repeating: 0, count: many)
    nonisolated(unsafe) let to = target
    nonisolated(unsafe) let hot = UnsafeMutablePointer<Int>.allocate(capacity: 4096)
    hot.initialize(repeating: -1, count: 4096)
    return [
        Row(
            name: "copy", unit: "ns an Int", count: many,
            serial: {
                for i in 0..<many { to[i] = values[i] &+ 1 }
                return UInt64(to[many - 1])
            },
            parallel: {
                Parallel().forEachChunk(0..<many) { part in for i in part { to[i] = values[i] &+ 1 } }
                return UInt64(to[many - 1])
            }),
        Row(
            name: "read", unit: "ns an Int", count: many,
            serial: {
                var bits = 0
                for i in 0..<many { bits |= values[i] }
                return UInt64(bits)
            },
            parallel: {
                let found = Atomic(0)
                Parallel().forEachChunk(0..<many) { part in
                    var bits = 0
                    for i in part { bits |= values[i] }
                    found.bitwiseOr(bits, ordering: .relaxed)
                }
                return UInt64(found.load(ordering: .relaxed))
            }),
        Row(
            name: "worker-local", unit: "ns a call", count: 10_000_000,
            serial: {
                let store = WorkerLocal { [Int](repeating: 0, count: 1_000_000) }
                for i in 0..<10_000_000 { store.with { $0[i & 1023] &+= i } }
                return store.values[0].reduce(0) { $0 &+ UInt64($1) }
            },
            parallel: {
                let store = WorkerLocal { [Int](repeating: 0, count: 1_000_000) }
                Parallel().forEachChunk(0..<10_000_000) { part in for i in part { store.with { $0[i & 1023] &+= i } } }
                return store.values.reduce(0) { $0 &+ $1.reduce(0) { $0 &+ UInt64($1) } }
            }),
        Row(
            name: "scratch", unit: "ns a part", count: 1_000_000,
            serial: {
                var scratch = [Int](repeating: 0, count: 1_000_000)
                for i in 0..<1_000_000 { scratch[i & 1023] &+= i }
                return 0
            },
            parallel: {
                Parallel(grain: 1).forEachChunk(0..<1_000_000, scratch: { [Int](repeating: 0, count: 1_000_000) }) {
                    part, scratch in
                    for i in part { scratch[i & 1023] &+= i }
                }
                return 0
            }),
        Row(
            name: "words", unit: "ns a word", count: words.count,
            serial: {
                var counts: [String: Int] = [:]
                for word in words { counts[word, default: 0] += 1 }
                return UInt64(counts.count)
            },
            parallel: {
                let store = WorkerLocal { [String: Int]() }
                Parallel().forEachChunk(0..<words.count) { part in
                    store.with { counts in
                        for word in words[part] { counts[word, default: 0] += 1 }
                    }
                }
                return UInt64(store.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }.count)
            }),
        Row(
            name: "sum", unit: "ns an Int", count: many,
            serial: { UInt64(values.reduce(0, &+)) },
            parallel: { UInt64(Parallel.reduce(values, 0) { $0 &+ $1 }) }),
        Row(
            name: "sum-squares", unit: "ns an Int", count: many,
            serial: {
                var sum = 0
                for value in values { sum &+= value &* value }
                return UInt64(bitPattern: Int64(sum))
            },
            parallel: {
                UInt64(
                    bitPattern: Int64(
                        Parallel.reduce(0..<many, 0, map: { values[$0] &* values[$0] }, combine: { $0 &+ $1 })))
            }),
        Row(
            name: "scan", unit: "ns an Int", count: many,
            serial: {
                var sums: [Int] = []
                sums.reserveCapacity(many)
                var sum = 0
                for value in values {
                    sum &+= value
                    sums.append(sum)
                }
                return UInt64(sums[many - 1])
            },
            parallel: { UInt64(Parallel().scan(values, 0, { $0 &+ $1 })[many - 1]) }),
        Row(
            name: "histogram", unit: "ns an Int", count: many,
            serial: {
                var bins = [Int](repeating: 0, count: 256)
                for value in values { bins[value & 255] += 1 }
                return UInt64(bins[17])
            },
            parallel: {
                let bins = WorkerLocal { [Int](repeating: 0, count: 256) }
                Parallel().forEachChunk(0..<many) { part in
                    bins.with { bins in
                        for i in part { bins[values[i] & 255] += 1 }
                    }
                }
                return UInt64(bins.values.reduce(0) { $0 + $1[17] })
            }),
        Row(
            name: "for-each", unit: "ns a number", count: many,
            serial: {
                for i in 0..<many { to[i] = i }
                return UInt64(to[many - 1])
            },
            parallel: {
                Parallel.forEach(0..<many) { i in to[i] = i }
                return UInt64(to[many - 1])
            }),
        // A body of under a nanosecond, all of it in the cache.
        Row(
            name: "for-each-hot", unit: "ns a number", count: 200_000_000,
            serial: {
                for i in 0..<200_000_000 { if hot[i & 4095] == i { to[0] = i } }
                return UInt64(to[0])
            },
            parallel: {
                Parallel.forEach(0..<200_000_000) { i in if hot[i & 4095] == i { to[0] = i } }
                return UInt64(to[0])
            }),
        Row(
            name: "chunk-hot", unit: "ns a number", count: 200_000_000,
            serial: {
                for i in 0..<200_000_000 { if hot[i & 4095] == i { to[0] = i } }
                return UInt64(to[0])
            },
            parallel: {
                Parallel().forEachChunk(0..<200_000_000) { part in
                    for i in part { if hot[i & 4095] == i { to[0] = i } }
                }
                return UInt64(to[0])
            }),
        Row(
            name: "map", unit: "ns an Int", count: many,
            serial: { UInt64(values.map { $0 &* 3 }[many - 1]) },
            parallel: { UInt64(Parallel.map(values) { $0 &* 3 }[many - 1]) }),
        Row(
            name: "sort-ints", unit: "ns an Int", count: many / 4,
            serial: {
                numbers.here.sort()
                return UInt64(numbers.here[many / 8])
            },
            parallel: {
                Parallel().sort(&numbers.here)
                return UInt64(numbers.here[many / 8])
            }, prepare: { numbers.here = Array(numbers.original.prefix(many / 4)) }),
        Row(
            name: "sort-strings", unit: "ns a line", count: lines.original.count,
            serial: {
                lines.here.sort()
                return lines.sum
            },
            parallel: {
                Parallel().sort(&lines.here)
                return lines.sum
            }, prepare: { lines.here = lines.original.map { String($0) } }),
        Row(
            name: "sort-strings-by", unit: "ns a line", count: lines.original.count,
            serial: {
                lines.here.sort { $0 > $1 }
                return lines.sum
            },
            parallel: {
                Parallel().sort(&lines.here) { $0 > $1 }
                return lines.sum
            }, prepare: { lines.here = lines.original.map { String($0) } }),
        Row(
            name: "stable-sort-strings", unit: "ns a line", count: lines.original.count,
            serial: {
                lines.here.sort()
                return lines.sum
            },
            parallel: {
                Parallel().stableSort(&lines.here)
                return lines.sum
            }, prepare: { lines.here = lines.original.map { String($0) } }),
    ] + [1_000, 10_000, 100_000].flatMap { short($0, of: values) }
}
