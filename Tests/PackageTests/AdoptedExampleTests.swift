#if CLI
import Foundation
import Testing

/// The program of Examples/adopted on stock Dispatch, and moved over by what `overdrive adopt` writes.
@Suite("The adopted example", .serialized)
struct AdoptedExampleTests {
    private let example = ClientTests.package.appendingPathComponent("Examples/adopted")

    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = ClientTests.package
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) \(arguments): \(output)")
        return output
    }

    /// The program's lines, and on which queue they were made.
    private func answers(of copy: URL) throws -> (queue: String, words: [Substring]) {
        let files = ClientTests.package.appendingPathComponent("Sources/Overdrive").path
        let output = try run("swift", ["run", "--package-path", copy.path, "wordcount", files])
        let lines = output.split(separator: "\n")
        let first = try #require(lines.lastIndex { $0.contains(" files on ") })
        return (String(lines[first]), Array(lines[(first + 1)...]))
    }

    @Test("builds, runs and says the same on stock Dispatch and on Overdrive, and comes back as it was")
    func adopted() throws {
        // The command is this build's own.
        let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let command = try #require(
            [build.appendingPathComponent("overdrive"), ClientTests.package.appendingPathComponent(".build/debug/overdrive")]
                .first { FileManager.default.isExecutableFile(atPath: $0.path) })
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("wordcount-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: copy) }
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        for item in ["Package.swift", "Sources"] {
            try FileManager.default.copyItem(
                at: example.appendingPathComponent(item), to: copy.appendingPathComponent(item))
        }
        let stock = try answers(of: copy)
        _ = try run(command.path, ["adopt", copy.path, "--from", ClientTests.package.path, "--no-build"])
        let adopted = try answers(of: copy)
        #expect(stock.words.count == 10)
        #expect(adopted.words == stock.words)
        #expect(adopted.queue == stock.queue)
        _ = try run(command.path, ["adopt", copy.path, "--undo"])
        let difference = try run(
            "diff", ["-r", "--exclude=.build", "--exclude=Package.resolved", "--exclude=README.md", example.path, copy.path])
        #expect(difference == "")
    }
}
#endif
