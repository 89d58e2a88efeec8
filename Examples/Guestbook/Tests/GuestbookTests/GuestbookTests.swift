import Foundation
import Testing

/// The guestbook as a process, from its start to its end.
@Suite("The guestbook", .serialized)
struct GuestbookTests {
    @Test("boots, serves, hears signals, and ends in order at Ctrl-C")
    func life() throws {
        let book = try Guestbook()
        defer { book.remove() }
        try Data("Hello there\n".utf8).write(to: book.folder.appendingPathComponent("motd.txt"))
        try book.start("--explain", book.folder.appendingPathComponent("boot").path)
        let port = try #require(book.port())
        #expect(try book.curl("http://127.0.0.1:\(port)/") == "Hello there\n")
        #expect(try book.curl("-d", "first", "http://127.0.0.1:\(port)/") == "thank you\n")
        #expect(try book.curl("http://127.0.0.1:\(port)/") == "Hello there\n1: first\n")
        kill(book.process.processIdentifier, SIGUSR1)
        #expect(book.says("guestbook: 2 requests served"))
        try Data("Good night\n".utf8).write(to: book.folder.appendingPathComponent("motd.txt"))
        kill(book.process.processIdentifier, SIGHUP)
        #expect(book.says("guestbook: the message of the day is \"Good night\""))
        kill(book.process.processIdentifier, SIGINT)
        book.process.waitUntilExit()
        #expect(book.process.terminationStatus == 0)
        #expect(book.output.hasSuffix("guestbook: the server has answered everybody\nguestbook: the journal has 1 entries\n"))
        let table = try String(contentsOf: book.folder.appendingPathComponent("boot/boot.txt"), encoding: .utf8)
        #expect(table.contains("The critical path (*): journal"))
        #expect(try String(contentsOf: book.folder.appendingPathComponent("entries.txt"), encoding: .utf8) == "1: first\n")
    }

    @Test("ends a boot in order while the migration runs")
    func duringMigration() throws {
        let book = try Guestbook()
        defer { book.remove() }
        try book.start("--migration-seconds", "600")
        // The journal has been opened when its file is there.
        #expect(book.eventually { FileManager.default.fileExists(atPath: book.folder.appendingPathComponent("entries.txt").path) })
        Thread.sleep(forTimeInterval: 0.2)
        kill(book.process.processIdentifier, SIGTERM)
        book.process.waitUntilExit()
        #expect(book.process.terminationStatus == 0)
        #expect(book.output == "guestbook: the journal has 0 entries\n")
    }

    @Test("says what is wrong with a port that is taken, and exits with 1")
    func portTaken() throws {
        let (first, second) = (try Guestbook(), try Guestbook())
        defer { first.remove(); second.remove() }
        try first.start()
        let port = try #require(first.port())
        try second.start("--port", "\(port)")
        second.process.waitUntilExit()
        #expect(second.process.terminationStatus == 1)
        #expect(second.output.contains("overdrive: the boot failed: \"server\" failed: could not listen on port \(port)"))
        #expect(second.output.contains("guestbook: the journal has 0 entries"))
        kill(first.process.processIdentifier, SIGTERM)
        first.process.waitUntilExit()
        #expect(first.process.terminationStatus == 0)
    }
}

/// One under test, in a folder of its own.
private final class Guestbook {
    let folder: URL
    let process = Process()
    private let log: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("guestbook-\(UUID().uuidString)")
        log = folder.appendingPathComponent("output")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func start(_ arguments: String...) throws {
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let output = try FileHandle(forWritingTo: log)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent("guestbook")
        let own = arguments.contains("--migration-seconds") ? [] : ["--migration-seconds", "0.05"]
        let port = arguments.contains("--port") ? [] : ["--port", "0"]
        process.arguments = ["--folder", folder.path] + own + port + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
    }

    var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    func eventually(_ condition: () -> Bool) -> Bool {
        for _ in 0..<6000 {
            if condition() { return true }
            Thread.sleep(forTimeInterval: 0.01)
        }
        return false
    }

    func says(_ line: String) -> Bool { eventually { output.contains(line + "\n") } }

    func port() -> Int? {
        guard eventually({ output.contains("Ctrl-C ends it") }) else { return nil }
        return output.components(separatedBy: "ready on port ").last?.split(separator: ";").first.flatMap { Int($0) }
    }

    func curl(_ arguments: String...) throws -> String {
        let curl = Process()
        let pipe = Pipe()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        curl.arguments = ["curl", "-s", "--max-time", "30"] + arguments
        curl.standardOutput = pipe
        try curl.run()
        let answer = try pipe.fileHandleForReading.readToEnd() ?? Data()
        curl.waitUntilExit()
        return String(decoding: answer, as: UTF8.self)
    }

    func remove() {
        if process.isRunning { process.terminate() }
        try? FileManager.default.removeItem(at: folder)
    }
}
