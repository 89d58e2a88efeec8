#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("Wrong usage")
struct UsageTests {
    @Test(
        "ends with one sentence and code 64",
        arguments: [
            ["checksum"], ["checksum", "--jobs", "0", "."], ["checksum", "--jobs", "-1", "."],
            ["checksum", "--jobs", "1025", "."], ["checksum", "--jobs", "99999999999999999999", "."],
            ["checksum", "--jobs", "two", "."], ["checksum", "--jobs"],
            ["checksum", "--engine", "steam", "."],
            ["checksum", "--engine", "serial", "--jobs", "2", "."], ["checksum", "--unknown", "."],
            ["checksum", "--check"], ["checksum", "--check", "--tag", "list"], ["checksum", "--min-size", "2X", "."], ["checksum", "--quiet", "."], ["unknown"],
            ["checksum", "--journal", "/nowhere/j", "--shard", "3/3", "."], ["checksum", "--shard", "0/2", "."],
            ["checksum", "--journal", "/nowhere/j", "--stats", "."], ["checksum", "--report", "r", "."],
            ["checksum", "--status", "."], ["checksum", "--warn", "."], ["checksum", "--strict", "."],
            ["checksum", "--ignore-missing", "."], ["checksum", "--check", "l", "--journal", "/nowhere/j"],
            ["checksum", "--audit", "l", "--journal", "/nowhere/j", "."], ["checksum", "--cache", "c", "--check", "l"],
            ["checksum", "--journal", "/nowhere/j", "--engine", "serial", "."], ["checksum", "--progress", "json", "."],
            ["bench", "--rounds", "0"], ["bench", "--rounds", "1001"], ["bench", "--closures", "999"],
            ["bench", "--closures", "10000001"], ["bench", "--workers", "0"], ["bench", "--workers", "1025"],
            ["bench", "--only", "nonsense"],
            ["submit", "slurm", "--dry-run", "--journal", "/nowhere/j", "--shards", "0", "--", "true"],
            ["submit", "slurm", "--dry-run", "--journal", "/nowhere/j", "--shards", "100001", "--", "true"],
            ["submit", "slurm", "--dry-run", "--journal", "/nowhere/j", "--shards", "2", "--cpus", "0", "--", "true"],
            ["submit", "slurm", "--dry-run", "--journal", "/nowhere/j", "--shards", "2", "--requeue=-1", "--", "true"],
            ["submit", "slurm", "--dry-run", "--journal", "/nowhere/j", "--shards", "2", "--", "run", "--", "a\nb"],
            ["checksum", "--retry-failed", "."], ["run", "--requeue", "1", "--", "true", ":::", "a"],
            ["machine", "extra"], ["machine", "--root"],
            ["preload"], ["preload", "ls"], ["preload", "--library"],
            ["trace"], ["trace", "-o", "/nowhere/t"], ["trace", "report"],
            ["trace", "report", "/nowhere/t", "--json", "--html", "/nowhere/p"], ["trace", "convert"],
            ["trace", "convert", "/nowhere/t", "-o", "/nowhere/u", "--format", "csv"],
            ["top"], ["top", "1", "extra"], ["dump"], ["dump", "1", "extra"], ["dump", "0"],
            ["adopt"], ["adopt", "/nowhere", "--from", "/nowhere"], ["adopt", "."],
            ["adopt", ".", "--undo", "--from", "."], ["adopt", "/tmp", "--undo", "--dry-run", "extra"],
        ])
    func usage(arguments: [String]) throws {
        try Command.overdrive(arguments).run().expectRefusal(64)
    }

    @Test(
        "an environment variable that makes no sense is named",
        arguments: [
            "OVERDRIVE_WORKERS=0", "OVERDRIVE_WORKERS=-2", "OVERDRIVE_WORKERS=two", "OVERDRIVE_WORKERS=2x",
            "OVERDRIVE_WORKERS= 2", "OVERDRIVE_WORKERS=1e3", "OVERDRIVE_WORKERS=99999999999999999999",
            "OVERDRIVE_PLACEMENT=here", "OVERDRIVE_PLACEMENT=Node",
        ])
    func environment(setting: String) throws {
        for arguments in [["checksum", "/etc/hostname"], ["machine"]] {
            var command = Command.overdrive(arguments)
            command.environment = [setting]
            try command.run().expectRefusal(64, saying: "overdrive: \(setting.prefix { $0 != "=" }) takes")
        }
    }

