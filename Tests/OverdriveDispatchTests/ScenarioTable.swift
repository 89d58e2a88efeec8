import Foundation
import Testing

extension DropIn {
    @Suite("The table of scenarios")
    struct ScenarioTable {
        @Test("names tests that are there, and every scenario that is")
        func rowsMatch() throws {
            let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            let page = here.appendingPathComponent("README.md")
            let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
            let named = Set(rows.flatMap { $0.split(separator: "|")[1].matches(of: /`(\w+\.\w+)`/).map { String($0.1) } })
            var there: Set<String> = []
            for file in try FileManager.default.contentsOfDirectory(atPath: here.path) where file.hasSuffix(".swift") {
                let text = try String(contentsOf: here.appendingPathComponent(file), encoding: .utf8)
                var suite = ""
                for line in text.split(separator: "\n") {
                    if let found = line.firstMatch(of: /^ {4}struct (\w+)/) { suite = String(found.1) }
                    if let found = line.firstMatch(of: /^ {8}func (\w+)/) { there.insert("\(suite).\(found.1)") }
                }
            }
            #expect(rows.count > 50)
            #expect(named.subtracting(there) == [])
            let scenarios = there.filter { $0.contains("Scenarios.") }
            #expect(scenarios.subtracting(named) == [])
        }
    }
}
