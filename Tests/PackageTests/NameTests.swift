import Foundation
import Testing

/// What a file that imports Overdrive must not write of Swift Concurrency's `Task`, and what it is told.
@Suite("Names that would change their meaning", .serialized)
struct NameTests {
    @Test(
        "are refused with a sentence that says what to write",
        arguments: [
            // The compiler takes this closure for the value of init(value:), and then finds that no value is one.
            ("Task { await work() }", "does not conform to the 'Sendable' protocol"),
            ("Task(priority: .high) { await work() }", "write AsyncTask { … } for Swift's task"),
            ("Task.detached { await work() }", "write AsyncTask.detached { … }"),
            ("Task.immediate { await work() }", "write AsyncTask.immediate { … }"),
        ])
    func refused(code: String, sentence: String) throws {
        let output = try typecheck("import Overdrive\nfunc work() async {}\nfunc f() { _ = \(code) }\n")
        #expect(output.contains("error: ") && output.contains(sentence), "\(output)")
    }

    @Test("are not refused where OverdriveCore alone is imported")
    func accepted() throws {
        let output = try typecheck("import OverdriveCore\nfunc work() async {}\nfunc f() { Task { await work() } }\n")
        #expect(output == "")
    }

    private func typecheck(_ source: String) throws -> String {
        try Typecheck.errors(in: source)
    }
}
