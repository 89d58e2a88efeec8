#if CLI
import Glibc
import TestSupport
import Testing

@testable import overdrive_cli

@Suite("overdrive checksum --journal")
struct JournalledChecksumTests {
    private let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func checksum(_ tree: TemporaryTree, _ arguments: [String]) -> Command {
        tree.overdrive(["checksum", "--journal", "\(tree.path)-journal"] + arguments)
    }

    private static let mayMount: Bool = {
        guard getuid() == 0, let tree = try? TemporaryTree(), mount("none", tree.path, "tmpfs", 0, "size=4k") == 0 else { return false }
        return umount2(tree.path, 0) == 0
    }()

    private func plain(_ tree: TemporaryTree, _ paths: [String] = ["."]) throws -> [UInt8] {
        try tree.overdrive(["checksum"] + paths).run().output
    }

    @Test("prints what it prints without one, also when it is called again")
    func same() throws {
        let tree = try TemporaryTree.odd()
        for _ in 0..<2 {
            let outcome = try checksum(tree, ["."]).run()
            #expect(outcome.output == (try plain(tree)))
            #expect(outcome.errors == "")
            #expect(outcome.status == 0)
        }
        #expect(try Command("ls", ["\(tree.path)-journal"]).run().lines == ["000001.journal", "000002.journal", "manifest"])
    }