    @Test("a file whose name begins with a dash is not taken for a request of help")
    func dashedName() throws {
        for arguments in [["checksum", "-dash"], ["checksum", "--jobs", "2", "-hosts"]] {
            let name = arguments.last ?? ""
            let sentence = "overdrive: there is no option '\(name)': write ./\(name) for a file of that name\n"
            try Command.overdrive(arguments).run().expectRefusal(64, saying: sentence)
        }
    }

    @Test("is not needed: the version is printed")
    func version() throws {
        let outcome = try Command.overdrive(["--version"]).run()
        #expect(outcome.text == "0.1.0\n")
        #expect(outcome.status == 0)
    }

    @Test(
        "is not needed: help is printed on standard output, with code 0",
        arguments: [
            ["--help"], ["checksum", "--help"], ["machine", "--help"], ["preload", "--help"],
            ["help", "checksum"], [],
        ])
    func help(arguments: [String]) throws {
        let outcome = try Command.overdrive(arguments).run()
        #expect(outcome.text.contains("USAGE: overdrive"))
        #expect(outcome.text.contains("EXIT CODES"))
        #expect(outcome.errors == "")
        #expect(outcome.status == 0)
    }
}

@Suite("Streams that are not there")
struct StreamTests {
    @Test(
        "a closed standard output is one sentence and code 74",
        arguments: [
            ["checksum", "/etc"], ["checksum", "--check", "/dev/null"], ["machine"], ["machine", "--json"],
        ])
    func closedOutput(arguments: [String]) throws {
        var command = Command.overdrive(arguments)
        command.output = .closed
        let outcome = try command.run()
        #expect(outcome.errors == "overdrive: standard output is closed, so no results can be written\n")
        #expect(outcome.status == 74)
    }

    @Test(
        "a full disk is one sentence and code 74", arguments: [["checksum", "/etc/hostname"], ["machine"]])
    func fullDisk(arguments: [String]) throws {
        var command = Command.overdrive(arguments)
        command.output = .file("/dev/full", flags: O_WRONLY)
        let outcome = try command.run()
        #expect(outcome.errors == "overdrive: cannot write the results: No space left on device\n")
        #expect(outcome.status == 74)
    }

    @Test(
        "a reader that goes away, as head does, ends it as it ends every command: by SIGPIPE, without a word",
        arguments: [["checksum", "/etc/hostname"], ["machine"]])
    func brokenPipe(arguments: [String]) throws {
        let ends = try Scratch.pipe()
        close(ends.reading)
        var command = Command.overdrive(arguments)
        command.output = .descriptor(ends.writing)
        let outcome = try command.run()
        close(ends.writing)
        #expect(outcome.errors == "")
        #expect(outcome.status == 128 + SIGPIPE)
    }

    @Test("a closed standard error or input hinders nothing")
    func closedErrors() throws {
        var command = Command.overdrive(["checksum", "/etc/hostname", "/nonexistent"])
        command.errors = .closed
        command.input = .closed
        let outcome = try command.run()
        #expect(outcome.lines.count == 1)
        #expect(outcome.status == 1)
        // What is opened takes the place of no stream.
        command.arguments = ["run", "--", "sh", "-c", "readlink /proc/$PPID/fd/0 /proc/$PPID/fd/2", ":::", "x"].map { Array($0.utf8) }
        #expect(try command.run().lines == ["/dev/null", "/dev/null"])
    }

    @Test("nothing but results is written when standard error is no terminal")
    func quiet() throws {
        let outcome = try Command.overdrive(["checksum", "/etc/hostname"]).run()
        #expect(outcome.errors == "")
    }
}
#endif
