import Foundation
import Testing

/// What a file that imports Overdrive must not write of Swift Concurrency's `Task`, and what it is told.
@Suite("Names that would change their meaning", .serialized)
struct NameTests {
    @Test(
        "are refused with a sentence that says what to write",
        arguments: [
            ("Task { await work() }", "write AsyncTask { … } for Swift's task"),
            ("Task(priority: .high) { await work() }", "write AsyncTask { … } for Swift's task"),
            ("Task.detached { await work() }", "write AsyncTask.detached { … }"),
            ("Task.immediate { await work() }", "write AsyncTask.immediate { … }"),
        ])
    func refused(code: String, sentence: String) throws {
        let output = try typecheck("import Overdrive\nfunc work() async {}\nfunc f() { _ = \(code) }\n")
        #expect(output.contains("unavailable") && output.contains(sentence), "\(output)")
    }

    @Test("are not refused where OverdriveCore alone is imported")
    func accepted() throws {
        let output = try typecheck("import OverdriveCore\nfunc work() async {}\nfunc f() { Task { await work() } }\n")
        #expect(output == "")
    }

    /// What the compiler says of a file that uses the modules that this very test was built with.
    private func typecheck(_ source: String) throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-name-\(UUID().uuidString).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let sources = ClientTests.package.appendingPathComponent("CScheduler")
        process.arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-I", products.appendingPathComponent("Modules").path,
            "-Xcc", "-fmodule-map-file=\(sources.path)/include/module.modulemap",
            "-Xcc", "-I\(sources.path)/include", file.path,
        ]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
