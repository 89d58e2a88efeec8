// figures [NAME…] — six programs, each written three times: serially, on Dispatch and on Overdrive. All three do the
// same work and have to give the same answer. A row is the median of so many rounds (ROUNDS, 7), in which the three
// take turns; a ratio is the median of the rounds' own, above 1 where Overdrive is faster.
import Foundation

struct Program {
    let name: String
    /// Each gives a number that says that the work was done.
    let serial: () async -> Int
    let dispatch: () async -> Int
    let overdrive: () async -> Int
}

let programs = [images(), logs(), graph(), server(), port(), numerics()]
let asked = CommandLine.arguments.dropFirst()
if let unknown = asked.first(where: { name in !programs.contains { $0.name == name } }) {
    print("figures: there is no program \"\(unknown)\"; choose of \(programs.map(\.name).joined(separator: ", "))")
    exit(2)
}
let rounds = max(1, ProcessInfo.processInfo.environment["ROUNDS"].flatMap { Int($0) } ?? 7)

func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }
func padded(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
func digits(_ number: Double, _ places: Int) -> String { String(format: "%.\(places)f", number) }

print("program        serial ms  dispatch ms  overdrive ms   × serial  × dispatch")
var agree = true
for program in programs where asked.isEmpty || asked.contains(program.name) {
    let ways = [program.serial, program.dispatch, program.overdrive]
    var times = [[Double]](repeating: [], count: 3)
    var answers = Set<Int>()
    for way in ways { answers.insert(await way()) }  // warm
    for round in 0..<rounds {
        for turn in 0..<3 {
            let way = (round + turn) % 3
            let start = ContinuousClock.now
            answers.insert(await ways[way]())
            times[way].append((ContinuousClock.now - start) / .milliseconds(1))
        }
    }
    func ratio(_ other: Int) -> Double { median(zip(times[other], times[2]).map { $0 / $1 }) }
    print(
        program.name + padded(digits(median(times[0]), 1), 24 - program.name.count) + padded(digits(median(times[1]), 1), 13)
            + padded(digits(median(times[2]), 1), 14) + padded(digits(ratio(0), 2), 11) + padded(digits(ratio(1), 2), 12))
    if answers.count != 1 {
        print("\(program.name): the answers differ: \(answers)")
        agree = false
    }
}
exit(agree ? 0 : 1)
