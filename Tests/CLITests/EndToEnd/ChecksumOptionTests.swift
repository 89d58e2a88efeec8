#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("The options of overdrive checksum")
struct ChecksumOptionTests {
    private let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree()
        for name in ["a", "b", "sub/c", "sub/line\nfeed"] { try tree.write(name, "contents of \(name)") }
    }

    private func overdrive(_ arguments: String...) throws -> Command.Outcome {
        try tree.overdrive(["checksum"] + arguments).run()
    }

    @Test("-c takes --quiet before or behind, --check=LIST, and several lists, of which each is checked")
    func lists() throws {
        _ = try tree.shell("sha256sum a >one; sha256sum b sub/c >two; sha256sum a b >three; echo changed >b")
        for arguments in [["-c", "--quiet", "one"], ["--quiet", "one", "--check"], ["--check=one", "--quiet"], ["-cw", "--quiet", "one"]] {
            let outcome = try tree.overdrive(["checksum"] + arguments).run()
            #expect(outcome.status == 0 && outcome.output == [] && outcome.errors == "", "\(arguments) \(outcome.errors)")
        }
        let all = try overdrive("-c", "two", "one", "missing", "three")
        #expect(all.lines == ["b: FAILED", "sub/c: OK", "a: OK", "a: OK", "b: FAILED"])
        #expect(all.errors.contains("missing: No such file"))
        #expect(all.status == 1)
    }

    @Test("-j takes its number with a space and without one", arguments: [["-j", "2"], ["-j2"], ["--jobs=2"]])
    func jobs(words: [String]) throws {
        let outcome = try tree.overdrive(["checksum"] + words + ["a"]).run()
        #expect(outcome.status == 0 && outcome.lines.count == 1, "\(outcome.errors)")
    }

    @Test("--audit takes several lists, none of which replaces another")
    func audits() throws {
        _ = try tree.shell("sha256sum ./a >../one-$$; sha256sum ./b ./sub/c >two; mv ../one-$$ one")
        let outcome = try overdrive("--audit", "one", "--audit", "two", "./a", "./b", "./sub/c")
        #expect(outcome.status == 0 && outcome.text == "", "\(outcome.text)\(outcome.errors)")
    }

    @Test("--tag, --zero and --binary print what sha256sum prints", arguments: ["--tag", "--zero", "--binary", "-z", "-b"])
    func styles(option: String) throws {
        let mine = try overdrive(option, "a", "sub")
        let theirs = try tree.shell("sha256sum \(option) a sub/*")
        #expect(mine.output.split(separator: 0) == theirs.output.split(separator: 0))
        let journalled = try overdrive("--journal", "j\(option)", option, "a", "sub")
        #expect(journalled.output == mine.output, "\(journalled.errors)")
    }

    @Test("--check reads what md5sum, sha1sum and sha512sum write, in both forms", arguments: ["md5sum", "sha1sum", "sha512sum"])
    func olderLists(program: String) throws {
        _ = try tree.shell("\(program) a b >list; \(program) --tag sub/c >>list")
        let outcome = try overdrive("--check", "list")
        #expect(outcome.lines == ["a: OK", "b: OK", "sub/c: OK"] && outcome.status == 0, "\(outcome.text)\(outcome.errors)")
    }

    @Test("--check agrees with sha256sum on one space, a tab and an asterisk before the name, and on a name with a zero byte")
    func spacing() throws {
        try tree.write(" b", "contents of  b")
        let script = """
            sum() { printf '%s' "$(sha256sum <"$1" | cut -c1-64)"; }
            a=$(sum a) b=$(sum ' b')
            printf '%s a\\n%s  b\\n' $a $b >reversed
            printf '%s  a\\n%s   b\\n' $a $b >usual
            printf '%s\\ta\\n' $a >tab
            printf '%s  a\\n%s a\\n' $a $a >mixed
            printf '%s *a\\n' $a >binary
            """
        _ = try tree.shell(script)
        for list in ["reversed", "usual", "tab", "mixed", "binary"] {
            let mine = try overdrive("--check", list)
            let theirs = try tree.shell("sha256sum --check '\(list)' 2>/dev/null")
            #expect(mine.output == theirs.output && mine.status == theirs.status, "\(list): \(mine.text) \(theirs.text)")
        }
        _ = try tree.shell("{ printf '%s  a\\0b\\n' \"$(sha256sum <a | cut -c1-64)\"; sha256sum b; } >zero")
        let zero = try overdrive("--check", "--strict", "zero")
        #expect(zero.lines == ["b: OK"] && zero.status == 1)
    }

    @Test("--exclude, --min-size and --max-size pass over files under a path, and not over a path that is named")
    func selection() throws {
        try tree.write("sub/large", String(repeating: "x", count: 3000))
        try tree.write("skip/me", "x")
        func names(_ arguments: String...) throws -> [String] {
            try tree.overdrive(["checksum"] + arguments).run().lines.map { String($0.split(separator: " ").last ?? "") }
        }
        #expect(try names("--exclude", "skip", "--exclude", "l*", "./sub", "./skip") == ["./skip/me", "./sub/c"])
        #expect(try names("--exclude", "skip", "--exclude", "*feed", ".") == ["./a", "./b", "./sub/c", "./sub/large"])
        #expect(try names("--exclude", "./sub/*", ".") == ["./a", "./b", "./skip/me"])
        #expect(try names("--min-size", "2K", ".", "a") == ["./sub/large", "a"])
        #expect(try names("--max-size", "5", "--exclude", "sub", ".") == ["./skip/me"])
        #expect(try names("--journal", "../\(tree.path.split(separator: "/").last ?? "")-j", "--max-size", "5", ".") == ["./skip/me"])
        _ = try tree.shell("\(Command.overdrivePath) checksum . >../list-$$; mv ../list-$$ skip/list")
        #expect(try names("--exclude", "skip", "--audit", "skip/list", ".") == [])
    }

    @Test("--json names paths that cannot be read, and gives both digests of what has changed")
    func json() throws {
        try tree.link("link", to: "sub")
        let outcome = try overdrive("--json", "a", "missing", "link")
        #expect(outcome.lines.count == 3)
        #expect(outcome.lines.contains { $0.hasPrefix(#"{"path":"missing","error":"No such file"#) }, "\(outcome.text)")
        #expect(outcome.lines.contains { $0.hasPrefix(#"{"path":"link","error":"a symbolic link"#) })
        _ = try tree.shell("sha256sum a >list; echo new >a")
        for arguments in [["--check", "list"], ["--audit", "list", "a"]] {
            let line = try tree.overdrive(["checksum", "--json"] + arguments).run().text
            let old = try tree.shell("cut -c1-64 list | tr -d '\\n'").text
            let new = try tree.shell("sha256sum a | cut -c1-64 | tr -d '\\n'").text
            #expect(line.contains(#""algorithm":"sha256","expected":"\#(old)","digest":"\#(new)"}"#), "\(line)")
        }
    }

    @Test("--summary says at the end how many files and bytes were read")
    func summary() throws {
        let outcome = try overdrive("--summary", "a", "b")
        #expect(outcome.errors.hasPrefix("2 files, 26 B in "), "\(outcome.errors)")
    }

    @Test("reads every file with six descriptors, and blames none where there are too few: code 71, and nothing is recorded")
    func fewDescriptors() throws {
        for number in 0..<100 { try tree.write("many/\(number)", "\(number)") }
        for options in ["", "--journal ../\(tree.path.split(separator: "/").last ?? "")-k"] {
            let enough = try tree.shell("ulimit -n \(options == "" ? 6 : 8); exec \(Command.overdrivePath) checksum \(options) many")
            #expect(enough.lines.count == 100 && enough.status == 0, "\(enough.errors)")
        }
        let short = try tree.shell("exec 3</dev/null; ulimit -n 6; exec \(Command.overdrivePath) checksum many")
        #expect(short.status == 71 && short.output == [] && short.errorLines.count == 1, "\(short.errors)")
        #expect(short.errors.contains("no file descriptor is left (limit 6)"), "\(short.errors)")
    }

    @Test("ends well or with a sentence under any limit of the address space", arguments: [200_000, 600_000, 720_896, 800_000, 1_000_000, 1_500_000])
    func addressSpace(kilobytes: Int) throws {
        for number in 0..<40 { try tree.write("many/\(number)", String(repeating: "\(number)", count: 100_000)) }
        let outcome = try tree.shell("ulimit -v \(kilobytes); exec \(Command.overdrivePath) checksum many")
        if outcome.status == 71 {
            #expect(outcome.errors.contains("ulimit -v"), "\(outcome.errors)")
        } else {
            #expect(outcome.status == 0 && outcome.lines.count == 40, "\(outcome.status) \(outcome.errors)")
        }
    }

    @Test("merge --output that is killed leaves no file behind")
    func killedMerge() throws {
        for number in 0..<200 { try tree.write("many/\(number)", "\(number)") }
        _ = try overdrive("--journal", "j", "many")
        // The limit of a file's size ends the process in the middle of its output.
        let outcome = try tree.shell("ulimit -c 0; ulimit -f 4; \(Command.overdrivePath) merge --output out j 2>/dev/null; ls")
        #expect(outcome.lines == ["a", "b", "j", "many", "sub"])
    }
}
#endif