    @Test("killed at any time and called again until it ends, prints the same and reads hardly a file twice")
    func killed() throws {
        for file in 0..<3000 { try tree.write("d\(file % 10)/f\(file)", "contents \(file)") }
        let expected = try plain(tree)
        var kills = 0
        var generator = SplitMix(state: 7)
        while true {
            let running = try checksum(tree, ["."]).start()
            usleep(UInt32.random(in: 0..<120_000, using: &generator))
            if kills < 12 { running.send(SIGKILL) }
            let outcome = try running.wait()
            kills += outcome.status == 128 + SIGKILL ? 1 : 0
            guard outcome.status != 128 + SIGKILL else { continue }
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output == expected)
            break
        }
    }

    /// It was sealed and returned from the kernel's memory alone, which a power failure takes back.
    @Test("brings what an earlier run wrote to the disk before it counts on it")
    func synchronised() throws {
        let spy = "\(tree.path)-spy"
        try tree.write("file", "x")
        #expect(try checksum(tree, ["."]).run().status == 0)
        let source = """
            #include <fcntl.h>
            #include <stdio.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            static void note(int file) {
                char link[64], path[4096];
                snprintf(link, sizeof link, "/proc/self/fd/%d", file);
                ssize_t length = readlink(link, path, sizeof path);
                int log = open("\(spy).log", O_WRONLY | O_CREAT | O_APPEND, 0666);
                if (length > 0) dprintf(log, "%.*s\\n", (int)length, path);
                close(log);
            }
            int fdatasync(int file) { note(file); return (int)syscall(SYS_fdatasync, file); }
            int fsync(int file) { note(file); return (int)syscall(SYS_fsync, file); }
            """
        let descriptor = open(spy + ".c", O_WRONLY | O_CREAT, 0o666)
        _ = Array(source.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        let compiled = try Command("clang", ["-shared", "-fPIC", "-o", spy + ".so", spy + ".c"]).run()
        try #require(compiled.status == 0, "\(compiled.errors)")
        var again = checksum(tree, ["."])
        again.environment = ["LD_PRELOAD=\(spy).so"]
        #expect(try again.run().status == 0)
        let seen = try Command("cat", [spy + ".log"]).run().lines
        #expect(seen.first?.hasSuffix("/000001.journal") == true, "\(seen)")

        // A journal in new folders: each one's entry, and the manifest's, before anything counts on them.
        unlink(spy + ".log")
        again.arguments[2] = Array("\(tree.path)-journal/a/b".utf8)
        #expect(try again.run().status == 0)
        let names = try Command("cat", [spy + ".log"]).run().lines.map { line in
            line.replacing("\(tree.path)-journal", with: "")
        }
        let manifest = try #require(names.firstIndex { $0.contains("/a/b/manifest.") })
        #expect(names[..<manifest].elementsEqual(["", "/a"]), "\(names)")
        #expect(names[manifest + 1] == "/a/b", "\(names)")
    }

    @Test("files that cannot be read are said each time, with code 1")
    func failures() throws {
        try tree.write("file", "x")
        for _ in 0..<2 {
            let outcome = try checksum(tree, ["file", "/proc/self/mem", "/nonexistent"]).run()
            #expect(outcome.lines.count == 1)
            #expect(
                outcome.errorLines == [
                    "overdrive: /nonexistent: No such file or directory",
                    "overdrive: /proc/self/mem: Input/output error",
                    "overdrive: 2 could not be read",
                ])
            #expect(outcome.status == 1)
        }
    }

    @Test("its shards are merged to the whole; gaps are named, and a journal of other paths is refused")
    func shards() throws {
        let tree = try TemporaryTree.odd()
        let merge = Command.overdrive(["merge", "\(tree.path)-journal"])
        #expect(try merge.run().status == 66)
        #expect(try checksum(tree, ["--shard", "1/2", "."]).run().output == [])
        let gaps = try merge.run()
        #expect(gaps.output == [])
        #expect(
            gaps.errors.contains("items are not done: './")
                && gaps.errors.contains("no journal of shard 0 of 2"))
        #expect(gaps.status == 65)
        var environment = checksum(tree, ["--shard", "/2", "."])
        environment.environment = [
            "SLURM_ARRAY_TASK_ID=0", "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_COUNT=1",
        ]
        #expect(try environment.run().status == 0)
        #expect(try merge.run().output == (try plain(tree)))
        let foreign = try checksum(tree, ["--shard", "0/2", "a"]).run()
        #expect(foreign.errors.contains("this journal belongs to another job"))
        #expect(foreign.status == 65)
        #expect(try Command.overdrive(["status", "\(tree.path)-journal"]).run().status == 0)
    }

    @Test("a journal that is being written, damaged, or cannot be is one sentence")
    func refusals() throws {
        let tree = try TemporaryTree.odd()
        #expect(try checksum(tree, ["."]).run().status == 0)
        let segment = "\(tree.path)-journal/000001.journal"
        // Held as by a process that writes it, and without its last record.
        let file = open(segment, O_RDWR | O_CLOEXEC)
        try #require(flock(file, LOCK_EX) == 0)
        try checksum(tree, ["."]).run().expectRefusal(75, saying: "writes this journal")
        var byte: UInt8 = 0
        pread(file, &byte, 1, 200)
        byte ^= 1
        pwrite(file, &byte, 1, 200)
        close(file)
        try checksum(tree, ["."]).run().expectRefusal(65, saying: "damaged at byte")
        try Command.overdrive(["checksum", "--journal", "/proc/j", tree.path]).run().expectRefusal(74)
        _ = try tree.shell("echo nothing >'\(tree.path)-journal/manifest'")
        try checksum(tree, ["."]).run().expectRefusal(65, saying: "use another journal")
    }

    @Test("that was cut off in the middle of a record says how much does not count")
    func cutOff() throws {
        try tree.write("file", "x")
        #expect(try checksum(tree, ["."]).run().status == 0)
        _ = try tree.shell("truncate -s -3 '\(tree.path)-journal/000001.journal'")
        let outcome = try checksum(tree, ["."]).run()
        #expect(outcome.status == 0 && outcome.lines.count == 1)
        #expect(outcome.errors.hasPrefix("overdrive: the journal ended in the middle of a record: 13 bytes were ignored, "), "\(outcome.errors)")
    }

    @Test("gives a shard as much to read as another, and status says how far each is")
    func weights() throws {
        for number in 0..<9 { try tree.write("small \(number)", "x") }
        try tree.write("large")
        try #require(truncate("\(tree.path)/large", 32 << 20) == 0)
        #expect(try checksum(tree, ["--shard", "0/2", "."]).run().status == 0)
        let status = try Command.overdrive(["status", "\(tree.path)-journal"]).run()
        #expect(status.lines[1].split(separator: " ") == ["0/2", "1", "0", "closed", "-"], "\(status.text)")
        #expect(status.status == 1)
    }

    @Test("in a Slurm job that finds its journal held, as by what a lost node had begun, has itself queued again")
    func heldInSlurm() throws {
        let tree = try TemporaryTree.odd()
        #expect(try checksum(tree, ["."]).run().status == 0)
        let file = open("\(tree.path)-journal/000001.journal", O_RDWR | O_CLOEXEC)
        defer { close(file) }
        try #require(flock(file, LOCK_EX) == 0)
        let tools = try TemporaryTree()
        try tools.write("scontrol", "#!/bin/sh\necho \"$@\" >>\(tools.path)/asked\n", mode: 0o755)
        var command = checksum(tree, ["--requeue", "2", "."])
        let slurm = [
            "PATH=\(tools.path):/usr/bin:/bin", "SLURM_JOB_ID=9", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3",
        ]
        for restarts in 0...2 {
            command.environment = slurm + ["SLURM_RESTART_COUNT=\(restarts)"]
            let outcome = try command.run()
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("writes this journal"))
            #expect(outcome.errors.contains("already requeued 2 times: submit it again by hand") == (restarts == 2))
        }
        #expect(try Command("cat", ["\(tools.path)/asked"]).run().lines == ["requeue 7_3", "requeue 7_3"])
    }

    @Test(
        "a full disk ends it with code 74, and what was printed by then is printed again when there is room",
        .enabled(if: mayMount, "file systems are not this user's to mount"))
    func fullDisk() throws {
        let disk = "\(tree.path)-disk"
        mkdir(disk, 0o777)
        try #require(mount("none", disk, "tmpfs", 0, "size=256k") == 0)
        defer { umount2(disk, 0) }
        for file in 0..<2000 { try tree.write("f\(file)", "x") }
        let command = Command.overdrive(["checksum", "--journal", "\(disk)/j", tree.path])
        let full = try command.run()
        #expect(full.status == 74, "\(full.errors)")
        #expect(
            full.errorLines.count == 1 && full.errors.contains("No space left on device"), "\(full.errors)")
        try #require(mount("none", disk, "tmpfs", UInt(MS_REMOUNT), "size=16m") == 0)
        let outcome = try command.run()
        #expect(outcome.output == (try Command.overdrive(["checksum", tree.path]).run().output))
        #expect(outcome.output.starts(with: full.output))
    }

    @Test("a read-only file system is one sentence and code 73, for a journal that is to be made and for one that is there",
          .enabled(if: mayMount, "file systems are not this user's to mount"))
    func readOnly() throws {
        let tree = try TemporaryTree.odd()
        let disk = "\(tree.path)-disk"
        mkdir(disk, 0o777)
        try #require(mount("none", disk, "tmpfs", 0, "size=1m") == 0)
        defer { umount2(disk, 0) }
        let there = Command.overdrive(["checksum", "--journal", "\(disk)/j", tree.path])
        let whole = try there.run()
        #expect(whole.status == 0, "\(whole.errors)")
        try #require(mount("none", disk, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "") == 0)
        for command in [
            there, Command.overdrive(["checksum", "--journal", "\(disk)/new", tree.path]),
            Command.overdrive(["run", "--journal", "\(disk)/new", "--", "true", ":::", "a"]),
            Command.overdrive(["checksum", "--cache", "\(disk)/cache", tree.path]),
            Command.overdrive(["checksum", "--journal", "\(tree.path)-journal", "--report", "\(disk)/report", tree.path]),
        ] {
            let refused = try command.run()
            #expect(refused.status == 73, "\(refused.errors)")
            #expect(refused.errorLines.count == 1 && refused.errors.contains("Read-only file system"), "\(refused.errors)")
        }
        // Nothing is lost: merge only reads.
        #expect(try Command.overdrive(["merge", "\(disk)/j"]).run().output == whole.output)
    }

    @Test("is divided between processes on one machine, and printed whole")
    func processes() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try checksum(tree, ["--processes", "3", "."]).run()
        #expect(outcome.output == (try plain(tree)))
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(access("\(tree.path)-journal/shard-00002-of-00003/000001.journal", F_OK) == 0)
    }

    /// Their standard input was at its end: they knew the job by no path, and so every list for the same.
    @Test("divided between processes, gives each of them the list that standard input gave, and refuses another one")
    func processesWithInput() throws {
        for name in ["a", "b", "c"] { try tree.write(name, name) }
        try tree.write("list", "a\0b\0")
        try tree.write("other", "c\0")
        var command = checksum(tree, ["--processes", "2", "--files0-from", "-"])
        for _ in 0..<2 {
            command.input = .file("\(tree.path)/list", flags: O_RDONLY)
            let outcome = try command.run()
            #expect(outcome.lines.map { $0.suffix(1) } == ["a", "b"], "\(outcome.errors)")
            #expect(outcome.status == 0)
        }
        command.input = .file("\(tree.path)/other", flags: O_RDONLY)
        let other = try command.run()
        #expect(other.output == [])
        #expect(other.errors.contains("this journal belongs to another job (it belongs to the job 'checksum sha256 a"), "\(other.errors)")
        #expect(other.status == 65)
    }

    @Test("ends the processes that it has started where a further one cannot be")
    func processesCutShort() throws {
        var started: [pid_t] = []
        let error = #expect(throws: BatchRefusal.self) {
            _ = try Processes.startAll(4) { index throws(BatchRefusal) in
                guard index < 2 else { throw BatchRefusal(.system, "no more") }
                guard let process = try? Command("sleep", ["1000"]).start().process else { throw BatchRefusal(.system, "none") }
                started.append(process)
                return process
            }
        }
        #expect(error?.sentence == "no more" && started.count == 2)
        for process in started { #expect(kill(process, 0) != 0 && errno == ESRCH) }
    }

    @Test("ends with 128 and the number where a signal ends one of its processes")
    func processKilled() throws {
        let tree = try TemporaryTree()
        let words = ["--processes", "2", "--", "sh", "-c", "kill -KILL $PPID", ":::", "a", "b"]
        let outcome = try tree.overdrive(["run", "--journal", "\(tree.path)-journal"] + words).run()
        #expect(outcome.status == 128 + SIGKILL && outcome.errors.contains("a shard ended with code 137"))
        let status = try Command.overdrive(["status", "\(tree.path)-journal"]).run()
        #expect(status.lines[1].hasSuffix("  open     -") && status.status == 1, "\(status.text)")
    }

    @Test("whose items fail in one of several processes is printed whole, with their names; a signal ends all of them")
    func processesEnd() throws {
        func command(_ journal: String, _ script: String) -> Command {
            tree.overdrive(["run", "--journal", journal, "--processes", "2", "--", "sh", "-c", script, ":::", "0", "1", "2", "3"])
        }
        let failed = try command("a", "echo $0; [ $0 != 1 ]").run()
        #expect(failed.status == 1 && failed.lines == ["0", "2", "3"])
        #expect(failed.errors.hasSuffix("overdrive: 1: exit code 1\noverdrive: 1 of 4 items failed\n"), "\(failed.errors)")
        let running = try command("b", ": >up$0; exec sleep 1000").start()
        while access("\(tree.path)/up0", F_OK) != 0 || access("\(tree.path)/up2", F_OK) != 0, running.seconds < 50 { usleep(5000) }
        running.send(SIGTERM)
        #expect(try running.wait().status == 130)
    }

    /// Its name was longer than a reader of journals looked for one.
    @Test("of a list beyond a megabyte goes on, also divided, and is merged")
    func longList() throws {
        let name = String(repeating: "n", count: 200)
        for division in [[], ["--processes", "2"]] {
                try tree.write(name, "x")
            try tree.write("list", String(repeating: "./\(name)\0", count: 6000))
            for _ in 0..<2 {
                let outcome = try checksum(tree, division + ["--files0-from", "list"]).run()
                #expect(outcome.lines.map { $0.suffix(200) } == [name[...]], "\(outcome.errors.prefix(300))")
                #expect(outcome.status == 0)
            }
            #expect(try Command.overdrive(["merge", "\(tree.path)-journal"]).run().lines.count == 1)
            #expect(try Command.overdrive(["status", "\(tree.path)-journal"]).run().status == 0)
            try tree.write("list2", String(repeating: "./\(name)\0", count: 6001))
            let other = try checksum(tree, division + ["--files0-from", "list2"]).run()
            #expect(other.status == 65 && other.errors.contains("6000 paths, SHA-256 "), "\(other.errors.prefix(300))")
        }
    }

    @Test("reads what was named through a link, and refuses standard input, which it could not read again")
    func links() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try checksum(tree, ["link to file", "a"]).run()
        #expect(outcome.output == (try plain(tree, ["link to file", "a"])))
        #expect(outcome.status == 0, "\(outcome.errors)")
        try checksum(tree, ["a", "-"]).run().expectRefusal(64, saying: "leave out --journal")
    }

    @Test("is ended in the middle of a file, which is no failure of the file's")
    func endedInside() throws {
        try tree.write("small", "x")
        try tree.write("endless")
        try #require(truncate("\(tree.path)/endless", 1 << 42) == 0)
        let running = try checksum(tree, ["--progress", "json", "."]).start()
        while !String(decoding: Scratch.contents(running.errors), as: UTF8.self).contains("\"done\":1") { usleep(10_000) }
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 130)
        #expect(!outcome.errors.contains("did not end in time") && outcome.errors.contains("1 of 2 items are done"), "\(outcome.errors)")
        unlink("\(tree.path)/endless")
        try tree.write("endless")
        #expect(try checksum(tree, ["."]).run().lines.count == 2)
    }

    @Test("passes each process the words that it was given itself, but for those that divide")
    func wordsOfAProcess() {
        #expect(
            Processes.shard(
                ["run", "--jobs", "2", "--processes", "4", "--processes=4", "--", "x", "--processes", "1"],
                "3/4", of: 7)
                == [
                    "run", "--shard", "3/4", "--progress", "none", "--shard-of", "7", "--jobs", "2", "--", "x", "--processes",
                    "1",
                ])
    }

    @Test("takes its paths from a list with zero bytes")
    func pathList() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try tree.shell("find . -type f -print0 | \(Command.overdrivePath) checksum --files0-from -")
        #expect(outcome.output == (try plain(tree)))
    }

    @Test("ends on SIGUSR1 and SIGTERM with code 130 and goes on from there, with progress in JSON and a report")
    func interrupted() throws {
        // Slurm's warning of a time limit has the job queued again. SIGTERM is scancel's or a preemption's: it does not.
        try tree.write("scontrol", "#!/bin/sh\necho \"$@\" >>\(tree.path)/asked\n", mode: 0o755)
        for resumed in 0...1 {
            var command = tree.overdrive([
                "run", "--journal", "\(tree.path)-journal", "--progress", "json", "--requeue", "2", "--", "sleep", ":::", "0", "1000",
            ])
            command.environment = ["PATH=\(tree.path):/usr/bin:/bin", "SLURM_JOB_ID=9"]
            let running = try command.start()
            let state = "\"items\":2,\"done\":1,\"resumed\":\(resumed),\"quarantined\":0,\"retries\":0,\"items_per_second\":"
            while !String(decoding: Scratch.contents(running.errors), as: UTF8.self).contains(state), running.seconds < 50 { usleep(10_000) }
            running.send(resumed == 0 ? SIGUSR1 : SIGTERM)
            let outcome = try running.wait()
            #expect(outcome.status == 130)
            #expect(
                outcome.errorLines.first?.hasPrefix("{\"job\":\"run sleep\",\"shard\":\"0/1\",\"seconds\":")
                    == true)
            #expect(outcome.errors.contains(state), "\(outcome.errors)")
            #expect(
                outcome.errorLines.last?.hasSuffix("run the same command again to resume") == true,
                "\(outcome.errors)")
        }
        #expect(try Command("cat", ["\(tree.path)/asked"]).run().lines == ["requeue 9"])
    }
}

