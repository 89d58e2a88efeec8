internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SuiteKit

/// The benchmark suite's command.
@main
struct Suite: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suite",
        abstract: "Measures Overdrive beside other schedulers, and says how it stands.",
        subcommands: [RunCommand.self, SimulateCommand.self, TableCommand.self, ThinCommand.self, CompareCommand.self, NotesCommand.self, ListCommand.self, FingerprintCommand.self])
}

/// `suite run`.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Takes measurements; an interrupted run goes on where it was.")

    @Option(help: "quick (minutes) or full (an hour).")
    var size = "quick"

    @Option(help: "How many interleaved rounds.")
    var rounds = 8

    @Option(help: "Numbers of workers, such as 1,2,4; otherwise as many as CPUs.")
    var workers: String?

    @Option(help: "Only these workloads or families, separated by commas.")
    var only: String?

    @Option(help: "Only these contenders, separated by commas.")
    var contenders: String?

    @Option(help: "Milliseconds of samples in one process.")
    var budget: Int?

    @Option(help: "Seconds that one process may take.")
    var limit = 60

    @Option(help: "Where the result goes: PATH.json, PATH.tsv and the journal PATH.jsonl.")
    var out = ".build/bench/result"

    @Option(help: "Folders with contenders' programs, separated by colons.")
    var programs: String?

    @Flag(help: "Every workload and contender, not only those of the table.")
    var all = false

    @Flag(help: "Starts anew, whatever the journal has.")
    var fresh = false

    func run() throws {
        guard let size = Workload.Size(rawValue: size) else { throw ValidationError("--size is quick or full, not \(size).") }
        let counts = try workers.map(counts) ?? [Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))]
        let everything = all || size == .full
        let wanted = only?.split(separator: ",").map(String.init)
        let workloads = Workload.all.filter { workload in
            wanted.map { $0.contains(workload.id) || $0.contains(workload.family.rawValue) } ?? (everything || workload.isHeadline)
        }
        let named = self.contenders?.split(separator: ",").map(String.init)
        let chosen = Contender.all.filter { contender in
            named.map { $0.contains(contender.id) } ?? (everything || contender.isHeadline || contender.id == "overdrive-c")
        }
        guard !workloads.isEmpty, !chosen.isEmpty else { throw ValidationError("nothing to measure: see `suite list`.") }

        let cpus = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        if let more = counts.first(where: { $0 > cpus }) {
            say("\(more) workers are more than the \(cpus) CPUs: what they measure is crowding, not speed-up")
        }
        File.makeFolder(of: out)
        let fingerprint = Fingerprint.current(
            size: size, rounds: rounds, budget: budget, workers: counts, programs: Programs(folders).files(of: chosen),
            build: Fingerprint.build(beside: own))
        if fresh { File.remove(out + ".jsonl") }
        let journal = Journal(path: out + ".jsonl", continuing: fingerprint)
        if !journal.runs.isEmpty { say("going on after \(journal.runs.count) runs of \(out).jsonl") }
        let measured = Protocol(
            size: size, workers: counts, rounds: rounds, workloads: workloads, contenders: chosen,
            programs: Programs(folders), limit: limit, budget: budget, alone: self.workers == nil
        ).run(journal: journal, progress: say)

        let results = Results(fingerprint: journal.fingerprint, runs: measured)
        guard File.write(try results.json(), to: out + ".json"), File.write(results.tsv, to: out + ".tsv") else {
            throw ValidationError("cannot write \(out).json")
        }
        journal.complete()
        for count in counts { print(Table(results, workers: count, all: everything).text) }
        if measured.contains(where: { $0.failure != nil }) { throw ExitCode.failure }
    }

    private func counts(_ list: String) throws -> [Int] {
        let counts = list.split(separator: ",").compactMap { Int($0) }
        guard !counts.isEmpty, counts.allSatisfy({ (1...1024).contains($0) }) else {
            throw ValidationError("--workers takes numbers from 1 to 1024, separated by commas.")
        }
        return counts
    }

    private var folders: [String] {
        if let programs { return programs.split(separator: ":").map(String.init) }
        return [own, own + "/peers"]
    }

    /// Where this program is.
    private var own: String {
        let own = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return own.isEmpty ? "." : own
    }
}

/// `suite table`.
struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "table", abstract: "Prints a result's table.")

    @Argument(help: "A result: PATH.json.")
    var result: String

    @Option(help: "The number of workers; otherwise the largest.")
    var workers: Int?

    @Flag(help: "As Markdown.")
    var markdown = false

    @Flag(help: "As Markdown with ratios only, as docs/benchmarks/table.md has it.")
    var brief = false

    @Flag(help: "As Markdown, the README's rows only.")
    var headline = false

    @Flag(help: "With every contender.")
    var all = false

    func run() throws {
        let results = try Results(contentsOf: result)
        let table = Table(results, workers: workers ?? results.fingerprint.workers.max() ?? 1, all: all)
        print(headline ? table.headline : brief ? table.brief : markdown ? table.markdown : table.text, terminator: "")
    }
}

/// `suite thin`.
struct ThinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thin", abstract: "Writes a result with fewer numbers, to be kept: deciles instead of all samples.")

    @Argument(help: "A result: PATH.json.")
    var result: String

    @Argument(help: "Where the thin one goes: PATH.json.")
    var out: String

    func run() throws {
        let results = try Results(contentsOf: result).thinned
        guard File.write(try results.json(), to: out) else { throw ValidationError("cannot write \(out)") }
    }
}

/// `suite compare`.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compares the ratios of two results; fails when some disagree.")

    @Argument(help: "The result before: PATH.json.")
    var before: String

    @Argument(help: "The result after: PATH.json.")
    var after: String

    func run() throws {
        let comparison = Comparison(try Results(contentsOf: before), try Results(contentsOf: after))
        print(comparison.text, terminator: "")
        if !comparison.agree { throw ExitCode.failure }
    }
}

/// `suite fingerprint`.
struct FingerprintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fingerprint", abstract: "Writes commit and compilers, to go along with programs that run elsewhere (build.json beside the suite).")

    @Argument(help: "Where it goes: PATH.json.")
    var out: String

    func run() throws {
        let fingerprint = Fingerprint.current(size: .quick, rounds: 0, budget: nil, workers: [])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard File.write(String(decoding: try encoder.encode(fingerprint), as: UTF8.self) + "\n", to: out) else {
            throw ValidationError("cannot write \(out)")
        }
    }
}

/// `suite list`.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Says what is measured, and of whom.")

    func run() {
        for workload in Workload.all {
            print("\(workload.id) (\(workload.family.rawValue), \(workload.unit.rawValue))\n    \(workload.question)\n    Beware: \(workload.caution)")
            print("    quick: \(words(workload.quick)); full: \(words(workload.full))")
            for (contender, smaller) in workload.slower.sorted(by: { $0.key < $1.key }) {
                print("    \(contender): \(words(smaller))")
            }
        }
        for contender in Contender.all { print("\(contender.id)\n    \(contender.note)") }
    }

    private func words(_ parameters: Workload.Parameters) -> String {
        parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
}

func say(_ sentence: String) {
    let line = sentence + "\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
}
