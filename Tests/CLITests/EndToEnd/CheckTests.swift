#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive checksum --check")
struct CheckTests {
    /// Runs ours and `sha256sum` on the same list, and expects the same of both.
    private func compare(_ list: String, _ options: [String] = [], in tree: TemporaryTree) throws
        -> Command.Outcome
    {
        try tree.write("LIST", list)
        let mine = try tree.overdrive(["checksum", "--check", "LIST"] + options).run()
        let reference = try tree.shell("sha256sum --check \(options.joined(separator: " ")) LIST")
        #expect(mine.output == reference.output)
        #expect(mine.status == reference.status, "\(options)")
        #expect(
            mine.errorLines.sorted()
                == reference.errorLines.map { $0.replacing("sha256sum: ", with: "overdrive: ").replacing("SHA256 checksum", with: "checksum") }.sorted())
        return mine
    }

    private static let none = String(repeating: "0", count: 64)

    private func goodList(of tree: TemporaryTree) throws -> String {
        try tree.shell("find . -type f ! -name LIST -print0 | sort -z | xargs -0 sha256sum").text
    }

    @Test("agrees with sha256sum on a list that is all right")
    func good() throws {
        let tree = try TemporaryTree()
        for name in ["a", "b/c", "with space", "back\\slash", "line\nfeed", "return\rhere", "empty"] {
            try tree.write(name, name == "empty" ? "" : name)
        }
        let list = try goodList(of: tree)
        for options in [[], ["--quiet"], ["--status"], ["--strict"]] {
            #expect(try compare(list, options, in: tree).status == 0)
        }
    }

    @Test("agrees with sha256sum on a list with everything wrong in it")
    func bad() throws {
        let tree = try TemporaryTree()
        for name in ["a", "b", "c", "line\nfeed"] { try tree.write(name, name) }
        let list =
            try goodList(of: tree) + """
                \(Self.none)  b
                \(Self.none)  missing
                \(Self.none)  /proc/self/mem
                \(Self.none)  .
                \\\(Self.none)  line\\nfeed
                # a comment

                not a line
                SHA256 (c) = \(Self.none)
                \(Self.none) *c\r
                """
        for options in [
            [], ["--quiet"], ["--status"], ["--strict"], ["--ignore-missing"], ["--warn"],
            ["--quiet", "--strict", "--ignore-missing"],
        ] {
            #expect(try compare(list, options, in: tree).status == 1)
        }
    }

    @Test("agrees with sha256sum on lists that say nothing")
    func empty() throws {
        let tree = try TemporaryTree()
        for list in ["", "\n\n", "# only this\n", "nonsense\n"] {
            #expect(try compare(list, in: tree).status == 1)
        }
        #expect(try compare("\(Self.none)  missing\n", ["--ignore-missing"], in: tree).status == 1)
        try tree.write("a", "a")
        let malformed = try goodList(of: tree) + "nonsense\n"
        #expect(try compare(malformed, in: tree).status == 0)
        #expect(try compare(malformed, ["--strict"], in: tree).status == 1)
    }

    @Test("reads a list from standard input")
    func standardInput() throws {
        let tree = try TemporaryTree()
        try tree.write("a", "a")
        try tree.write("LIST", try goodList(of: tree))
        let outcome = try tree.overdrive(["checksum", "--check", "-"], input: "LIST").run()
        #expect(outcome.text == "./a: OK\n")
        #expect(outcome.status == 0)
    }

    @Test("takes back what checksum wrote", arguments: ChecksumTests.engines)
    func ownLists(engine: String) throws {
        let tree = try TemporaryTree.odd()
        let list = try Command.overdrive(["checksum", "--engine", engine, tree.path]).run()
        try tree.write(Array("LIST".utf8), list.output)
        let check = try Command.overdrive([
            "checksum", "--engine", engine, "--quiet", "--check", "\(tree.path)/LIST",
        ]).run()
        #expect(check.output == [])
        #expect(check.errors == "")
        #expect(check.status == 0)
        let theirs = try Command("sha256sum", ["--check", "--quiet", "\(tree.path)/LIST"]).run()
        #expect(theirs.status == 0)
    }

    @Test("says that a list is missing, or is none")
    func missing() throws {
        let missing = try Command.overdrive(["checksum", "--check", "/nonexistent"]).run()
        #expect(missing.errors == "overdrive: /nonexistent: No such file or directory\n")
        #expect(missing.status == 1)
        let directory = try Command.overdrive(["checksum", "--check", "/"]).run()
        #expect(directory.errors == "overdrive: /: Is a directory\n")
        #expect(directory.status == 1)
    }
}
#endif