@Suite("overdrive submit")
struct SubmitTests {
    @Test("shows the scripts: an array that is queued again, and a merge after it")
    func dryRun() throws {
        let tree = try TemporaryTree.odd()
        let outcome = try Command.overdrive([
            "submit", "slurm", "--dry-run", "--journal", "\(tree.path)-none", "--shards", "16", "--time",
            "01:00:00", "--cpus", "4",
            "--memory", "2G", "--sbatch=--account=physics", "--partition", "wide", "--name", "sums", "--", "checksum", "--algorithm", "sha512", "\(tree.path)/with space",
        ]).run()
        #expect(outcome.status == 0, "\(outcome.errors)")
        for line in [
            "#SBATCH --array=0-15", "#SBATCH --requeue", "#SBATCH --open-mode=append",
            "#SBATCH --signal=B:USR1@60",
            "#SBATCH --cpus-per-task=4", "#SBATCH --mem=2G", "#SBATCH --time=01:00:00",
            "#SBATCH --account=physics", "#SBATCH --partition=wide", "#SBATCH --job-name=sums", "#SBATCH --job-name=sums-merge",
        ] { #expect(outcome.lines.contains(line), "\(line)") }
        let command = try #require(outcome.lines.first { $0.hasPrefix("exec ") && $0.contains("checksum") })
        #expect(
            command.contains("checksum --algorithm sha512 --journal") && command.contains("--shard /16 --requeue 10") && command.hasSuffix("'\(tree.path)/with space'"))
        #expect(outcome.text.contains("merge --output \(tree.path)-none/output \(tree.path)-none\n"))
        // Shells take the scripts for what they are.
        try tree.write("script", outcome.text)
        #expect(try Command("bash", ["-n", "\(tree.path)/script"]).run().status == 0)
        #expect(access("\(tree.path)-none", F_OK) != 0)
        let shard = "run --journal \(tree.path)/j --shard /2 --requeue 10 --progress none -- echo 'it'\\''s'"
        for (words, end) in [(["run", "--", "echo", "it's"], shard), (["./own", "x"], "exec ./own x")] {
            let own = try tree.overdrive(["submit", "slurm", "--dry-run", "--journal", "j", "--shards", "2", "--"] + words).run()
            #expect(own.lines.contains { $0.hasPrefix("exec ") && $0.hasSuffix(end) }, "\(own.text)\(own.errors)")
        }
        let letters = try tree.overdrive(["submit", "slurm", "--dry-run", "--journal", "j", "--shards", "2", "--", "checksum", "-z", "-j2", "a"]).run()
        #expect(letters.text.contains("checksum -z -j 2 --journal \(tree.path)/j "), "\(letters.text)\(letters.errors)")
    }

