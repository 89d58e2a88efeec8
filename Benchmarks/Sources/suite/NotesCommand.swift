internal import ArgumentParser
internal import FoundationEssentials
internal import SuiteKit

/// `suite notes`: what the report's page says beside the figures.
struct NotesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes", abstract: "Says how far a result can be believed, and what was counted, as JSON.")

    @Argument(help: "A result: PATH.json.")
    var result: String

    @Argument(help: "Where the notes go: PATH.json.")
    var out: String

    struct Counts: Codable {
        let workload, contender: String
        let workers: Int
        /// Per unit.
        let counts: [String: Double]
    }

    struct Notes: Codable {
        let caveat: String
        let counts: [Counts]
    }

    func run() throws {
        let results = try Results(contentsOf: result)
        let notes = Notes(
            caveat: results.caveat,
            counts: results.figures.filter { !$0.counts.isEmpty }.map {
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
