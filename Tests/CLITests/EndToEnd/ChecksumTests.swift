#if CLI
import Glibc
import TestSupport
import Testing

@testable import overdrive_cli

@Suite("overdrive checksum")
struct ChecksumTests {
    static let engines = EngineName.allCases.map(\.rawValue)

    /// What `find` and `sha256sum` say of the same path.
    private func expected(_ path: String, in directory: String? = nil) throws -> [UInt8] {
        var command = Command(
            "bash", ["-c", "find \"$0\" -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum --", path])
        command.directory = directory
        return try command.run().output
    }

    @Test("prints what sha256sum prints, in order of path", arguments: engines)
    func sameAsSha256sum(engine: String) throws {
        let tree = try TemporaryTree.odd()
        let outcome = try Command.overdrive(["checksum", "--engine", engine, tree.path]).run()
        #expect(outcome.output == (try expected(tree.path)))
        #expect(outcome.errors == "")
        #expect(outcome.status == 0)
    }

    @Test(
        "names files as find names them", arguments: [".", "a", "a/", "a//", "a/.", "./a", "loop/", "-dash"])
    func names(path: String) throws {
        let tree = try TemporaryTree.odd()
        let outcome = try tree.overdrive(["checksum", "--", path]).run()
        let find = path == "-dash" ? "./-dash" : path
        let expected = try expected(find, in: tree.path)
        #expect(outcome.output == (path == "-dash" ? expected.filter { $0 != 46 && $0 != 47 } : expected))
        #expect(outcome.status == 0)
    }

    @Test("takes paths that are not UTF-8")
    func bytes() throws {
        let tree = try TemporaryTree.odd()
        var command = Command.overdrive(["checksum"])
        command.arguments.append(Array(tree.path.utf8) + [UInt8(ascii: "/"), 0xff, 0xfe])
        let outcome = try command.run()
        #expect(outcome.output.count { $0 == 10 } == 1)
        #expect(outcome.output.contains(0xff))
        #expect(outcome.status == 0)
    }

    @Test("prints the same whatever the number of jobs", arguments: ["1", "2", "3", "64"])
    func jobs(jobs: String) throws {
        let tree = try TemporaryTree.odd()
        let outcome = try Command.overdrive(["checksum", "--jobs", jobs, tree.path]).run()
        #expect(outcome.output == (try expected(tree.path)))
    }

    @Test("reads files deeper than any path may be long")
    func longPaths() throws {
        let tree = try TemporaryTree()
        let name = String(repeating: "n", count: 250)
        let script =
            "cd '\(tree.path)' && for i in $(seq 40); do mkdir \(name) && cd \(name) || exit 1; done; printf deep > f"
        try #require(try Command("bash", ["-c", script]).run().status == 0)
        let outcome = try Command.overdrive(["checksum", tree.path]).run()
        let digest = try Command("bash", ["-c", "printf deep | sha256sum"]).run().text.prefix(64)
        #expect(outcome.text.hasPrefix("\(digest)  \(tree.path)/nnn"))
        #expect(outcome.text.utf8.count == 66 + tree.path.utf8.count + 40 * 251 + 3)
        #expect(outcome.status == 0)
    }