    @Test("says that Slurm is not installed or refuses, with code 69")
    func unavailable() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "x")
        func submit(_ path: String) throws -> Command.Outcome {
            try Command(
                "env",
                [
                    "PATH=\(path)", Command.overdrivePath, "submit", "slurm", "--journal", "\(tree.path)/j",
                    "--shards", "2", "--",
                    "checksum", "\(tree.path)/file",
                ]
            ).run()
        }
        let missing = try submit("\(tree.path)/nowhere")
        #expect(missing.status == 69)
        #expect(
            missing.errors.hasPrefix("overdrive: Slurm is not installed here: 'sbatch'"), "\(missing.errors)")
        try tree.write("bin/sbatch", "#!/bin/sh\necho 'sbatch: error: no such partition' >&2; exit 1\n", mode: 0o755)
        let refused = try submit("\(tree.path)/bin:/bin:/usr/bin")
        #expect(refused.status == 69)
        #expect(refused.errors == "overdrive: Slurm's sbatch refused: sbatch: error: no such partition\n")
    }

    @Test("names the shards that are queued where the merge is refused, and how to go on")
    func mergeRefused() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "x")
        try tree.write("bin/sbatch", "#!/bin/sh\ncase \"$*\" in *dependency*) echo full >&2; exit 1 ;; *) echo 77 ;; esac\n", mode: 0o755)
        let outcome = try Command(
            "env",
            [
                "PATH=\(tree.path)/bin:/bin:/usr/bin", Command.overdrivePath, "submit", "slurm", "--journal", "\(tree.path)/j",
                "--shards", "2", "--", "checksum", "\(tree.path)/file",
            ]
        ).run()
        #expect(outcome.status == 69)
        #expect(
            outcome.errors
                == "overdrive: the shards are queued (77), but the merge is not: Slurm's sbatch refused: full; to queue the merge: sbatch "
                + "--dependency=afterany:77 \(tree.path)/j/merge.sbatch; to cancel the shards: scancel 77\n")
    }

    @Test("status says where Slurm has a shard, and why one waits")
    func queued() throws {
        let tree = try TemporaryTree.odd()
        let journal = "\(tree.path)-journal"
        #expect(try Command.overdrive(["checksum", "--journal", journal, "--processes", "3", tree.path]).run().status == 0)
        let tools = try TemporaryTree()
        _ = try Command("sh", ["-c", "echo 7 >'\(journal)/slurm-job'"]).run()
        try tools.write("squeue", "#!/bin/sh\nprintf '0|RUNNING|n1|None\\n1|PENDING||launch failed requeued held\\n'\n", mode: 0o755)
        let outcome = try Command(
            "env", ["PATH=\(tools.path):/usr/bin:/bin", Command.overdrivePath, "status", journal]
        ).run()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.contains { $0.hasPrefix("0/3") && $0.contains(" RUNNING n1") }, "\(outcome.text)")
        #expect(outcome.lines.contains { $0.hasPrefix("1/3") && $0.contains(" PENDING (launch failed requeued held)") })
        #expect(outcome.lines.contains { $0.hasPrefix("2/3") && $0.contains(" closed   -") })
    }

    @Test("status has a row for each shard that has not begun, before the first has as well")
    func notBegun() throws {
        let tree = try TemporaryTree()
        try tree.write("bin/sbatch", "#!/bin/sh\necho greetings\necho 77\necho\n", mode: 0o755)
        try tree.write("bin/squeue", "#!/bin/sh\nprintf '2|PENDING||Priority\\n'\n", mode: 0o755)
        func call(_ arguments: [String]) throws -> Command.Outcome {
            var command = tree.overdrive(arguments)
            command.environment = ["PATH=\(tree.path)/bin:/usr/bin:/bin"]
            return try command.run()
        }
        let submitted = try call(["submit", "slurm", "--journal", "j", "--shards", "3", "--", "run", "echo", ":::", "a", "b"])
        #expect(submitted.status == 0 && submitted.text.hasPrefix("shards 77, merge 77;"), "\(submitted.errors)")
        var status = try call(["status", "j"])
        #expect(status.status == 1 && status.lines.count == 5, "\(status.text)\(status.errors)")
        #expect(status.lines[3].hasPrefix("2/3") && status.lines[3].contains(" none ") && status.lines[3].hasSuffix("PENDING (Priority)"))
        #expect(try call(["run", "--journal", "j", "--shard", "1/3", "echo", ":::", "a", "b"]).status == 0)
        status = try call(["status", "j"])
        #expect(status.lines.count == 5 && status.lines[2].contains(" closed "), "\(status.text)")
    }

    @Test("takes the last number of what sbatch prints, whatever a site prints around it")
    func jobNumber() {
        #expect(SlurmJob.number(in: "4711\n") == "4711")
        #expect(SlurmJob.number(in: "4711;slaking\n") == "4711")
        #expect(SlurmJob.number(in: "\n---\n  Welcome to 3\nNo reservation\n519605\n\n") == "519605")
        #expect(SlurmJob.number(in: "Submitted batch job 60060368 on cluster slaking\n") == "60060368")
        #expect(SlurmJob.number(in: "charged 500,000.00 hours\n") == nil && SlurmJob.number(in: "") == nil)
    }

    @Test("quotes a journal and a name with blanks, # and % for Slurm, and warns a program of the user by SIGTERM")
    func oddNames() throws {
        let outcome = try Command.overdrive([
            "submit", "slurm", "--dry-run", "--journal", "/tmp/my dir/100%j#", "--shards", "2", "--name", "my job", "--", "prog",
        ]).run()
        for line in [
            "#SBATCH --job-name=\"my job\"", "#SBATCH --job-name=\"my job-merge\"", "#SBATCH --signal=B:TERM@60",
            "#SBATCH --output=\"/tmp/my dir/100%%j#/log/shard-%a.log\"",
        ] { #expect(outcome.lines.contains(line), "\(line): \(outcome.text)") }
    }

    @Test("says that Slurm does not answer, with code 76, and ends the command that waits for it")
    func silent() throws {
        let tree = try TemporaryTree()
        try tree.write("sbatch", "#!/bin/sh\necho $$ >\(tree.path)/pid\nexec sleep 1000\n", mode: 0o755)
        do throws(BatchRefusal) {
            _ = try SlurmJob.ask(["\(tree.path)/sbatch"], patience: 2)
            Issue.record("nobody answered")
        } catch {
            #expect(error.status == .noAnswer)
            #expect(error.sentence.hasSuffix("sbatch did not answer within 2 s"))
        }
        let text = try Command("cat", ["\(tree.path)/pid"]).run().lines
        let process = try #require(text.first.flatMap { Int32($0) })
        #expect(kill(process, 0) != 0 && errno == ESRCH)
    }
}
#endif
