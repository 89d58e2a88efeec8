// Programs by seed over the drop-in surface, compiled once for Dispatch and Foundation and once for OverdriveDispatch
// (with -D OD). Each seed prints what it observed; scripts/run-differential compares the two sides line by line.
//
// A line holds only what both sides promise. Legal nondeterminism is described in one place: `Trace.mustFollow` for order
// and `Trace.alone` for exclusion. A broken promise prints a line with BROKEN, on whichever side breaks it.

import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Splitmix64: the same numbers on both sides.
struct Dice {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<T>(_ from: [T]) -> T { from[below(from.count)] }
}

/// The events of one program, and the order relations that must hold in it.
final class Trace: @unchecked Sendable {
    private let lock = NSLock()
    private var log: [(name: String, isEnd: Bool)] = []
    private var relations: [(String, String)] = []
    private var exclusions: [[String]] = []

    func run(_ name: String, _ body: () -> Void = {}) {
        note(name, isEnd: false)
        body()
        note(name, isEnd: true)
    }

    private func note(_ name: String, isEnd: Bool) { lock.withLock { log.append((name, isEnd)) } }

    /// `first` has returned before `second` begins, where both run.
    func mustFollow(_ first: String, _ second: String) { lock.withLock { relations.append((first, second)) } }

    /// No two of these overlap.
    func alone(_ names: [String]) { lock.withLock { exclusions.append(names) } }

    var order: [String] { lock.withLock { log.filter { !$0.isEnd }.map(\.name) } }

    /// The names that ran, how often, and the broken promises.
    var lines: [String] {
        lock.withLock {
            var (begins, ends, counts): ([String: Int], [String: Int], [String: Int]) = ([:], [:], [:])
            for (place, event) in log.enumerated() {
                if event.isEnd { ends[event.name] = place } else { begins[event.name] = place; counts[event.name, default: 0] += 1 }
            }
            var lines = ["ran " + counts.sorted { $0.key < $1.key }.map { $1 == 1 ? $0 : "\($0)*\($1)" }.joined(separator: " ")]
            for (first, second) in relations {
                guard let end = ends[first], let begin = begins[second] else { continue }
                if end > begin { lines.append("BROKEN \(second) began before \(first) had returned") }
            }
            for names in exclusions {
                let names = Set(names)
                var inside = 0
                for event in log where names.contains(event.name) {
                    inside += event.isEnd ? -1 : 1
                    if inside > 1 { lines.append("BROKEN \(event.name) overlaps"); break }
                }
            }
            return lines
        }
    }
}

/// A number that threads add to.
final class Count: @unchecked Sendable {
    private let lock = NSLock()
    private var number = 0
    var value: Int { lock.withLock { number } }
    func add(_ more: Int = 1) { lock.withLock { number += more } }
}

func until(_ condition: () -> Bool) -> Bool {
    for _ in 0..<10_000 {
        if condition() { return true }
        usleep(500)
    }
    return false
}

func pause(_ dice: inout Dice) -> @Sendable () -> Void {
    let time = dice.pick([0, 0, 50, 300])
    return { if time > 0 { usleep(UInt32(time)) } }
}

let programs: [(String, (inout Dice) -> [String])] = [
    ("operations", operations), ("queues", queues), ("items", items), ("sources", sources), ("channels", channels),
]

/// Programs that go through Dispatch's event loop on both sides; see scripts/run-differential.
let watching: Set = ["sources", "channels"]
let skipped = CommandLine.arguments.contains("--no-descriptors") ? watching : []
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let (first, number) = (arguments.first ?? 0, arguments.dropFirst().first ?? 100)
setvbuf(stdout, nil, _IOLBF, 0)
let current = Count()
Thread.detachNewThread {
    // A program takes milliseconds: one that has not moved for 20 s hangs.
    var last = -1
    while true {
        sleep(20)
        if current.value == last {
            print("seed \(first + last - 1) HANGS")
            exit(2)
        }
        last = current.value
    }
}
for seed in first..<(first + number) {
    current.add()
    var dice = Dice(state: UInt64(seed))
    let (name, program) = programs[seed % programs.count]
    if skipped.contains(name) { continue }
    for line in program(&dice) { print("seed \(seed) \(name): \(line)") }
}
exit(0)
