// figures [NAME…] — six programs, each written three times: serially, on Dispatch and on Overdrive, and six smaller ones
// of the cookbook. All three do the same work and have to give the same answer. A row is the median of so many rounds
// (ROUNDS, 7), in which the three take turns; a ratio is the median of the rounds' own, above 1 where Overdrive is faster.
import Foundation

struct Program {
    let name: String
    /// Each gives a number that says that the work was done.
    let serial: (() async -> Int)?
    let dispatch: () async -> Int
    let overdrive: () async -> Int
}

let programs = [images(), logs(), graph(), server(), port(), numerics()] + cookbook()
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
    for way in ways { if let way { answers.insert(await way()) } }  // warm
    for round in 0..<rounds {
        for turn in 0..<3 {
            guard let way = ways[(round + turn) % 3] else { continue }
            let start = ContinuousClock.now
            answers.insert(await way())
            times[(round + turn) % 3].append((ContinuousClock.now - start) / .milliseconds(1))
        }
    }
    func time(_ way: Int) -> String { ways[way] == nil ? "-" : digits(median(times[way]), 1) }
    func ratio(_ way: Int) -> String {
        ways[way] == nil ? "-" : digits(median(zip(times[way], times[2]).map { $0 / $1 }), 2)
    }
    print(
        program.name + padded(time(0), 24 - program.name.count) + padded(time(1), 13) + padded(time(2), 14)
            + padded(ratio(0), 11) + padded(ratio(1), 12))
    if answers.count != 1 {
        print("\(program.name): the answers differ: \(answers)")
        agree = false
    }
}
exit(agree ? 0 : 1)
