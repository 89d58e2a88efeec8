import Foundation
import Testing

@testable import SuiteKit

@Suite struct TableTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL.path

    @Test("the README has the table of the stored result: scripts/bench-store")
    func readme() throws {
        let stored = "\(root)/docs/benchmarks"
        let results = try Results(contentsOf: "\(stored)/result.json")
        let apart = Comparison.apart(in: File.read("\(stored)/repeated.txt"))
        let table = Table(results, workers: results.fingerprint.workers.max() ?? 1, all: false, apart: Set(apart.keys)).brief
        #expect(File.read("\(root)/README.md").contains("<!-- bench-store: begin -->\n\n\(table)\n<!-- bench-store: end -->"))
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
