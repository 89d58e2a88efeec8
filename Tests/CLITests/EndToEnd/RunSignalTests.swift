#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive run, its signals and shortages")
struct RunSignalTests {
    private let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func waitFor(_ name: String) { while access("\(tree.path)/\(name)", F_OK) != 0 { usleep(5000) } }

    @Test("an end that a signal to all of them brought is nobody's failure", arguments: [SIGTERM, SIGINT, SIGHUP])
    func signalToAll(signal: Int32) throws {
        let script = "echo $$ >draft.$0; mv draft.$0 pid.$0; [ -e quick ] || exec sleep 1000; echo $0"
        let arguments = ["run", "-j2", "--journal", "j", "sh", "-c", script, ":::", "a", "b"]
        let running = try tree.overdrive(arguments).start()
        for name in ["pid.a", "pid.b"] { waitFor(name) }
        for name in ["a", "b"] {
            kill(try #require(Int32(Command("cat", ["\(tree.path)/pid.\(name)"]).run().lines[0])), signal)
        }
        usleep(200_000)
        running.send(signal)
        #expect(try running.wait().status == 130)
        try tree.write("quick")
        let again = try tree.overdrive(arguments).run()
        #expect(again.status == 0 && again.lines == ["a", "b"], "\(again.errors)")
    }

    @Test("a command that a signal reached alone has failed, and a crash has whenever it comes")
    func signalToOne() throws {
        for name in ["KILL", "TERM", "SEGV"] {
            let outcome = try tree.overdrive(["run", "sh", "-c", "kill -\(name) $$", ":::", "x"]).run()
            #expect(outcome.status == 1 && outcome.errors.hasPrefix("overdrive: x: ended by "), "\(outcome.errors)")
        }
        let script = "trap 'kill -SEGV $$' TERM; : >began; while :; do sleep 0.05; done"
        let running = try tree.overdrive(["run", "--journal", "j", "sh", "-c", script, ":::", "x"]).start()
        waitFor("began")
        running.send(SIGTERM)
        _ = try running.wait()
        let status = try tree.overdrive(["status", "j"]).run()
        #expect(status.lines.last?.split(separator: " ") == ["all", "1", "0", "1"], "\(status.text)")
    }

    @Test("Ctrl-\\ ends the run and its commands without a backtrace")
    func quit() throws {
        // A shell without job control ignores SIGQUIT for what it starts in the background, the tests among it.
        let script = "echo $$ >draft; mv draft pid; exec sleep 1000"
        var command = Command("env", ["--default-signal=QUIT", Command.overdrivePath, "run", "sh", "-c", script, ":::", "x"])
        command.directory = tree.path
        let running = try command.start()
        waitFor("pid")
        running.send(SIGQUIT)
        let outcome = try running.wait()
        #expect(outcome.status == 130 && outcome.errorLines.count == 1, "\(outcome.errors)")
        let process = try #require(Int32(Command("cat", ["\(tree.path)/pid"]).run().lines[0]))
        #expect(kill(process, 0) != 0 && errno == ESRCH)
    }

    @Test("a SIGQUIT that was ignored at the start does not end the run")
    func ignoredQuit() throws {
        let outcome = try tree.shell(
            "trap '' QUIT; \(Command.overdrivePath) run sh -c 'kill -QUIT $PPID; sleep 0.3; echo $0' ::: x")
        #expect(outcome.status == 0 && outcome.lines == ["x"], "\(outcome.errors)")
    }

    @Test("Ctrl-Z stops the commands as well, and fg goes on with them")
    func stop() throws {
        let running = try tree.overdrive(["run", "sh", "-c", "echo $$ >draft; mv draft pid; exec sleep 1", ":::", "x"]).start()
        waitFor("pid")
        let process = try Command("cat", ["\(tree.path)/pid"]).run().lines[0]
        func state() throws -> String {
            try Command("sh", ["-c", "read -r _ _ state _ </proc/\(process)/stat && echo $state"]).run().lines.joined()
        }
        running.send(SIGTSTP)
        while try state() != "T" { usleep(5000) }
        running.send(SIGCONT)
        #expect(try running.wait().status == 0)
    }

    @Test("a command that asks on the terminal ends with a sentence, and the run goes on")
    func asksTerminal() throws {
        let script = "[ $0 = b ] || read x </dev/tty; echo got $0"
        try tree.write("line", "exec \(Command.overdrivePath) run -j1 --progress none sh -c '\(script)' ::: a b")
        let outcome = try tree.shell("script -qec 'sh line' /dev/null")
        #expect(outcome.status == 1 && outcome.text.contains("got b"), "\(outcome.text)")
        #expect(outcome.text.contains("overdrive: a: asked for the terminal, which commands cannot use here"), "\(outcome.text)")
    }

    @Test("shards end with the process that divided the job, however early it is told to end, and however it ends")
    func orphans() throws {
        let arguments = ["run", "--journal", "j", "--processes", "2", "-j1", "sh", "-c", "echo $$ >draft.$0; mv draft.$0 pid.$0; exec sleep 1000", ":::", "a", "b", "c", "d"]
        var running = try tree.overdrive(arguments).start()
        while try tree.shell("ls pid.*").lines.count < 2 { usleep(5000) }
        running.send(SIGKILL)
        _ = try running.wait()
        for process in try tree.shell("cat pid.*").lines {
            let number = try #require(Int32(process))
            while kill(number, 0) == 0 { usleep(10_000) }
        }
        for pause in [0, 10_000, 50_000] as [useconds_t] {
            running = try tree.overdrive(arguments).start()
            while running.pollingThreads == 0 { usleep(500) }
            usleep(pause)
            running.send(SIGTERM)
            #expect(try running.wait().status == 130)
        }
    }

    @Test("a command that is not there ends the run with 127 before anything is recorded")
    func noCommand() throws {
        let arguments = ["run", "--journal", "j", "./tool", ":::", "a", "b"]
        let missing = try tree.overdrive(arguments).run()
        missing.expectRefusal(127, saying: "overdrive: ./tool: cannot be started: No such file or directory")
        try tree.write("tool", "#!/bin/sh\necho $1\n", mode: 0o644)
        #expect(try tree.overdrive(arguments).run().status == 126)
        try tree.write("tool2", "#!/bin/sh\necho $1\n", mode: 0o755)
        _ = try tree.shell("mv tool2 tool")
        #expect(try tree.overdrive(arguments).run().lines == ["a", "b"])
    }

    @Test("holds commands back when descriptors are short, and blames no item")
    func fewDescriptors() throws {
        let outcome = try tree.shell("ulimit -n 60; \(Command.overdrivePath) run -j50 sh -c 'sleep 0.05; echo $0' ::: $(seq 200)")
        #expect(outcome.status == 0 && outcome.lines == (1...200).map(String.init), "\(outcome.errors)")
    }

    @Test("holds commands back when processes are short, and blames no item")
    func fewProcesses() throws {
        // The limit binds no process of root's.
        let user = geteuid() == 0 ? "setpriv --reuid=54321 --regid=54321 --clear-groups " : ""
        guard try tree.shell("\(user)test -x \(Command.overdrivePath)").status == 0 else { return }
        let items = (1...40).map(String.init).joined(separator: " ")
        let outcome = try tree.shell("\(user)prlimit --nproc=14 \(Command.overdrivePath) run -j8 sleep 0.0{} ::: \(items)")
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    #if arch(x86_64)
    /// Runs a program under a filter by which the system call with that number fails with that error.
    private static let filter = """
        import ctypes, os, struct, sys
        steps = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50000 | int(sys.argv[2])), (6, 0, 0, 0x7fff0000)]
        text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text))
        call = ctypes.CDLL(None).prctl
        assert call(38, 1, 0, 0, 0) == 0 and call(22, 2, ctypes.c_char_p(program), 0, 0) == 0
        os.execvp(sys.argv[3], sys.argv[3:])
        """

    @Test("keeps outputs in files where a container refuses memfd_create")
    func noMemoryFiles() throws {
        try tree.write("filter", Self.filter)
        let line = "python3 filter 319 1 \(Command.overdrivePath) run echo ::: a b"
        #expect(try tree.shell("TMPDIR=. \(line); ls").lines == ["a", "b", "filter"])
        let neither = try tree.shell("TMPDIR=/none \(line)")
        #expect(neither.status == 71 && neither.lines == [] && neither.errorLines.count == 1, "\(neither.errors)")
    }

    @Test("checksum reads files where a container refuses preadv2", arguments: [EPERM, ENOSYS])
    func noReadAhead(error: Int32) throws {
        try tree.write("filter", Self.filter)
        let outcome = try tree.shell("python3 filter 327 \(error) \(Command.overdrivePath) checksum filter && sha256sum filter")
        #expect(outcome.status == 0 && outcome.lines.count == 2 && outcome.lines.first == outcome.lines.last, "\(outcome.errors)")
    }

    @Test("a run that can begin no process ends with 71, and the next run repeats its items")
    func noProcesses() throws {
        try tree.write("filter", Self.filter)
        let line = "\(Command.overdrivePath) run --journal j echo ::: a b"
        let short = try tree.shell("python3 filter 58 \(EAGAIN) \(line)")
        #expect(short.status == 71 && short.lines == [] && short.errors.contains("memory or processes ran out"), "\(short.errors)")
        #expect(try tree.shell(line).lines == ["a", "b"])
    }
    #endif

    @Test("the log has each failed command of earlier runs, and no clock makes a line of it wrong")
    func joblog() throws {
        let arguments = ["run", "--journal", "j", "--joblog", "log", "sh", "-c", "exit $0", ":::", "0", "3"]
        for _ in 0..<2 {
            #expect(try tree.overdrive(arguments).run().status == 1)
            let lines = try Command("sort", ["-n", "\(tree.path)/log"]).run().lines.map { $0.split(separator: "\t").map(String.init) }
            #expect(lines.count == 3 && lines[1][6] == "0" && lines[2][6] == "3", "\(lines)")
        }
        for number in [-5.25, .nan, .infinity, 1e300] { #expect(!JobLog.thousandths(number).hasPrefix("-")) }
        #expect(JobLog.thousandths(1.0625) == "1.063" && JobLog.thousandths(-1) == "0.000")
    }

    @Test("commands begin while standard input goes on, and reading stays near them")
    func stream() throws {
        let script = "{ echo a; until [ -e ran.a ]; do sleep 0.01; done; echo b; } | \(Command.overdrivePath) run -j2 sh -c ': >ran.$0; echo $0'"
        let outcome = try tree.shell(script)
        #expect(outcome.status == 0 && outcome.lines == ["a", "b"], "\(outcome.errors)")
        let failed = try tree.shell("seq 100 | \(Command.overdrivePath) run -j3 --attempts 2 sh -c 'echo $0; [ $0 != 7 ]'")
        #expect(failed.status == 1 && failed.lines.count == 100, "\(failed.errors)")
        #expect(failed.errorLines == ["overdrive: 7: exit code 1 (2 attempts)"])
        let ahead = try tree.shell("seq 100000 | { timeout 1 \(Command.overdrivePath) run -j2 sleep 5; wc -l; }")
        #expect(Int(ahead.text.split(separator: "\n").last ?? "0") ?? 0 > 50_000, "\(ahead.text)")
        let ended = try tree.shell("mkfifo f; sleep 100 >f & timeout -s INT 0.5 \(Command.overdrivePath) run echo <f; kill $!")
        #expect(ended.seconds < 50 && ended.errors.contains("interrupted: 0 items"), "\(ended.errors)")
    }

    @Test("a streamed run that is told to end prints what has ended behind a command that it ends")
    func streamGap() throws {
        let script = "[ $0 = 1 ] && { : >began; exec sleep 1000; }; echo $0; echo $0 >&2; : >ended.$0; exit 0"
        let (reading, writing) = try Scratch.pipe()
        defer { for end in [reading, writing] { close(end) } }
        var command = tree.overdrive(["run", "-j4", "sh", "-c", script])
        command.input = .descriptor(reading)
        let running = try command.start()
        try #require(write(writing, "0\n1\n2\n3\n", 8) == 8)
        for name in ["began", "ended.0", "ended.2", "ended.3"] { waitFor(name) }
        usleep(500_000)
        running.send(SIGINT)
        let outcome = try running.wait()
        #expect(outcome.status == 130 && outcome.lines == ["0", "2", "3"], "\(outcome.errors)")
        #expect(outcome.errorLines == ["0", "2", "3", "overdrive: interrupted: 3 items are done"])
    }

    @Test("what this process was started with as ignored stays so in commands, and nothing else does")
    func ignoredSignals() throws {
        for name in ["HUP", "INT", "QUIT", "TERM", "PIPE", "USR1"] {
            let call = "exec \(Command.overdrivePath) run sh -c 'kill -\(name) $$; echo alive' ::: x"
            let ignored = try tree.shell("trap '' \(name); \(call)")
            #expect(ignored.status == 0 && ignored.lines == ["alive"], "\(name): \(ignored.errors)")
            if name == "HUP" {
                let shards = try tree.shell("trap '' HUP; \(call.replacing(" run ", with: " run --processes 2 --journal j "))")
                #expect(shards.status == 0 && shards.lines == ["alive"], "\(shards.errors)")
            }
            guard name == "INT" || name == "PIPE" else { continue }  // Others may be ignored where the tests run.
            let heeded = try tree.shell(call)
            #expect(heeded.status == 1 && heeded.lines.isEmpty, "\(name): \(heeded.errors)")
        }
    }

    @Test("closed standard streams take no stream of a command away", arguments: ["<&-", "2>&-", "<&- 2>&-"])
    func closedStreams(redirection: String) throws {
        for form in ["--keep-order", "--ungroup", "--line-buffer"] {
            let outcome = try tree.shell(
                "\(Command.overdrivePath) run \(form) sh -c 'cat && echo a; echo b >&2; :' ::: x \(redirection)")
            let errors = redirection == "<&-" ? "b\n" : ""
            #expect(outcome.status == 0 && outcome.lines == ["a"] && outcome.errors == errors, "\(form): \(outcome.text)")
        }
    }

    @Test("the log has a line of a command while others run")
    func earlyLog() throws {
        let running = try tree.overdrive(["run", "-j2", "--joblog", "log", "sh", "-c", "[ $0 = 2 ] || sleep 1000", ":::", "1", "2"]).start()
        while try tree.shell("grep -c '^2' log").text != "1\n" { usleep(5000) }
        running.send(SIGTERM)
        #expect(try running.wait().status == 130)
    }

    @Test("refuses a journal that is divided otherwise, and names a long item by its beginning")
    func otherShards() throws {
        func call(_ shard: String) throws -> Command.Outcome {
            try tree.overdrive(["run", "--journal", "j", "--shard", shard, "true", ":::", "a", "b"]).run()
        }
        #expect(try call("0/3").status == 0)
        try call("0/4").expectRefusal(65, saying: "it has 3 shards, not 4")
        for index in 1...2 { #expect(try call("\(index)/3").status == 0) }
        #expect(try tree.overdrive(["merge", "j"]).run().status == 0)
        let long = try tree.overdrive(["run", "false", ":::", String(repeating: "x", count: 100_000)]).run()
        #expect(long.errors.utf8.count < 400 && long.errors.contains("… (100000 bytes): exit code 1"), "\(long.errors)")
    }
}
#endif
