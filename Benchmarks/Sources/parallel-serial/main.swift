import OverdriveCore

// parallel-serial [ROUNDS] [ROW…] — operations of `Parallel` beside the plain Swift that they replace.
//
// Rounds are interleaved, and the least time of each side counts. The last column is how many times as long the plain one
// takes; `copy` and `read` say what two workers make of memory's bandwidth alone.

let arguments = CommandLine.arguments.dropFirst()
let rounds = arguments.first.flatMap { Int($0) } ?? 7
let chosen = Set(arguments.dropFirst(arguments.first.flatMap { Int($0) } == nil ? 0 : 1))

/// Two ways to the same result, and how often what they are measured by happens in one run.
struct Row {
    let name: String
    let unit: String
    let count: Int
    let serial: () -> UInt64
    let parallel: () -> UInt64
    /// Between runs, not measured.
    var prepare: () -> Void = {}
}

func time(_ body: () -> UInt64, into sink: inout UInt64) -> Double {
    let clock = ContinuousClock()
    let took = clock.measure { sink = body() }
    return took / .nanoseconds(1)
}

func measure(_ row: Row) {
    var (serial, parallel) = (Double.infinity, Double.infinity)
    var (expected, result): (UInt64, UInt64) = (0, 0)
    for _ in 0..<rounds {
        row.prepare()
        serial = min(serial, time(row.serial, into: &expected))
        row.prepare()
        parallel = min(parallel, time(row.parallel, into: &result))
        precondition(expected == result, "\(row.name): the results differ")
    }
    func number(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
    func column(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
    let each = Double(row.count)
    print(
        row.name + column(row.unit, 34 - row.name.count) + column(number(serial / each), 12)
            + column(number(parallel / each), 12) + column(number(serial / parallel), 9) + "x")
}

print("operation" + String(repeating: " ", count: 11) + "      unit per     serial    Parallel    ratio")
for row in rows() where chosen.isEmpty || chosen.contains(row.name) { measure(row) }
