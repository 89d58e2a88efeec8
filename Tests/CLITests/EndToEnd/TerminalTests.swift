#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("At a terminal", .serialized)
struct TerminalTests {
    /// Files without a byte on the disk, but with enough of them to read for a long while.
    private func endlessTree() throws -> TemporaryTree {
        let tree = try TemporaryTree()
        for number in 0..<4 {
            try tree.write("file \(number)")
            try #require(truncate("\(tree.path)/file \(number)", 1 << 37) == 0)
        }
        try tree.write("a small one", "x")
        return tree
    }

    @Test("Ctrl-C stops within 100 ms, with a summary and code 130", arguments: ChecksumTests.engines)
    func interrupt(engine: String) throws {
        let tree = try endlessTree()
        try interrupted(within: 0.1, ["--engine", engine], tree, summary: "overdrive: interrupted: 1 files, ") {
            $0.lines.map { String($0.dropFirst(66)) } == ["\(tree.path)/a small one"]
        }
    }

    @Test("Ctrl-C stops a run whose reader has stopped reading, and so do the other signals that ask for an end", arguments: [SIGINT, SIGTERM, SIGHUP])
    func interruptBlocked(signal: Int32) throws {
        let ends = try Scratch.pipe()
        let tree = try TemporaryTree()
        for number in 0..<3000 {
            try tree.write("file with a rather long name, so that a pipe is soon full \(number)")
        }
        defer {
            close(ends.reading)
            close(ends.writing)
        }
        try interrupted(
            within: 1, by: signal, [], tree, output: .descriptor(ends.writing), summary: "overdrive: interrupted: 3,000 files, ")
    }

    /// Interrupts a run of `checksum`, and once more and later where a full machine had not let it come so far.
    private func interrupted(
        within limit: Double, by signal: Int32 = SIGINT, _ options: [String], _ tree: TemporaryTree, output: Command.Stream = .captured,
        summary: String, printed: (Command.Outcome) -> Bool = { _ in true }
    ) throws {
        var command = Command.overdrive(["checksum"] + options + [tree.path])
        command.output = output
        var outcome = Command.Outcome(output: [], errors: "", status: 0, seconds: 0)
        for delay in [0.4, 0.4, 1, 2, 4, 8] {
            let running = try command.start()
            usleep(UInt32(delay * 1e6))
            let before = running.seconds
            running.send(signal)
            outcome = try running.wait()
            #expect(outcome.status == 130)
            #expect(outcome.errorLines.count <= 1, "\(outcome.errors)")
            if outcome.seconds - before <= limit, outcome.errors.hasPrefix(summary), printed(outcome) { return }
        }
        Issue.record("not once in \(limit) s with the summary: \(outcome)")
    }

    @Test("Ctrl-C is left alone when it was ignored from the start, as in a script's background")
    func ignoredInterrupt() throws {
        let tree = try TemporaryTree()
        try tree.write("file")
        try #require(truncate("\(tree.path)/file", 2 << 30) == 0)
        let program = Command.overdrivePath
        let running = try Command(
            "sh", ["-c", "trap '' INT; exec \"$0\" checksum \"$1\"", program, tree.path]
        ).start()
        usleep(200_000)
        running.send(SIGINT)
        let outcome = try running.wait()
        #expect(outcome.status == 0)
        #expect(outcome.lines.count == 1)
    }