    @Test("does all else and reports at the end what it cannot read")
    func unreadable() throws {
        let tree = try TemporaryTree.odd()
        // Nobody reads these, not even root: the first is gone, the second fails at its first byte.
        let outcome = try Command.overdrive(["checksum", "/nonexistent", "/proc/self/mem", tree.path]).run()
        #expect(outcome.output == (try expected(tree.path)))
        #expect(
            outcome.errorLines == [
                "overdrive: /nonexistent: No such file or directory",
                "overdrive: /proc/self/mem: Input/output error",
                "overdrive: 2 could not be read",
            ])
        #expect(outcome.status == 1)
    }

    @Test("reports files and directories without permission")
    func permission() throws {
        let tree = try TemporaryTree()
        try tree.write("closed/file", "x")
        try tree.write("file", "x")
        try tree.write("open", "x")
        chmod("\(tree.path)/closed", 0)
        chmod("\(tree.path)/file", 0)
        chmod(tree.path, 0o755)
        var command = Command.overdrive(["checksum", tree.path])
        let copy = "\(tree.path)-overdrive"
        if getuid() == 0 {
            // Root may read all: be nobody, with the program where nobody finds it.
            _ = try Command("cp", [command.program, copy]).run()
            command = Command("setpriv", ["--reuid", "65534", "--clear-groups", copy, "checksum", tree.path])
        }
        mkdir("\(tree.path)-journal", 0o777)
        chmod("\(tree.path)-journal", 0o777)
        for options in [[], ["--journal", "\(tree.path)-journal/j"]] {
            command.arguments += options.map { Array($0.utf8) }
            let outcome = try command.run()
            #expect(outcome.lines.map { String($0.dropFirst(66)) } == ["\(tree.path)/open"])
            #expect(
                outcome.errorLines.map { $0.replacing("closed/:", with: "closed:") } == [
                    "overdrive: \(tree.path)/closed: Permission denied",
                    "overdrive: \(tree.path)/file: Permission denied",
                    "overdrive: 2 could not be read",
                ])
            #expect(outcome.status == 1)
        }
    }

    @Test("a link to a directory that is named fails with a sentence, and prints nothing")
    func namedLink() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try Command.overdrive(["checksum", "\(tree.path)/link to directory"]).run()
        #expect(outcome.output == [])
        #expect(outcome.errors.contains("symbolic link to a directory, not followed"))
        #expect(outcome.status == 1)
    }

    @Test("reads a link to a file that is named, as sha256sum does")
    func namedLinkToFile() throws {
        let tree = try TemporaryTree.odd()
        let link = "\(tree.path)/link to file"
        let outcome = try Command.overdrive(["checksum", link]).run()
        #expect(outcome.output == (try Command("sha256sum", [link]).run().output))
        #expect(outcome.errors == "")
        #expect(outcome.status == 0)
        // Beside the directory that it is in, too, where the walk passes over it.
        let both = try Command.overdrive(["checksum", tree.path, link]).run()
        #expect(both.lines.count { $0.hasSuffix("link to file") } == 1)
    }

    @Test(
        "says what is wrong with a named link that leads nowhere, a FIFO and a device",
        arguments: [("dangling", "No such file"), ("pipe", "not a regular file"), ("/dev/null", "not a regular file")])
    func namedSpecialFile(name: String, sentence: String) throws {
        let tree = try TemporaryTree.odd()
        let outcome = try tree.overdrive(["checksum", name, "plain"]).run()
        #expect(outcome.errors.hasPrefix("overdrive: \(name): \(sentence)"), "\(outcome.errors)")
        #expect(outcome.lines.count == 1)
        #expect(outcome.status == 1)
    }

    @Test("sums standard input under the name -, among other files and in a list to check")
    func standardInput() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try tree.overdrive(["checksum", "plain", "-", "a.txt"], input: "with space").run()
        #expect(outcome.output == (try tree.shell("sha256sum - a.txt plain <'with space'").output))

        try tree.write("list".utf8.map { $0 }, outcome.output)
        let check = try tree.overdrive(["checksum", "--check", "list"], input: "with space").run()
        #expect(check.lines == ["-: OK", "a.txt: OK", "plain: OK"])
    }

    @Test("sums what a pipe brings, also one that does not wait")
    func pipedInput() throws {
        let sum = try Command("bash", ["-c", "printf onetwo | sha256sum -"]).run().text
        for flags in [0, O_NONBLOCK] {
            let ends = try Scratch.pipe()
            _ = fcntl(ends.reading, F_SETFL, flags)
            var command = Command.overdrive(["checksum", "-"])
            command.input = .descriptor(ends.reading)
            let running = try command.start()
            if flags == O_NONBLOCK {
                // The main thread and who reads, which has found nothing.
                #expect(eventually { running.pollingThreads >= 2 })
            }
            _ = write(ends.writing, "one", 3)
            var left: Int32 = 1
            #expect(eventually { ioctl(ends.reading, UInt(FIONREAD), &left) == 0 && left == 0 })
            close(ends.reading)
            _ = write(ends.writing, "two", 3)
            close(ends.writing)
            #expect(try running.wait().text == sum)
        }
    }

    @Test("survives a tree that goes away meanwhile", arguments: engines)
    func vanishing(engine: String) throws {
        let tree = try TemporaryTree()
        for directory in 0..<40 {
            for file in 0..<50 { try tree.write("d\(directory)/f\(file)", "x") }
        }
        let running = try Command.overdrive(["checksum", "--engine", engine, tree.path]).start()
        _ = try Command("rm", ["-rf", tree.path]).run()
        let outcome = try running.wait()
        #expect(outcome.status == 0 || outcome.status == 1)
        #expect(outcome.lines == outcome.lines.sorted { $0.dropFirst(66) < $1.dropFirst(66) })
        for line in outcome.errorLines.dropLast() { #expect(line.hasSuffix("No such file or directory")) }
    }

    @Test("prints the engine's figures on request", arguments: engines)
    func statistics(engine: String) throws {
        let tree = try TemporaryTree.odd()
        let outcome = try Command.overdrive(["checksum", "--stats", "--engine", engine, tree.path]).run()
        let figures = Dictionary(
            outcome.errorLines.map { ($0.prefix(24).trimmed, String($0.dropFirst(24))) },
            uniquingKeysWith: { $1 })
        #expect(figures["engine"] == engine)
        #expect(figures["files"] == "\(outcome.lines.count)")
        #expect(figures["rate"]?.hasSuffix("/s") == true)
        #expect(outcome.status == 0)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        split(separator: " ").joined(separator: " ")
    }
}
#endif
