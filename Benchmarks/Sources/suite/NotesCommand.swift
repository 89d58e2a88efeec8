internal import ArgumentParser
internal import FoundationEssentials
internal import SuiteKit

/// `suite notes`: what the report's page says beside the figures.
struct NotesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes", abstract: "Says which minima of a result may not be found again and why, and what was counted, as JSON.")

    @Argument(help: "A result: PATH.json.")
    var result: String

    @Argument(help: "Where the notes go: PATH.json.")
    var out: String

    @Option(help: "What compare said of two runs: ratios that were apart are in doubt.")
    var repeated: String?

    struct Doubt: Codable {
        let workload, contender, why: String
        let workers: Int
    }

    struct Counts: Codable {
        let workload, contender: String
        let workers: Int
        /// Per unit.
        let counts: [String: Double]
    }

    struct Notes: Codable {
        let caveat: String
        /// Of minima over all processes, and of ratios.
        let doubts, ratios: [Doubt]
        let counts: [Counts]
    }

    func run() throws {
        let results = try Results(contentsOf: result)
        let figures = results.figures
        let apart = repeated.map { Comparison.apart(in: File.read($0)) } ?? [:]
        let notes = Notes(
            caveat: results.caveat,
            doubts: figures.compactMap { figure in
                figure.processes.doubt.map { Doubt(workload: figure.workload, contender: figure.contender, why: $0, workers: figure.workers) }
            },
            ratios: results.doubts(apart: apart).map { key, why in
                Doubt(workload: key.workload, contender: key.contender, why: why, workers: key.workers)
            },
            counts: figures.filter { !$0.counts.isEmpty }.map {
                Counts(workload: $0.workload, contender: $0.contender, workers: $0.workers, counts: $0.counts.mapValues(Decimals.fourDigits))
            })
        File.makeFolder(of: out)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard File.write(String(decoding: try encoder.encode(notes), as: UTF8.self) + "\n", to: out) else {
            throw ValidationError("cannot write \(out)")
        }
    }
}
