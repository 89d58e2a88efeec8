import Foundation
import Testing

@testable import SuiteKit

@Suite struct TableTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL.path

    @Test("the README and docs/benchmarks/table.md have the figures of the stored result: scripts/bench-store")
    func pages() throws {
        let results = try Results(contentsOf: "\(root)/docs/benchmarks/result.json")
        let table = Table(results, workers: results.fingerprint.workers.max() ?? 1)
        #expect(table.headline.split(separator: "\n").count == 2 + Table.headlines.count)
        #expect(File.read("\(root)/README.md").contains("<!-- bench-store: begin -->\n\n\(table.headline)\n<!-- bench-store: end -->"))
        #expect(File.read("\(root)/docs/benchmarks/table.md").hasSuffix("\n\n" + table.brief))
    }

    /// Of each ratio of repeated.txt the words that name it, and the lowest and the highest round of both runs.
    private func repeated() -> [(words: [Substring], lowest: Double, highest: Double)] {
        File.read("\(root)/docs/benchmarks/repeated.txt").split(separator: "\n").compactMap { line in
            let ends = line.matches(of: /\(([\d.,]+)–([\d.,]+)\)/).flatMap { [$0.1, $0.2] }.compactMap { Double($0.replacing(",", with: "")) }
            guard ends.count == 4, let lowest = ends.min(), let highest = ends.max() else { return nil }
            return (line.split(separator: " "), lowest, highest)
        }
    }

    @Test("every round of both stored runs has the lower bounds that the README gives, on either queue of libdispatch")
    func claims() {
        let text = File.read("\(root)/README.md").replacing("\n", with: " ")
        let claimed = text.matches(of: /([\d.]+)× (?:as long )?for `([^`]+)`/)
        #expect(claimed.count == 3)
        for claim in claimed {
            let lowest = repeated().filter { $0.words[0] == claim.2 && $0.words[1].hasPrefix("libdispatch") }.map(\.lowest)
            #expect(lowest.count == 2 && lowest.allSatisfy { $0 >= Double(claim.1) ?? .infinity }, "\(claim.2): \(lowest)")
        }
    }

    @Test("the README gives each loss that every round of both stored runs has, with its factor, and no other")
    func losses() throws {
        let text = File.read("\(root)/README.md")
        let begin = try #require(text.firstRange(of: "<!-- losses: begin -->"))
        let end = try #require(text.firstRange(of: "<!-- losses: end -->"))
        let given = text[begin.upperBound..<end.lowerBound].split(separator: "\n").flatMap { row -> [String] in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[0].hasPrefix("`") else { return [] }
            return cells[2].split(separator: ", ").map { "\(cells[0].dropFirst().dropLast()): \($0)" }
        }
        let found = repeated().filter { $0.highest < 0.995 && $0.words[1] != "overdrive-c" }.map { loss in
            let factor = 1 / (Double(loss.words[3].dropLast().filter { $0 != "," }) ?? 1)
            let title = Contender.all.first { $0.id == loss.words[1] }?.title ?? ""
            return "\(loss.words[0]): \(title) " + String(format: factor < 2 ? "%.2f×" : "%.1f×", factor)
        }
        #expect(!found.isEmpty && given.sorted() == found.sorted())
    }

    @Test("the README gives the cost of a closure that the stored result has")
    func bullets() throws {
        let results = try Results(contentsOf: "\(root)/docs/benchmarks/result.json")
        let words = try #require(File.read("\(root)/README.md").firstMatch(of: /costs (\d+) ns, or (\d+) ns if it captures/))
        for (workload, given) in [("spawn-outside", words.1), ("spawn-captures", words.2)] {
            let figure = results.figures.first { $0.workload == workload && $0.contender == "overdrive" }
            #expect(figure.map { "\(Int($0.time.rounded()))" } == String(given), "\(workload)")
        }
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
