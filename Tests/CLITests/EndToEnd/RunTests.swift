#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive run")
struct RunTests {
    private let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func run(_ arguments: [String], input: String = "", in tree: TemporaryTree? = nil) throws -> Command.Outcome {
        let tree = try tree ?? TemporaryTree()
        try tree.write("input", input)
        return try tree.overdrive(["run"] + arguments, input: "input").run()
    }

    @Test("puts the item in the place of every {}, or at the end, and runs no shell")
    func placement() throws {
        #expect(
            try run(["--", "echo", "<{}>", "{}{}", ":::", "a b", "$(id)"]).text
                == "<a b> a ba b\n<$(id)> $(id)$(id)\n")
        #expect(try run(["--", "echo", "-n", ":::", "x", "y"]).text == "xy")
        // Standard input is no command's.
        #expect(try run(["--", "sh", "-c", "cat; echo $0", ":::", "x"], input: "typed").text == "x\n")
    }

    @Test("takes items from lines, from a file, and with -0 of any bytes")
    func items() throws {
        #expect(try run(["--", "echo"], input: "a\n b \nc").lines == ["a", " b ", "c"])
        try tree.write("list", "x\ny\n")
        #expect(try run(["--items", "list", "--", "echo"], in: tree).lines == ["x", "y"])
        try tree.write("list".utf8.map { $0 }, [0xff, 10, 0, 0, 65, 0])
        let outcome = try run(["-0", "--items", "list", "--", "printf", "[%s]"], in: tree)
        #expect(outcome.output == [91, 0xff, 10, 93, 91, 93, 91, 65, 93])
    }

    @Test("prints what each command printed whole and in the order of the items, however long they take")
    func order() throws {
        let script = "[ $(($0 % 7)) = 0 ] && sleep 0.05; printf $0:; echo $0; echo e$0 >&2"
        let items = (0..<60).map(String.init)
        let outcome = try run(["--jobs", "8", "--", "sh", "-c", script, ":::"] + items)
        #expect(outcome.lines == items.map { "\($0):\($0)" })
        #expect(outcome.errorLines == items.map { "e\($0)" })
        let alone = try run(["--jobs", "1", "--", "sh", "-c", "mkdir one && sleep 0.02 && rmdir one", ":::"] + items.prefix(8), in: tree)
        #expect(alone.status == 0, "\(alone.errors)")
    }

    @Test("what goes to both streams stands in one file as it came, that of a command that failed too")
    func together() throws {
        let file = try Scratch.file()
        defer { close(file) }
        var command = tree.overdrive(["run", "--", "sh", "-c", "echo $0; echo e$0 >&2; exit $0", ":::", "0", "1", "0"])
        (command.output, command.errors) = (.descriptor(file), .descriptor(file))
        #expect(try command.run().status == 1)
        #expect(String(decoding: Scratch.contents(file), as: UTF8.self) == "0\ne0\n1\ne1\noverdrive: 1: exit code 1\n0\ne0\n")
    }

    @Test("refuses a journal of another list of items, where the list can be had again")
    func otherItems() throws {
        #expect(try run(["--journal", "j", "--", "echo", ":::", "a", "b"], in: tree).lines == ["a", "b"])
        let other = try run(["--journal", "j", "--", "echo", ":::", "a", "b", "c"], in: tree)
        other.expectRefusal(65, saying: "overdrive: j: this journal belongs to another list of items: name another journal\n")
        #expect(try run(["--joblog", "l", "--processes", "2", "--journal", "k", "--", "echo", ":::", "a"]).status == 64)
    }

    @Test("a command that fails has failed, also where whoever started us ignores the ends of children")
    func ignoredEnds() throws {
        let program = Command.overdrive([]).program
        let outcome = try Command("/bin/sh", ["-c", "trap '' CHLD; exec \"$0\" run -- false ::: x", program]).run()
        #expect(outcome.status == 1)
        #expect(outcome.errorLines == ["overdrive: x: exit code 1"])
    }

    @Test("the exit code says how many failed, and each is named with its end")
    func failures() throws {
        let outcome = try run(["--", "sh", "-c", "echo out; exit $0", ":::", "0", "3", "0", "4"])
        #expect(outcome.status == 2)
        #expect(outcome.errorLines == ["overdrive: 3: exit code 3", "overdrive: 4: exit code 4"])
        // What failed had something to say, too.
        #expect(outcome.lines.count == 4)
        let many = try run(["--", "false", ":::"] + (0..<70).map(String.init))
        #expect(many.status == 63)
        let killed = try run(["--", "sh", "-c", "kill -9 $$", ":::", "x"])
        #expect(killed.errorLines == ["overdrive: x: ended by Killed"])
        let signals = try run(["--", "sh", "-c", "kill -$0 $$", ":::", "PIPE", "TERM", "HUP", "INT"])  // which we ignore or handle
        #expect(Set(signals.errorLines) == [
            "overdrive: PIPE: ended by Broken pipe", "overdrive: TERM: ended by Terminated", "overdrive: HUP: ended by Hangup",
            "overdrive: INT: ended by Interrupt",
        ])
    }

    @Test("tries again what failed")
    func attempts() throws {
        let script = "echo >> tries.$0; [ $(wc -l < tries.$0) = 3 ]"
        let outcome = try run(["--attempts", "3", "--", "sh", "-c", script, ":::", "a", "b"], in: tree)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let twice = try run(["--attempts", "2", "--", "false", ":::", "x"])
        #expect(twice.errorLines == ["overdrive: x: exit code 1 (2 attempts)"])
    }

    @Test("ends a command that takes longer than its limit, and what it started")
    func timeLimit() throws {
        let outcome = try run(["--time-limit", "0.2", "--", "sh", "-c", "sleep 100 & wait", ":::", "x"])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("over its time limit of 0.2 seconds"))
        #expect(outcome.seconds < 30)
    }

    @Test(
        "with a journal runs only what was not done, prints all of it, and keeps the items that it was given")
    func journal() throws {
        let script = "echo ran $0 >> ran; [ ! -e broken ] || [ $0 != 2 ] || exit 1; echo $0"
        let arguments = ["--journal", "j", "--", "sh", "-c", script]
        try tree.write("broken")
        #expect(try run(arguments, input: "1\n2\n3\n", in: tree).status == 1)
        let merged = try tree.overdrive(["merge", "j"]).run()
        #expect(merged.status == 1 && merged.errorLines == ["overdrive: 2: exit code 1", "overdrive: 1 of 3 items failed"])
        let status = try tree.overdrive(["status", "j"]).run()
        #expect(status.status == 1 && status.lines.last?.split(separator: " ") == ["all", "3", "2", "1"], "\(status.text)")
        unlink("\(tree.path)/broken")
        // Given up before: said again, not run again.
        #expect(try run(arguments, in: tree).status == 1)
        let outcome = try run(["--retry-failed"] + arguments, in: tree)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines == ["1", "2", "3"])
        #expect(try tree.overdrive(["merge", "j"]).run().lines == outcome.lines)
        let ran = try Command("sort", ["\(tree.path)/ran"]).run()
        #expect(ran.lines == ["ran 1", "ran 2", "ran 2", "ran 3"])
    }

    @Test("ends with its terminal, and what its commands have left in the background ends with them", arguments: [SIGHUP, SIGTERM, SIGINT])
    func hangUp(signal: Int32) throws {
        let script = "(trap '' TERM HUP; exec sleep 1000) & echo $! >draft; mv draft left; wait"
        let running = try tree.overdrive(["run", "--", "sh", "-c", script, ":::", "x"]).start()
        while access("\(tree.path)/left", F_OK) != 0 { usleep(5000) }
        running.send(signal)
        #expect(try running.wait().status == 130)
        let left = try Command("cat", ["\(tree.path)/left"]).run().lines.joined()
        // Gone, or dead and not yet buried: nobody need be there to do that.
        func isAlive() throws -> Bool {
            try Command("sh", ["-c", "read -r _ _ state _ </proc/\(left)/stat && [ $state != Z ]"]).run().status == 0
        }
        while try isAlive() { usleep(5000) }
    }

    @Test("ends its commands when the reader of its output goes, as before `| head`, and ends as one without a reader")
    func readerGone() throws {
        let script = "[ $0 = 0 ] && until [ -s 1 ] && [ -s 2 ]; do sleep 0.01; done && exec echo out; echo $$ >$0; exec sleep 1000"
        var command = tree.overdrive(["run", "--jobs", "3", "--", "sh", "-c", script, ":::", "0", "1", "2"])
        let ends = try Scratch.pipe()
        command.output = .descriptor(ends.writing)
        let running = try command.start()
        close(ends.writing)
        close(ends.reading)
        #expect(try running.wait().status == 128 + SIGPIPE)
        for process in try Command("cat", ["\(tree.path)/1", "\(tree.path)/2"]).run().lines {
            #expect(kill(try #require(Int32(process)), 0) != 0 && errno == ESRCH)
        }
    }

    @Test("ends on a signal although nobody reads what it prints, and its log is whole", arguments: [STDOUT_FILENO, STDERR_FILENO])
    func readerStalled(stream: Int32) throws {
        let script = "[ $0 = x ] || exec sleep 1000; head -c 1000000 /dev/zero >&\(stream)"
        var command = tree.overdrive(["run", "--joblog", "log", "--", "sh", "-c", script, ":::", "x", "y"])
        let ends = try Scratch.pipe()
        defer { close(ends.reading) }
        if stream == STDOUT_FILENO { command.output = .descriptor(ends.writing) } else { command.errors = .descriptor(ends.writing) }
        let running = try command.start()
        var writable = pollfd(fd: ends.writing, events: Int16(POLLOUT), revents: 0)
        while poll(&writable, 1, 0) > 0 { usleep(5000) }  // full: it writes, and waits for us
        close(ends.writing)
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 130)
        if stream == STDOUT_FILENO { #expect(outcome.errors.hasPrefix("overdrive: interrupted: "), "\(outcome.errors)") }
        #expect(try Command("cat", ["\(tree.path)/log"]).run().text.hasSuffix(" x\n"))
    }

    @Test("its log and its report are written although the reader of its output has gone, and merge says no more then")
    func readerGoneBefore() throws {
        let script = "head -c 100000 /dev/zero; echo told >&2"
        func isEndedWithoutReader(_ arguments: [String]) throws -> Command.Outcome {
            var command = tree.overdrive(arguments)
            let ends = try Scratch.pipe()
            close(ends.reading)
            command.output = .descriptor(ends.writing)
            defer { close(ends.writing) }
            let outcome = try command.run()
            #expect(outcome.status == 128 + SIGPIPE)
            return outcome
        }
        _ = try isEndedWithoutReader(["run", "--joblog", "log", "--report", "report.json", "--", "sh", "-c", script, ":::", "x"])
        #expect(try Command("cat", ["\(tree.path)/log"]).run().lines.count == 2)
        #expect(try Command("cat", ["\(tree.path)/report.json"]).run().text.hasPrefix("{\"job\":\"run sh"))
        #expect(try run(["--journal", "j", "--report", "report", "--", "sh", "-c", script, ":::", "x", "y"], in: tree).status == 0)
        #expect(try Command("cat", ["\(tree.path)/report"]).run().text.hasPrefix("job run sh"))
        #expect(try isEndedWithoutReader(["merge", "j"]).errors == "")
        #expect(try tree.overdrive(["merge", "j"]).run().errors == "told\ntold\n")
    }

    @Test("output that cannot be written is kept no longer")
    func failedOutput() {
        let output = OrderedOutput(descriptor: .max)
        #expect(!output.append(Bytes(repeating: 65, count: 1 << 16)) && !output.append([65]))
    }

    @Test("has what a command prints in the background after its end in nobody else's output")
    func background() throws {
        let script = """
            case $0 in
            a) { until [ -e began ]; do sleep 0.01; done; echo late; : >ended; } & ;;
            b) : >began; until [ -e ended ]; do sleep 0.01; done ;;
            esac
            echo $0
            """
        #expect(try run(["--jobs", "1", "--", "sh", "-c", script, ":::", "a", "b"]).lines == ["a", "b"])
    }

    @Test("keeps of what failing commands print so much as it may, and nothing of those that are over")
    func failedCommands() {
        var failed = FailedCommands()
        let outcome = ChildProcess.Outcome(output: Bytes(repeating: 65, count: 1 << 20), errors: [66], status: 1)
        for index in 0..<200 { failed.keep(index, Stamp(start: 0, seconds: 0), outcome) }
        #expect(failed.bytes < 67 << 20)
        failed.keep(0, Stamp(start: 0, seconds: 0), outcome)
        #expect(failed.take(1)?.1.output.count == 1 << 20)
        let cut = failed.take(199)?.1
        #expect(cut?.output.starts(with: Bytes(ascii: "[1044480 bytes are left out]\nAAAA")) == true && cut?.errors == [66])
        for index in 0..<200 { _ = failed.take(index) }
        #expect(failed.bytes == 0)
    }

    @Test("with shards does each item once, and merge prints the whole")
    func shards() throws {
        let items = (0..<50).map(String.init)
        for index in [2, 0, 1] {
            let outcome = try run(
                [
                    "--journal", "j", "--shard", "\(index)/3", "--", "sh", "-c", "echo $0; echo $0 >> ran",
                    ":::",
                ] + items,
                in: tree)
            #expect(outcome.output == [])
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("shard \(index)/3: ") && outcome.errors.contains("overdrive merge j"), "\(outcome.errors)")
        }
        #expect(try tree.overdrive(["merge", "--output", "out", "j"]).run().status == 0)
        #expect(try Command("cat", ["\(tree.path)/out"]).run().lines == items)
        #expect(try Command("sort", ["-n", "\(tree.path)/ran"]).run().lines == items)
    }

    @Test("merged to a file touches none but that, and leaves none where it cannot be written")
    func mergeOutput() throws {
        #expect(try run(["--journal", "j", "--", "echo", ":::", "x"], in: tree).status == 0)
        try tree.write("out.partial", "mine")
        try tree.makeDirectory("folder")
        let long = String(repeating: "z", count: 255)
        for (name, status) in [("out", Int32(0)), ("folder", 74), (long, 0)] {
            #expect(try tree.overdrive(["merge", "--output", name, "j"]).run().status == status)
        }
        #expect(try Command("ls", [tree.path]).run().lines == ["folder", "input", "j", "out", "out.partial", long])
        #expect(try Command("cat", ["\(tree.path)/out", "\(tree.path)/out.partial"]).run().text == "x\nmine")
    }

    @Test("refuses a line with a zero byte in it, behind which the item was lost")
    func zeroByte() throws {
        try run(["--", "echo"], input: "a\0b\n").expectRefusal(64, saying: "write -0")
    }

    @Test("writes the log that GNU parallel writes")
    func joblog() throws {
        let script = "echo abc; sleep 0.05; [ $0 != 9 ] || kill -9 $$; exit $0"
        let began = Stamp.now
        for _ in 0..<2 { _ = try run(["--joblog", "log", "--", "sh", "-c", script, ":::", "0", "7", "9"], in: tree) }
        let lines = try Command("cat", ["\(tree.path)/log"]).run().lines.map {
            $0.split(separator: "\t").map(String.init)
        }.sorted { Int($0[0]) ?? 0 < Int($1[0]) ?? 0 }  // as the commands end
        #expect(
            lines[0] == [
                "Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command",
            ])
        #expect(lines.count == 4)
        for (number, exits) in [["0", "0"], ["7", "0"], ["0", "9"]].enumerated() {
            let (line, item) = (lines[number + 1], ["0", "7", "9"][number])
            #expect(line[0] == "\(number + 1)" && line[5...] == ["4", exits[0], exits[1], "sh -c \(script) \(item)"])
            #expect(try (began - 0.001...Stamp.now).contains(#require(Double(line[2]))), "\(line)")
            #expect(try (0.05...600).contains(#require(Double(line[3]))), "\(line)")
        }
        #expect(try run(["--joblog", "/dev/full", "--", "true", ":::", "x"]).status == 74)
    }

    @Test("what an item does to this program ends with a sentence", arguments: ["job\nx", "--", ""])
    func odd(name: String) throws {
        let outcome = try run(["-0", "--", "printf", "%s", ":::", name])
        #expect(outcome.text == name)
    }

    @Test("is asked for wrongly in one sentence, code 64")
    func usage() throws {
        for arguments in [
            [], ["--"], ["--jobs", "0", "--", "true"], ["--attempts", "0", "--", "true"],
            ["--time-limit", "0", "--", "true"],
            ["--shard", "0/2", "--", "true"], ["--journal", "j", "--shard", "2/2", "--", "true"],
            ["--items", "x", "--", "true", ":::", "y"], ["--progress", "loud", "--", "true"],
            ["--jobs", "1025", "--", "true"], ["--attempts", "1001", "--", "true"], ["--processes", "2", "--", "true"],
            ["--journal", "j", "--processes", "0", "--", "true"], ["--journal", "j", "--processes", "1025", "--", "true"],
            ["--journal", "j", "--processes", "2", "--shard", "0/2", "--", "true"],
            ["--journal", "j", "--processes", "2", "--report", "r", "--", "true"],
            ["--journal", "j", "--requeue=-1", "--", "true"],
        ] {
            try run(arguments).expectRefusal(64, of: arguments)
        }
        #expect(try run(["--items", "/nonexistent", "--", "true"]).status == 66)
    }
}
#endif
