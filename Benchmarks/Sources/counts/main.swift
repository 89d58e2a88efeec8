internal import Glibc
internal import SuiteKit

// counts PROGRAMS [PART] — the gate: allocations, locked instructions and the like per unit, each with a limit. Counts are
// the same on a busy machine, so they can fail a change; times cannot.
//
// PROGRAMS: folders with contenders' programs and counting.so, separated by colons. PART: only gates whose name contains it.
// A program by itself, so that the gate builds no more of the suite than it runs.

let arguments = CommandLine.arguments.dropFirst()
guard let programs = arguments.first, arguments.count <= 2 else {
    print("usage: counts PROGRAMS [PART]")
    exit(64)
}
let folder = ".build/bench"
File.makeFolder(of: folder + "/x")
let gates = CountGates(programs: Programs(programs.split(separator: ":").map(String.init)), folder: folder)
var (passed, failed) = (0, 0)
for gate in CountGate.all where arguments.dropFirst().first.map(gate.name.contains) ?? true {
    let (value, problem) = gates.measure(gate)
    let isMet = value.map { $0 <= gate.limit } ?? false
    if isMet { passed += 1 } else { failed += 1 }
    let figure = value.map { "\(Decimals.short(max($0, 0)))" } ?? "not counted (\(problem))"
    print("[  \(isMet ? "PASSED" : "FAILED")  ] \(gate.name): \(figure) \(gate.count.rawValue) each, at most \(Decimals.short(gate.limit))")
}
print("\(passed) passed, \(failed) failed")
exit(failed > 0 ? 1 : 0)
