internal import BenchmarkKit
internal import FoundationEssentials
internal import Glibc

/// How measurements are taken: a process each, in interleaved rounds, every answer checked, and everything
/// written down at once, so that an interrupted run goes on where it was.
public struct Protocol: Sendable {
    public var size: Workload.Size
    public var workers: [Int]
    public var rounds: Int
    public var workloads: [Workload]
    public var contenders: [Contender]
    public var programs: Programs
    /// Seconds that one process may take.
    public var limit: Int
    /// Milliseconds of samples in one process; nil: each workload's own.
    public var budget: Int?
    /// Whether Overdrive is asked with one worker too, where its speed-up is of interest.
    public var alone: Bool

    public init(
        size: Workload.Size, workers: [Int], rounds: Int, workloads: [Workload], contenders: [Contender],
        programs: Programs, limit: Int, budget: Int?, alone: Bool = false
    ) {
        self.size = size
        self.workers = workers
        self.rounds = rounds
        self.workloads = workloads
        self.contenders = contenders
        self.programs = programs
        self.limit = limit
        self.budget = budget
        self.alone = alone
    }

    /// Runs what the journal does not have yet, and returns everything it has then.
    public func run(journal: Journal, progress: @escaping (String) -> Void) -> [Run] {
        var series = Series(self, journal, progress)
        series.takeRounds()
        series.takeCounts()
        return series.runs
    }

    func measure(_ run: inout Run, _ workload: Workload, _ contender: Contender) {
        var arguments = run.parameters.merging(contender.extra) { own, _ in own }
        arguments["workers"] = run.workers
        // More processes say more than more samples of one: where time is short, each has half of it, but three samples at least,
        // so that nobody's fastest is of far fewer.
        arguments["budget_ms"] = arguments["budget_ms"] ?? budget ?? (size == .quick ? workload.budget / 2 : workload.budget)
        guard let program = programs.path(of: contender) else { return }
        run.units = workload.units(run.parameters)
        let expected = workload.oracle(run.parameters)
        var command = [program, workload.word]
        if run.isCounting {
            guard let library = programs.file("counting.so") else { return }
            arguments.merge(["least": 1, "most": 1, "budget_ms": 0]) { _, one in one }
            command = ["env", "LD_PRELOAD=\(library)"] + command
        }

        run.load = Neighbours.load
        let (busy, own, start) = (Neighbours.busySeconds, Neighbours.childrenSeconds, Harness.now)
        let outcome = Child.run(command + arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }, seconds: limit)
        let seconds = Double(Harness.now - start) / 1e9
        run.seconds = seconds
        run.others = max(0, (Neighbours.busySeconds - busy - (Neighbours.childrenSeconds - own)) / max(seconds, 0.01))
        read(outcome, expected: expected, into: &run)
        if run.isCounting { run.samples = [] }  // the library's counting is in them
    }

    /// Takes a program's lines apart; `internal` for the tests.
    func read(_ outcome: Child.Outcome, expected: UInt64, into run: inout Run) {
        var (answers, ended): ([UInt64], Bool) = ([], false)
        var checks: [UInt64] = []
        for line in outcome.output.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch (words.first, words.count) {
            case ("sample", 3):
                guard let value = Double(words[1]), let answer = UInt64(words[2]) else { continue }
                run.samples.append(value / run.units)
                answers.append(answer)
            case ("fact", 3): run.facts[String(words[1])] = Double(words[2])
            case ("check", 2): if let answer = UInt64(words[1]) { checks.append(answer) }
            case ("end", 1): ended = true
            default: break
            }
        }
        let judged = checks.isEmpty ? answers : checks
        if outcome.status == nil {
            run.failure = "took longer than \(limit) s"
        } else if outcome.status == 69 {
            run.samples = []  // it does not do that with these parameters
            return
        } else if outcome.status != 0 || !ended {
            let sentence = outcome.errors.split(separator: "\n").last.map { ": \($0)" } ?? ""
            run.failure = "ended with \(outcome.status ?? -1)\(sentence)"
        } else if judged.isEmpty || run.samples.isEmpty {
            run.failure = "answered nothing"
        } else if let wrong = judged.first(where: { $0 != expected }) {
            run.failure = "answered \(wrong) instead of \(expected)"
        }
        if run.failure != nil { run.samples = [] }
    }
}

extension Contender {
    var isSerial: Bool { id.hasPrefix("serial") }
}