    @Test("a bar shows how far the job is, and goes when it ends")
    func bar() throws {
        let tree = try TemporaryTree()
        for number in 0..<6 {
            try tree.write("file \(number)")
            try #require(truncate("\(tree.path)/file \(number)", 200 << 20) == 0)
        }
        let terminal = try Terminal()
        var command = Command.overdrive(["checksum", tree.path])
        command.errors = .descriptor(terminal.program)
        let outcome = try command.run()
        let shown = terminal.shown()
        #expect(outcome.lines.count == 6)
        #expect(outcome.status == 0)
        #expect(shown.contains("\r\u{1B}[K"))
        #expect(shown.contains("%"))
        #expect(shown.contains("["))
        #expect(shown.contains("/s"))
        let last = shown.split(separator: "\r\u{1B}[K").last ?? ""
        #expect(last.hasPrefix("6 files, 1.3 GB in "), "\(last)")
        for line in shown.split(separator: "\r\u{1B}[K") { #expect(line.count <= 80) }
    }

    @Test("a bar shows how far a batch is and what has failed, and goes when it ends")
    func batchBar() throws {
        let (tree, terminal) = (try TemporaryTree(), try Terminal())
        let script = "[ $0 != 2 ] || until [ -e go ]; do sleep 0.02; done; exit $(($0 % 2))"
        var command = tree.overdrive(["run", "--jobs", "1", "--", "sh", "-c", script, ":::", "0", "1", "2"])
        command.errors = .descriptor(terminal.program)
        let running = try command.start()
        var shown = ""
        while !shown.contains("2 of 3  "), running.seconds < 50 {
            usleep(10_000)
            shown += terminal.shown()
        }
        try tree.write("go")
        #expect(try running.wait().status == 1)
        shown += terminal.shown()
        let lines = shown.split(separator: "\r\u{1B}[K")
        #expect(lines.contains { $0.hasPrefix("2 of 3  ") && $0.contains("  1 failed  [####") && $0.contains("]  66 %") }, "\(shown)")
        #expect(shown.hasSuffix("\r\u{1B}[K"))
    }

    /// The one worker waits for what the pipe brings, and has no spare: the pool says that it stands still.
    @Test("a warning has a line of its own beside the bar")
    func warningBesideBar() throws {
        let (tree, terminal) = (try TemporaryTree(), try Terminal())
        for number in 0..<3 { try tree.write("file \(number)") }
        let ends = try Scratch.pipe()
        var command = Command.overdrive(["checksum", "-", tree.path])
        command.input = .descriptor(ends.reading)
        command.errors = .descriptor(terminal.program)
        command.environment = ["OVERDRIVE_WORKERS=1", "OVERDRIVE_SPARES=0"]
        let running = try command.start()
        close(ends.reading)
        var shown = ""
        // The bar says "counting" or, where the files are counted before it first shows, how many of a hundred are done.
        func isBar(_ line: Substring) -> Bool { line.contains("counting") || line.contains(" %") }
        for _ in 0..<400 where !shown.contains("is stuck") || !isBar(shown[...]) {
            usleep(50_000)
            shown += terminal.shown()
        }
        close(ends.writing)
        #expect(try running.wait().status == 0)
        let lines = shown.split(separator: "\r\u{1B}[K")
        #expect(lines.contains { $0.hasPrefix("overdrive: pool") && $0.contains("is stuck") }, "\(shown)")
        #expect(lines.contains(where: isBar))
    }

    @Test("no bar is shown when none is wanted")
    func noBar() throws {
        let terminal = try Terminal()
        var command = Command.overdrive(["checksum", "--no-progress", "/etc/hostname"])
        command.errors = .descriptor(terminal.program)
        #expect(try command.run().status == 0)
        #expect(terminal.shown() == "")
    }
}

/// A terminal, 80 columns wide, whose other end we hold.
final class Terminal {
    let program: Int32
    private let user: Int32

    init() throws {
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
        user = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        try #require(user >= 0)
        var lock: Int32 = 0
        var number: UInt32 = 0
        try #require(ioctl(user, setLock, &lock) == 0 && ioctl(user, getNumber, &number) == 0)
        program = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(program >= 0)
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(program, UInt(TIOCSWINSZ), &size) == 0)
    }

    deinit {
        close(user)
        close(program)
    }

    /// All that was written to it so far, if that is not more than a terminal keeps.
    func shown() -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(user, &piece, piece.count)
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif
