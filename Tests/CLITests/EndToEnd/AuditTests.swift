#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive checksum --audit, --json and --algorithm")
struct AuditTests {
    private let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func overdrive(_ arguments: [String], in tree: TemporaryTree) throws -> Command.Outcome {
        try tree.overdrive(["checksum"] + arguments).run()
    }

    @Test("--audit names what is changed, extra, missing, moved and unreadable, and nothing else", arguments: ["sha256", "sha512", "xxh3"])
    func audit(algorithm: String) throws {
        let tree = try TemporaryTree.odd()
        for name in ["same", "changed", "gone", "old", "twin1", "twin2"] { try tree.write(name, name == "twin2" ? "twin1" : name) }
        let list = "\(tree.path)-list"
        try #require(try tree.shell("\(Command.overdrivePath) checksum --algorithm \(algorithm) . >'\(list)'").status == 0)
        #expect(try overdrive(["--audit", list, "."], in: tree).text == "")
        #expect(try overdrive(["--audit", list, "."], in: tree).status == 0)

        try tree.write("changed", "other")
        try tree.write("extra", "extra")
        unlink("\(tree.path)/gone")
        rename("\(tree.path)/old", "\(tree.path)/new\n name")
        // One of two with the same content has moved, the other one is where it was.
        rename("\(tree.path)/twin1", "\(tree.path)/twin3")
        let outcome = try overdrive(["--audit", list, "."], in: tree)
        #expect(
            outcome.lines == [
                "changed: ./changed", "extra: ./extra", "missing: ./gone", "moved: ./old -> ./new\\012 name",
                "moved: ./twin1 -> ./twin3",
            ], "\(outcome.text) \(outcome.errors)")
        #expect(outcome.status == 1)
        let json = try overdrive(["--audit", list, "--json", "."], in: tree)
        #expect(json.lines[3] == #"{"path":"./new\n name","before":"./old","result":"moved"}"#)
        _ = try tree.shell("echo nonsense >>'\(list)'")
        let unreadable = try overdrive(["--audit", list, ".", "/proc/self/mem"], in: tree)
        #expect(unreadable.errors.contains("overdrive: WARNING: 1 lines of the list are improperly formatted\n"))
        #expect(unreadable.lines.last == "unreadable: /proc/self/mem")
        #expect(unreadable.status == 1)
    }

    @Test("--json has an escape for each control character")
    func controls() {
        var line = Bytes()
        JSONLine.verdict("x", of: [0x1b, 1, 10], to: &line)
        #expect(line == Bytes(ascii: #"{"path":"\u001b\u0001\n","result":"x"}"# + "\n"))
    }

    @Test("--audit calls what is in a directory that cannot be read unreadable, and neither missing nor moved")
    func closedDirectory() throws {
        let digest = { (digit: Character) in String(repeating: digit, count: 64) }
        try tree.write("list", "\(digest("1"))  dir/in/a\n\(digest("2"))  dirb\n\(digest("3"))  x1\n\(digest("3"))  x2\n")
        var audit = try Audit(
            LineReader(descriptor: open("\(tree.path)/list", O_RDONLY | O_CLOEXEC)), named: "list")
        audit.fail(Failure(path: Bytes(ascii: "dir/"), number: EACCES))
        audit.meet(try #require(ChecksumLine(Bytes(ascii: "\(digest("1"))  new")[...])))
        audit.meet(try #require(ChecksumLine(Bytes(ascii: "\(digest("3"))  x3")[...])))  // of two alike the first has moved
        let found = audit.differences().map { "\($0.kind) \(String(decoding: $0.name, as: UTF8.self))" }
        #expect(found == ["unreadable dir/", "unreadable dir/in/a", "missing dirb", "extra new", "missing x2", "moved x3"])
    }

    @Test("--audit of a directory that is gone calls what was in it missing, or moved where it is found")
    func goneDirectory() throws {
        try tree.write("data/a", "a")
        try tree.write("list", try overdrive(["data"], in: tree).text)
        rename("\(tree.path)/data", "\(tree.path)/new")
        #expect(try overdrive(["--audit", "list", "data"], in: tree).lines == ["unreadable: data", "missing: data/a"])
        #expect(
            try overdrive(["--audit", "list", "data", "new"], in: tree).lines
                == ["unreadable: data", "moved: data/a -> new/a"])
    }

    @Test("--audit and --journal lose none of the paths that cannot be read, however many")
    func manyFailures() throws {
        let names = (0..<10_002).map { "none\($0)" }
        try tree.write("paths", names.map { $0 + "\0" }.joined())
        try tree.write("list", names.map { String(repeating: "0", count: 64) + "  \($0)\n" }.joined())
        let audit = try overdrive(["--audit", "list", "--files0-from", "paths"], in: tree)
        #expect(audit.lines.count == 10_002 && audit.lines.allSatisfy { $0.hasPrefix("unreadable: none") })
        let journal = try overdrive(["--journal", "j", "--files0-from", "paths"], in: tree)
        #expect(journal.errorLines.last?.contains("10,002 could not be read") == true, "\(journal.errors.suffix(200))")
        #expect(journal.status == 1)
    }

    @Test("--audit of a list that is none, or of two kinds, is one sentence")
    func refusals() throws {
        try tree.write("empty", "# nothing\n")
        try tree.write("mixed", String(repeating: "0", count: 64) + "  a\n" + String(repeating: "0", count: 128) + "  b\n")
        for (arguments, status) in [
            (["--audit", "empty", "."], 65), (["--audit", "mixed", "."], 65), (["--audit", "none", "."], 66),
            (["--audit", "empty", "--check", "empty"], 64), (["--check", "empty", "--algorithm", "xxh3"], 64),
            (["--algorithm", "md5", "."], 64), (["--audit", "empty"], 64),
            (["--files0-from", "none"], 66), (["--files0-from", "."], 66),
        ] as [([String], Int32)] {
            try overdrive(arguments, in: tree).expectRefusal(status, of: arguments)
        }
    }

    @Test("sha512 is that of sha512sum, byte for byte, and is checked by it and by ours")
    func sha512() throws {
        let tree = try TemporaryTree.odd()
        let ours = try overdrive(["--algorithm", "sha512", "."], in: tree)
        let theirs = try tree.shell("find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha512sum")
        #expect(ours.output == theirs.output)
        let script = "\(Command.overdrivePath) checksum --algorithm sha512 . | "
        #expect(try tree.shell(script + "sha512sum --quiet --check -").status == 0)
        #expect(try tree.shell(script + "\(Command.overdrivePath) checksum --quiet --check -").status == 0)
    }

    @Test("xxh3 has the digests of the library's own description, and is checked line by line beside the others")
    func xxh3() throws {
        try tree.write("empty", "")
        try tree.write("line", "hi\n")
        try tree.write("large", String(repeating: "7", count: 1_000_000))
        let ours = try overdrive(["--algorithm", "xxh3", "empty", "line"], in: tree)
        // Of nothing: the value that every port of XXH3 tests first. Of "hi\n": xxhsum -H3.
        #expect(ours.lines == ["XXH3 (empty) = 2d06800538d394c2", "XXH3 (line) = b34d1a3ab2bece70"])
        let ourselves = Command.overdrivePath
        let list = "\(tree.path)-list"
        let mixed = try tree.shell(
            """
            { \(ourselves) checksum --algorithm xxh3 .; \(ourselves) checksum large
              \(ourselves) checksum --algorithm sha512 large; } >'\(list)'; \(ourselves) checksum --check '\(list)'
            """)
        #expect(
            mixed.lines == ["./empty: OK", "./large: OK", "./line: OK", "large: OK", "large: OK"], "\(mixed.errors)")
        try tree.write("large", String(repeating: "8", count: 1_000_000))
        let changed = try overdrive(["--check", list], in: tree)
        #expect(changed.lines.filter { $0.hasSuffix("FAILED") }.count == 3)
        if try tree.shell("command -v xxhsum").status == 0 {
            #expect(try tree.shell("\(ourselves) checksum --algorithm xxh3 . | xxhsum --check -").status == 0)
        }
    }

    @Test("--json is an object on each line, in order, with errors among them and names of any bytes")
    func json() throws {
        try tree.write("a\"\\\n\u{1}ü".utf8.map { $0 }, Array("x".utf8))
        try tree.write([0x62, 0xff], Array("x".utf8))
        let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        let expected = [
            #"{"path":"./a\"\\\n\u0001ü","algorithm":"sha256","digest":"\#(digest)"}"#,
            #"{"path":"./b\#u{FFFD}","path_hex":"2e2f62ff","algorithm":"sha256","digest":"\#(digest)"}"#,
            #"{"path":"/proc/self/mem","error":"Input/output error"}"#,
        ]
        let outcome = try overdrive(["--json", ".", "/proc/self/mem"], in: tree)
        #expect(outcome.lines == expected)
        #expect(outcome.status == 1)
        // A journal keeps the same lines, in shards and merged too.
        let journal = "\(tree.path)-journal"
        let kept = try overdrive(["--json", "--journal", journal, ".", "/proc/self/mem"], in: tree)
        #expect(kept.lines == expected)
        #expect(try Command.overdrive(["merge", journal]).run().lines == expected)
        #expect(try overdrive(["--journal", journal, ".", "/proc/self/mem"], in: tree).status == 65)
        let check = try tree.shell("\(Command.overdrivePath) checksum . | \(Command.overdrivePath) checksum --json --check -")
        #expect(check.lines.last == #"{"path":"./b\#u{FFFD}","path_hex":"2e2f62ff","result":"OK"}"#, "\(check.errors)")
    }

    @Test("a cache is of one algorithm, and says so")
    func cache() throws {
        try tree.write("a", "x")
        let cache = "\(tree.path)-cache"
        for algorithm in ["xxh3", "xxh3"] {
            #expect(try overdrive(["--algorithm", algorithm, "--cache", cache, "."], in: tree).lines.count == 1)
        }
        let other = try overdrive(["--cache", cache, "."], in: tree)
        #expect(other.status == 65)
        #expect(other.errorLines == ["overdrive: \(cache): the cache has xxh3 digests, not sha256: name another file"])
    }
}
#endif
