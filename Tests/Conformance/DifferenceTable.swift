import Foundation
import Testing

extension Conformance {
    @Suite("The table of differences")
    struct DifferenceTable {
        private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

        /// The first cells of the rows of docs/differences.md.
        private func rows() throws -> [String] {
            let page = Self.tests.deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("docs/differences.md")
            return try String(contentsOf: page, encoding: .utf8).split(separator: "\n").compactMap { line in
                guard line.hasPrefix("| `") else { return nil }
                return line.dropFirst(3).split(separator: "`").first.map(String.init)
            }
        }

        @Test("has one row for each difference that a scenario may expect")
        func rowsMatch() throws {
            #expect(try rows().sorted() == Difference.allCases.map(\.rawValue).sorted())
        }

        @Test("has no row that no scenario expects", arguments: Difference.allCases)
        func used(difference: Difference) throws {
            let files = try FileManager.default.subpathsOfDirectory(atPath: Self.tests.path)
                .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("Difference.swift") }
            let sources = try files.map {
                try String(contentsOf: Self.tests.appendingPathComponent($0), encoding: .utf8)
            }
            let uses = sources.map { source in
                source.replacing(" ", with: "").replacing("\n", with: "")
                    .matches(of: /(?:expects\(|differs:)\.(\w+)/).count { $0.1 == difference.rawValue }
            }
            #expect(uses.reduce(0, +) >= 1)
        }
    }
}
