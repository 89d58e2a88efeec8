#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive run, for those who know xargs and GNU parallel")
struct RunOptionTests {
    private let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func run(_ arguments: [String], input: String = "") throws -> Command.Outcome {
        try tree.write("input", input)
        return try tree.overdrive(["run"] + arguments, input: "input").run()
    }

    @Test("replaces the strings of GNU parallel")
    func places() throws {
        let items = [":::", "x/a.tar.gz", "b", "c.d/e"]
        #expect(try run(["-j1", "echo", "{.}"] + items).lines == ["x/a.tar", "b", "c.d/e"])
        #expect(try run(["-j1", "echo", "{/}"] + items).lines == ["a.tar.gz", "b", "e"])
        #expect(try run(["-j1", "echo", "{//}"] + items).lines == ["x", ".", "c.d"])
        #expect(try run(["-j1", "echo", "{/.}"] + items).lines == ["a.tar", "b", "e"])
        #expect(try run(["-j1", "echo", "{#}-{%}.mp3"] + items).lines == ["1-1.mp3", "2-1.mp3", "3-1.mp3"])
        #expect(try run(["echo", "{2}"] + items).lines == ["{2} x/a.tar.gz", "{2} b", "{2} c.d/e"])
        #expect(try run(["--plain", "echo", "{.}{}", ":::", "a", ":::"]).lines == ["{.}a", "{.}:::"])
        #expect(try run(["-I", "@", "echo", "{}@", ":::", "a"]).lines == ["{}a"])
        #expect(try run(["-I@", "echo", "@@", ":::", "a"]).lines == ["aa"])
    }

    @Test("several sources give each combination, linked ones go along with each other")
    func sources() throws {
        #expect(try run(["echo", "{2}{1}", ":::", "a", "b", ":::", "1", "2"]).lines == ["1a", "2a", "1b", "2b"])
        #expect(try run(["echo", ":::", "a", "b", ":::+", "1", "2", "3"]).lines == ["a 1", "b 2"])
        try tree.write("list", "x\ny z\n")
        #expect(try run(["echo", "{}", "::::", "list"]).lines == ["x", "y z"])
        #expect(try run(["echo", "{1}{2}", "::::", "list", ":::", "1"]).lines == ["x1", "y z1"])
        #expect(try run(["echo", ":::", "\\:::"]).lines == [":::"])
        try tree.write("numbers", "1\n2\n")
        #expect(try run(["echo", "{2}{1}", "::::", "list", "numbers"]).lines == ["1x", "2x", "1y z", "2y z"])
    }

    @Test("gives a command several items with -n, divides lines with --colsep, and ends items where -d says")
    func columns() throws {
        #expect(try run(["-n2", "echo", "{1}-{2}", ":::", "1", "2", "3"]).lines == ["1-2", "3-"])
        #expect(try run(["-n", "2", "printf", "[%s]"], input: "a b\nc\nd\n").text == "[a b][c][d]")
        #expect(try run(["--colsep", ",", "echo", "{2}{1}{3}"], input: "a,b\nc,d,e\n").lines == ["ba", "dce"])
        #expect(try run(["-C", "\\t", "echo", "{2}"], input: "a\tb\\\n").lines == ["b\\"])
        #expect(try run(["-d", ",", "printf", "[%s]"], input: "a,,b").text == "[a][][b]")
    }

    @Test("keeps blank lines, as its peers do, and leaves them out with -r")
    func blankLines() throws {
        #expect(try run(["printf", "[%s]"], input: "a\n\nb\n").text == "[a][][b]")
        #expect(try run(["-r", "printf", "[%s]"], input: "a\n\nb\n").text == "[a][b]")
    }

    @Test("options end at the first word of the command, and may be joined as xargs has them")
    func words() throws {
        #expect(try run(["-0P2", "echo", "-n", "--jobs"], input: "a\0b\0").text == "--jobs a--jobs b")
        #expect(
            try RunWords.normalised(["run", "-kj50%", "--timeout", "3", "-n1", "--", "-j"])
                == ["run", "--keep-order", "--jobs=50%", "--time-limit=3", "--max-args=1", "--", "-j"])
        for jobs in ["50%", "+1", "-1", "400%"] { #expect(try run(["-j", jobs, "echo", ":::", "a"]).text == "a\n") }
    }

