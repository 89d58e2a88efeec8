internal import Glibc

/// A promise about what one unit of a workload takes, in numbers that do not depend on the machine's mood.
public struct CountGate: Sendable {
    public enum Count: String, Sendable {
        case instructions = "instructions"
        case locked = "locked instructions and fences"
        case allocations = "allocations"
        case futexes = "futex calls"

        var isByValgrind: Bool { self == .instructions || self == .locked }
    }

    public let name, program, word: String
    public let count: Count
    /// Two sizes; the difference between them is what the units cost, and start-up falls out.
    let small, large: Workload.Parameters
    let units: @Sendable (Workload.Parameters) -> Double
    /// At most so many per unit.
    public let limit: Double

    /// One worker, a run to warm up, one sample, and no pass after it that checks.
    func arguments(_ parameters: Workload.Parameters) -> [String] {
        let settings = ["workers": 1, "least": 1, "most": 1, "warmup_ms": 0, "budget_ms": 0, "check": 0]
        return [word] + parameters.merging(settings) { own, _ in own }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }
}

/// Counts, and judges.
public struct CountGates: Sendable {
    let programs: Programs
    /// A folder for what valgrind writes.
    let folder: String

    public init(programs: Programs, folder: String) {
        self.programs = programs
        self.folder = folder
    }

    /// How much of it one unit took; nil and why, when it could not be counted.
    public func measure(_ gate: CountGate) -> (value: Double?, problem: String) {
        let contender = Contender(id: "", title: "", program: gate.program, note: "")
        guard let program = programs.path(of: contender) else { return (nil, "\(gate.program) is not built") }
        // Scheduling adds to it where several threads meet, and whether a ring shrinks between two runs changes 15
        // instructions for each closure: the least of several runs of each size is the path itself. No more of them than
        // it takes to be within the limit.
        var (least, problem) = ((small: Double.infinity, large: Double.infinity), "")
        for _ in 0..<40 {
            guard let small = total(gate, gate.small, program, &problem), let large = total(gate, gate.large, program, &problem)
            else { return (nil, problem) }
            least = (min(least.small, small), min(least.large, large))
            if least.large - least.small <= gate.limit * (gate.units(gate.large) - gate.units(gate.small)) { break }
        }
        return ((least.large - least.small) / (gate.units(gate.large) - gate.units(gate.small)), "")
    }

    /// One process: a run to warm up and one that counts, or both where valgrind counts the whole process.
    private func total(
        _ gate: CountGate, _ parameters: Workload.Parameters, _ program: String, _ problem: inout String
    ) -> Double? {
        let arguments = gate.arguments(parameters)
        if !gate.count.isByValgrind {
            guard let library = programs.file("counting.so") else {
                problem = "counting.so is not built"
                return nil
            }
            let outcome = Child.run(["env", "LD_PRELOAD=\(library)", program] + arguments, seconds: 60)
            let word = gate.count == .allocations ? "allocations" : "futexes"
            let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("fact \(word) ") }
            problem = outcome.errors
            return outcome.status == 0 ? line.flatMap { Double($0.split(separator: " ")[2]) } : nil
        }
        // Without debugging information, which this valgrind may be too old to read.
        let (stripped, counts) = ("\(folder)/\(gate.program).stripped", "\(folder)/callgrind.\(getpid()).out")
        guard Child.run(["strip", "--strip-debug", "-o", stripped, program], seconds: 60).status == 0 else {
            problem = "strip failed"
            return nil
        }
        defer { File.remove(counts) }
        let outcome = Child.run(
            ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=\(counts)", stripped] + arguments, seconds: 120)
        problem = outcome.errors
        guard outcome.status == 0 else { return nil }
        let callgrind = Callgrind(File.read(counts))
        // The warm-up ran too: each unit twice. (No pass that checks: it would be a third, with closures that capture.)
        return Double(gate.count == .instructions ? callgrind.instructions : callgrind.locked { File.bytes($0) }) / 2
    }
}