/// Where contenders' programs are.
public struct Programs: Sendable {
    let folders: [String]

    /// The folders are searched in this order.
    public init(_ folders: [String]) { self.folders = folders }

    public func path(of contender: Contender) -> String? {
        folders.map { "\($0)/\(contender.program)" }.first { access($0, X_OK) == 0 }
    }

    /// The files of some contenders' programs, each once.
    public func files(of contenders: [Contender]) -> [String] { Set(contenders.compactMap(path)).sorted() }

    /// A file that is no program.
    func file(_ name: String) -> String? {
        folders.map { "\($0)/\(name)" }.first { access($0, R_OK) == 0 }
    }

    /// The workloads that a contender says it has; none when it is not built.
    public func words(of contender: Contender) -> Set<String> {
        guard let path = path(of: contender) else { return [] }
        let extra = contender.extra.map { "\($0.key)=\($0.value)" }
        return Set(Child.run([path, "list"] + extra, seconds: 10).output.split(separator: "\n").map(String.init))
    }
}

/// Runs as they are made, one JSON object a line.
public struct Journal: Sendable {
    public let path: String
    public let runs: [Run]
    /// What its runs are of; the date is that of the first of them.
    public let fingerprint: Fingerprint

    /// The last line of one to which nothing more comes.
    private static let end = "{\"end\":true}"

    /// What is there already goes on, unless it was taken with other settings, of another state or by other programs, or has ended.
    public init(path: String, continuing fingerprint: Fingerprint) {
        self.path = path
        let text = File.read(path)
        let lines = text.split(separator: "\n")
        let header = lines.first.flatMap { try? JSONDecoder().decode(Fingerprint.self, from: Data($0.utf8)) }
        if let header, Journal.settings(header) == Journal.settings(fingerprint), !lines.contains(Journal.end[...]) {
            runs = lines.dropFirst().compactMap { try? JSONDecoder().decode(Run.self, from: Data($0.utf8)) }
            var first = fingerprint
            first.date = header.date
            self.fingerprint = first
            // A line that was cut off is nobody's beginning.
            if !text.hasSuffix("\n") { File.write("\n", to: path, appending: true) }
        } else {
            runs = []
            self.fingerprint = fingerprint
            File.write(Journal.line(fingerprint) + "\n", to: path)
        }
    }

    /// All was measured: the next series begins anew.
    public func complete() {
        File.write(Journal.end + "\n", to: path, appending: true)
    }

    func append(_ run: Run) {
        File.write(Journal.line(run) + "\n", to: path, appending: true)
    }

    /// What has to be the same for a journal to go on.
    private static func settings(_ fingerprint: Fingerprint) -> Fingerprint {
        var fingerprint = fingerprint
        fingerprint.date = ""
        fingerprint.rounds = 0
        return fingerprint
    }

    private static func line(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension Results {
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Results.self, from: Data(File.read(path).utf8))
    }

    /// The result as JSON, one run a line.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        func text(_ value: some Encodable) throws -> String { String(decoding: try encoder.encode(value), as: UTF8.self) }
        let lines = try runs.map { "  " + (try text($0)) }
        return "{\"fingerprint\":\(try text(fingerprint)),\"format\":\(format),\"runs\":[\n\(lines.joined(separator: ",\n"))\n]}\n"
    }

    /// One line for each figure.
    public var tsv: String {
        let counts = (Figure.preloaded + Figure.counted).map { "\($0)_each" }
        var text = (["workload", "contender", "workers", "unit", "time", "lowest", "highest", "median", "cpus", "switches", "rss_kib", "p99_ns", "samples",
            "rounds", "failures"] + counts).joined(separator: "\t") + "\n"
        func column(_ value: Double?) -> String { value.map { $0.isFinite ? "\(Decimals.fourDigits($0))" : "" } ?? "" }
        for figure in figures {
            let numbers = [figure.time, figure.rounds.values.min(), figure.rounds.values.max(), figure.median, figure.cpus, figure.switches, figure.rssKiB, figure.p99].map(column)
            let counts = (Figure.preloaded + Figure.counted).map { column(figure.counts[$0]) }
            text += ([figure.workload, figure.contender, "\(figure.workers)", figure.unit] + numbers
                + ["\(figure.samples)", "\(figure.rounds.count)", "\(figure.failures.count)"] + counts)
                .joined(separator: "\t") + "\n"
        }
        return text
    }
}