    @Test("refuses what it does not support by name, with the line to write")
    func refused() throws {
        for (arguments, words) in [
            (["--pipe", "cat"], "--pipe is not supported"), (["-S", "host", "echo"], "-S is not supported"),
            (["-X", "echo"], "-X is not supported"), (["echo", "{= s/a/b/ =}", ":::", "a"], "Perl expressions are not supported"),
            (["echo", "{1.}", ":::", "a", ":::", "b"], "({1.}). Write {.}"),
            (["gzip {} | cat", ":::", "a"], "Write --shell 'gzip {} | cat'"), (["-y", "echo"], "no option -y"),
            (["--header", ":", "echo"], "Write tail -n +2 FILE"), (["--slf", "hosts", "echo"], "submit slurm"),
            (["--rpl", "x", "echo"], "Write --shell 'TEXT'"), ([":::", "date"], "write sh -c {}"),
            (["-n0", "echo", ":::", "a"], "write sh -c 'COMMAND' {}"), (["--timeout", "2x", "echo"], "'2x' is invalid"),
            (["--tag", "--journal", "j", "--shard", "0/2", "echo", ":::", "a"], "--shard cannot be combined with --tag"),
            (["-u", "--journal", "j", "echo", ":::", "a"], "leave --journal out"), (["--halt", "later", "echo"], "--halt takes"),
        ] { try run(arguments).expectRefusal(64, saying: words, of: arguments) }
    }

    @Test("times have units as in GNU parallel")
    func times() throws {
        for time in ["20", "20s", "0.5m", "1h", "2d"] {
            #expect(try run(["--timeout", time, "--delay", "0.01s", "echo", ":::", "a"]).text == "a\n", "\(time)")
        }
        try run(["--time-limit", "0.05s", "sleep", ":::", "9"]).expectRefusal(1, saying: "time limit", of: ["--time-limit"])
    }

    @Test("--shell runs a line with /bin/sh, in which an item is one word whatever it has")
    func shell() throws {
        let item = "a'b; echo $(id)"
        #expect(try run(["--shell", "echo {} | cat", ":::", item]).lines == [item])
        #expect(try run(["--shell", "echo", ":::", item]).lines == [item])
        #expect(try run(["--dry-run", "echo", "a b", ":::", "x y"]).text == "echo 'a b' 'x y'\n")
    }

    @Test("--halt ends the run after so many failures, with the exit code of the last of them")
    func halt() throws {
        let now = try run(["-j1", "--halt", "now,fail=2", "sh", "-c", "echo $0; exit $0", ":::", "0", "3", "4", "5", "0"])
        #expect(now.status == 4 && now.lines == ["0", "3", "4"], "\(now.errors)")
        let both = try run(["-j2", "--halt", "now,fail=1", "sh", "-c", "[ $0 = 1 ] && exit 9; sleep 1000", ":::", "2", "1"])
        #expect(both.status == 9 && both.seconds < 60)
        let soon = try run(["-j2", "--halt", "soon,fail=1", "sh", "-c", "[ $0 = 1 ] && exit 9; sleep 0.3; echo $0", ":::", "2", "1", "3"])
        #expect(soon.status == 9 && soon.lines == ["2"], "\(soon.errors)")
    }

    @Test("--halt soon,exit=N ends the run at that exit code, and at no other")
    func haltAtCode() throws {
        let outcome = try run(["-j1", "--halt", "soon,exit=255", "sh", "-c", "echo $0; exit $0", ":::", "0", "254", "255", "1"])
        #expect(outcome.status == 255 && outcome.lines == ["0", "254", "255"], "\(outcome.errors)")
        try run(["--halt", "soon,exit=256", "true", ":::", "a"]).expectRefusal(64, saying: "--halt takes", of: ["exit=256"])
    }

    @Test("-E ends the list at an item, read as it comes or as a whole, and --xargs fills command lines")
    func ends() throws {
        #expect(try run(["-E", "b", "echo"], input: "a\nb\nc\n").lines == ["a"])
        #expect(try run(["-E", "b", "--journal", "j", "echo"], input: "a\nb\nc\n").lines == ["a"])
        #expect(try run(["-E", "b", "echo", ":::", "a", "b", "c"]).lines == ["a"])
        #expect(try run(["--xargs", "echo"], input: "a b\nc\n").lines == ["a b c"])
        let many = (1...20000).map(String.init).joined(separator: "\n")
        #expect(try run(["--xargs", "sh", "-c", "echo $#", "sh"], input: many).lines.compactMap { Int($0) }.reduce(0, +) == 20000)
    }

    @Test("tags lines, prints them as they come, and keeps each output in files")
    func output() throws {
        #expect(try run(["--tag", "printf", "1\\n2", ":::", "a"]).text == "a\t1\na\t2")
        let lines = try run(["-j2", "--lb", "--tag", "sh", "-c", "echo 1; sleep 0.$0; echo 2", ":::", "9", "3"])
        #expect(lines.lines.sorted() == ["3\t1", "3\t2", "9\t1", "9\t2"] && lines.lines.last == "9\t2")
        #expect(try run(["-u", "-t", "echo", ":::", "a"]).text == "a\n")
        #expect(try run(["--results", "out", "echo", ":::", "a/b"]).text == "a/b\n")
        #expect(try Command("cat", ["\(tree.path)/out/1/a+zb/stdout", "\(tree.path)/out/1/a+zb/seq"]).run().lines == ["a/b", "1"])
    }

