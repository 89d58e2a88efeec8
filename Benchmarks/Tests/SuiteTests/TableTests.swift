import Foundation
import Testing

@testable import SuiteKit

@Suite struct TableTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL.path

    @Test("the README has the table of the stored result: scripts/bench-store")
    func readme() throws {
        let results = try Results(contentsOf: "\(root)/docs/benchmarks/result.json")
        let table = Table(results, workers: results.fingerprint.workers.max() ?? 1).brief
        #expect(File.read("\(root)/README.md").contains("<!-- bench-store: begin -->\n\n\(table)\n<!-- bench-store: end -->"))
    }

    /// Of each ratio of repeated.txt the words that name it, and the lowest and the highest round of both runs.
    private func repeated() -> [(words: [Substring], lowest: Double, highest: Double)] {
        File.read("\(root)/docs/benchmarks/repeated.txt").split(separator: "\n").compactMap { line in
            let ends = line.matches(of: /\(([\d.,]+)–([\d.,]+)\)/).flatMap { [$0.1, $0.2] }.compactMap { Double($0.replacing(",", with: "")) }
            guard ends.count == 4, let lowest = ends.min(), let highest = ends.max() else { return nil }
            return (line.split(separator: " "), lowest, highest)
        }
    }

    @Test("what the README claims first, every round of both stored runs had, on either queue of libdispatch", arguments: [
        ("less than three fifths as long with captures", "spawn-captures", 5.0 / 3), ("less than a fifth without", "spawn-outside", 5),
        ("less than a third where four threads submitted at once", "spawn-4", 3),
    ])
    func claim(_ words: String, _ workload: String, _ least: Double) {
        #expect(File.read("\(root)/README.md").replacing("\n", with: " ").contains(words))
        let ours = repeated().filter { $0.words[0] == workload && $0.words[1].hasPrefix("libdispatch") }
        #expect(ours.count == 2 && ours.allSatisfy { $0.lowest > least }, "\(ours)")
    }

    @Test("the README names what Overdrive loses in every round of both stored runs, and nothing else")
    func losses() throws {
        let paragraphs = File.read("\(root)/README.md").split(separator: "\n\n")
        let paragraph = try #require(paragraphs.first { $0.contains("loses in every round of both") })
        let named = Set(paragraph.matches(of: /`([^`]+)`/).map(\.1))
        #expect(named == Set(repeated().filter { $0.highest < 0.995 && $0.words[1] != "overdrive-c" }.map { $0.words[0] }))
    }

    @Test("what has no row of its own has one that stands for it")
    func rule() throws {
        for workload in Workload.all {
            guard let beside = workload.beside else { continue }
            let row = try #require(Workload.named(beside))
            #expect(row.isHeadline && row.family == workload.family, "\(workload.id)")
        }
    }
}
