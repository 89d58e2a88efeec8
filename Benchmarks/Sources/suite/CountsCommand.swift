internal import ArgumentParser
internal import SuiteKit

/// `suite counts`: the gate. Counts are the same on a busy machine, so they can fail a change; times cannot.
struct CountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counts", abstract: "Counts allocations, locked instructions and the like per unit, and fails above a limit.")

    @Option(help: "Folders with contenders' programs and counting.so, separated by colons.")
    var programs: String

    @Option(help: "A folder for what valgrind writes.")
    var folder = ".build/bench"

    @Option(help: "Only gates whose name contains this.")
    var only: String?

    func run() throws {
        makeFolder(of: folder + "/x")
        let gates = CountGates(programs: Programs(programs.split(separator: ":").map(String.init)), folder: folder)
        var (passed, failed) = (0, 0)
        for gate in CountGate.all where only.map(gate.name.contains) ?? true {
            let (value, problem) = gates.measure(gate)
            let isMet = value.map { $0 <= gate.limit } ?? false
            if isMet { passed += 1 } else { failed += 1 }
            let figure = value.map { "\(Decimals.short(max($0, 0)))" } ?? "not counted (\(problem))"
            print("[  \(isMet ? "PASSED" : "FAILED")  ] \(gate.name): \(figure) \(gate.count.rawValue) each, at most \(Decimals.short(gate.limit))")
        }
        print("\(passed) passed, \(failed) failed")
        if failed > 0 { throw ExitCode.failure }
    }
}