    @Test("a journal keeps outputs as commands wrote them, and each run tags and files them as its own line says")
    func journalledOutput() throws {
        let line = ["echo", "{}", ":::", "a", "b"]
        #expect(try run(["--journal", "j"] + line).lines == ["a", "b"])
        #expect(try run(["--journal", "j", "--tag", "--results", "out"] + line).lines == ["a\ta", "b\tb"])
        #expect(try tree.shell("cat out/1/a/stdout out/1/b/seq").text == "a\n2")
        #expect(try run(["--journal", "j"] + line).lines == ["a", "b"])
        // A shard prints nothing, and files its outputs all the same.
        for shard in ["0/2", "1/2"] { _ = try run(["--journal", "k", "--shard", shard, "--results", "of-shards"] + line) }
        #expect(try tree.shell("cat of-shards/1/*/stdout").lines == ["a", "b"])
    }

    @Test("a resumed run takes the items from the journal, and says that it does not read standard input")
    func itemsOfJournal() throws {
        #expect(try run(["--journal", "j", "echo"], input: "a\nb\n").errors == "")
        let again = try run(["--journal", "j", "echo"], input: "a\nb\nc\n")
        #expect(again.lines == ["a", "b"] && again.errors == "overdrive: the items come from j/manifest, so standard input is not read\n")
        #expect(try run(["--journal", "k", "--processes", "2", "echo"], input: "a\nb\n").errors == "")
    }

    @Test("a journal of a plain run takes shards too, and merge and status see both")
    func wholeAndShards() throws {
        let line = ["echo", ":::", "a", "b", "c", "d"]
        _ = try run(["--journal", "j"] + line)
        #expect(try run(["--journal", "j", "--shard", "0/2"] + line).status == 0)
        let merged = try tree.overdrive(["merge", "j"]).run()
        #expect(merged.lines == ["a", "b", "c", "d"] && merged.status == 0, "\(merged.errors)")
        let status = try tree.overdrive(["status", "j"]).run()
        #expect(status.status == 0 && status.lines.map { $0.split(separator: " ").first ?? "" } == ["shard", "0/1", "0/2", "1/2", "all"])
        try run(["--journal", "j", "--shard", "0/3"] + line).expectRefusal(65, saying: "it has 2 shards, not 3")
    }

    private static let exclusive = [
        "--journal j --ungroup", "--journal j --line-buffer", "--journal j --dry-run",
        "--processes 2 --journal j --shard 0/2", "--processes 2 --journal j --report r", "--processes 2 --journal j --joblog l",
        "--processes 2 --journal j --halt now,fail=1", "--processes 2 --journal j --results r",
        "--processes 2 --journal j --tag", "--processes 2 --journal j --delay 1", "--journal j --shard 0/2 --tag",
        "--ungroup --tag", "--ungroup --line-buffer", "--ungroup --results r", "--lb --results r",
        "-n 2 --xargs", "-n 2 --colsep ,", "--xargs --colsep ,", "-0 -d ,", "-a input", "--shell x",
    ]

    @Test("refuses each pair of options that the manual lists as exclusive")
    func exclusiveOptions() throws {
        for line in Self.exclusive {
            try run(line.split(separator: " ").map(String.init) + ["echo", ":::", "a"]).expectRefusal(64, of: [line])
        }
        for option in ["-n2", "--xargs", "-C,"] { try run([option, "echo", ":::", "a", ":::", "b"]).expectRefusal(64, of: [option]) }
        #expect(access("\(tree.path)/j", F_OK) != 0 && access("\(tree.path)/r", F_OK) != 0)
    }

    @Test("gives commands a folder and variables, their limit of open files, and a pause between them")
    func surroundings() throws {
        try tree.makeDirectory("folder")
        #expect(try run(["--wd", "folder", "sh", "-c", "basename $PWD", ":::", "a"]).lines == ["folder"])
        #expect(try run(["--wd", "nowhere", "pwd", ":::", "a"]).status == 66)
        #expect(try run(["-j1", "--env", "A=b", "sh", "-c", "echo $A$OVERDRIVE_SEQ$OVERDRIVE_SLOT", ":::", "a", "b"]).lines == ["b11", "b21"])
        let outcome = try tree.shell("ulimit -Sn 100; \(Command.overdrivePath) run -j90 sh -c 'sleep 0.3; ulimit -Sn' ::: $(seq 90) | sort -u")
        #expect(outcome.lines == ["100"], "\(outcome.errors)")
        #expect(try run(["-j2", "--delay", "0.2", "true", ":::", "a", "b", "c"]).seconds >= 0.4)
        #expect(try run(["--memfree", "1k", "--load", "100000", "echo", ":::", "a"]).text == "a\n")
    }
}
#endif
