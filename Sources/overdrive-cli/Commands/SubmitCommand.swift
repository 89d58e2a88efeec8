#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveBatch

/// `overdrive submit`.
struct SubmitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit", abstract: "Submits the shards of a job to a cluster.",
        subcommands: [SubmitSlurmCommand.self])
}

/// `overdrive submit slurm`.
struct SubmitSlurmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slurm",
        abstract: "Submits a job to Slurm: an array with one shard per element, then a merge.",
        usage:
            "overdrive submit slurm [options] --journal DIR --shards N -- checksum PATH… | run [options] -- COMMAND … | PROGRAM …",
        discussion: """
            The list of files is stored now. A shard that loses its node, is preempted or nears its time limit resumes from \
            its journal when Slurm runs it again; scancel ends it. The scripts are left in DIR. The command line of your own PROGRAM \
            is not changed: give it --journal DIR and --shard /N, as the programs in Examples do.

            DIR, the data and this program must be on a file system that all nodes share.

            EXIT CODES: 0 submitted; 64 wrong usage; 69 Slurm is not installed, or refused the job; 73 DIR is on a read-only \
            file system; 74 DIR cannot be written; 76 Slurm does not answer.
            """
    )

    @Option(help: ArgumentHelp("The job's journal, on a file system that all nodes share.", valueName: "dir"))
    var journal: PathArgument

    @Option(help: ArgumentHelp("The number of shards, 1 to 100000.", valueName: "n"))
    var shards: Int

    @Option(help: ArgumentHelp("The file for the merged output; by default DIR/output.", valueName: "file"))
    var output: PathArgument?

    @Option(help: ArgumentHelp("The job's name in Slurm.", valueName: "name"))
    var name = "overdrive"

    @Option(help: ArgumentHelp("CPUs of each shard.", valueName: "n"))
    var cpus = 1

    @Option(help: ArgumentHelp("Memory of each shard in Slurm's form, such as 2G.", valueName: "size"))
    var memory: String?

    @Option(
        help: ArgumentHelp(
            "Time limit of each shard in Slurm's form, such as 02:00:00.", valueName: "time"))
    var time: String?

    @Option(help: ArgumentHelp("Slurm's partition.", valueName: "name"))
    var partition: String?

    @Option(
        help: ArgumentHelp(
            "A further option of sbatch, such as --account=physics; may be repeated.", valueName: "option"))
    var sbatch: [String] = []

    @Option(
        help: ArgumentHelp(
            "How often a shard may requeue itself near its time limit.", valueName: "n"))
    var requeue = 10

    @Flag(help: "Prints the scripts without submitting them.")
    var dryRun = false

    @Argument(parsing: .postTerminator, help: "The command to run.")
    var command: [String] = []

    func validate() throws {
        guard (1...100_000).contains(shards) else {
            throw ValidationError("--shards takes a number from 1 to 100000, not \(shards).")
        }
        guard (1...EngineName.mostJobs).contains(cpus) else {
            throw ValidationError("--cpus takes a number from 1 to \(EngineName.mostJobs), not \(cpus).")
        }
        guard requeue >= 0 else {
            throw ValidationError("--requeue takes a number of 0 or more, not \(requeue).")
        }
    }

    func run() throws {
        guard let verb = command.first else {
            throw ValidationError("submit slurm needs a command: … -- checksum PATH")
        }
        for text in command + [name]
        where RawArgument.bytes(for: text) != Array(text.utf8) || text.contains("\n") {
            throw ValidationError(
                "a word of the command is not UTF-8 or has a line feed, which a script cannot contain: use run --items."
            )
        }
        try endingWithASentence {
            let directory = Self.absolute(String(decoding: journal.bytes, as: UTF8.self))
            let program = Self.ownPath
            let shard = [
                "--journal", directory, "--shard", "/\(shards)", "--requeue", "\(requeue)", "--progress",
                "none",
            ]
            var words = command
            switch verb {
            case "checksum":
                var rest = ChecksumCommand.withSeparateValues(command).dropFirst()
                var options: [String] = []
                let valued = ["--algorithm", "--exclude", "--min-size", "--max-size", "--jobs", "-j"]
                while let word = rest.first, word.hasPrefix("-"), word != "-" {
                    rest = rest.dropFirst()
                    if word == "--" { break }
                    guard !word.hasPrefix("--files0-from") else {
                        throw BatchRefusal(.usage, "submit slurm takes no --files0-from: name the paths")
                    }
                    options.append(word)
                    if valued.contains(word), let value = rest.popFirst() { options.append(value) }
                }
                let paths = rest.map(Self.absolute)
                guard !paths.isEmpty else {
                    throw BatchRefusal(.usage, "checksum needs a PATH to read")
                }
                // Errors are reported now, not by each shard.
                let command = try ChecksumCommand.parse(options + ["--journal", directory] + paths)
                if !dryRun {
                    _ = try JournalledChecksum.freeze(paths.map { Bytes(ascii: $0) }, command.selection, in: directory)
                }
                words = [program, "checksum"] + options + shard + ["--"] + paths
            case "run":
                words = [program, "run"] + shard + command.dropFirst()
            default: break
            }
            let merged =
                output.map { Self.absolute(String(decoding: $0.bytes, as: UTF8.self)) }
                ?? "\(directory)/output"
            let script = SlurmScript(
                name: name, shards: shards, cpus: cpus, memory: memory, time: time, partition: partition,
                extra: sbatch,
                journal: directory, words: words, heedsWarnings: verb == "checksum" || verb == "run", merge: [program, "merge", "--output", merged, directory])
            if dryRun {
                let output = OrderedOutput()
                output.append(Bytes(ascii: script.text + "\n" + script.mergeText))
                return output.status ?? .success
            }
            return try submit(script, directory)
        }
    }

    private func submit(_ script: SlurmScript, _ directory: String) throws(BatchRefusal) -> ExitStatus {
        for path in [directory, "\(directory)/log"] where mkdir(path, 0o777) != 0 && errno != EEXIST {
            throw .system(path, "creation")
        }
        let (shards, merge) = ("\(directory)/shards.sbatch", "\(directory)/merge.sbatch")
        try Self.write(script.text, to: shards)
        try Self.write(script.mergeText, to: merge)
        let answer = try SlurmJob.ask(["sbatch", "--parsable", shards])
        guard let job = SlurmJob.number(in: answer) else {
            throw BatchRefusal(
                .unavailable,
                "sbatch printed no job number (\(answer.split(separator: "\n").last ?? "")), so the merge is not queued: find the "
                    + "shards' number N with squeue, then run: sbatch --dependency=afterany:N \(SlurmScript.quoted(merge))")
        }
        try Self.write("\(job)\n", to: "\(directory)/slurm-job")
        let after: String
        do throws(BatchRefusal) {
            let answer = try SlurmJob.ask(["sbatch", "--parsable", "--dependency=afterany:\(job)", merge])
            after = SlurmJob.number(in: answer).map(String.init) ?? "(sbatch printed no number)"
        } catch {
            throw BatchRefusal(
                error.status,
                "the shards are queued (\(job)), but the merge is not: \(error.sentence); to queue the merge: sbatch "
                    + "--dependency=afterany:\(job) \(merge); to cancel the shards: scancel \(job)")
        }
        let output = OrderedOutput()
        output.append(
            Bytes(ascii: "shards \(job), merge \(after); to see their progress: overdrive status \(directory)\n"))
        return output.status ?? .success
    }

    private static func write(_ text: String, to path: String) throws(BatchRefusal) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw .system(path, "creation") }
        defer { close(file) }
        let error = StandardStreams.write(Bytes(ascii: text)[...], to: file) { false }
        errno = error
        guard error == 0 else { throw .system(path, "writing") }
    }

    /// Returns an absolute path, because jobs start in another directory.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        return String(cString: here) + "/" + path
    }

    private static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return "overdrive" }
        defer { free(path) }
        return String(cString: path)
    }
}

/// `overdrive status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Prints the progress of each shard of a job, and its state in Slurm.",
        discussion: """
            EXIT CODES: 0 all items have finished; 1 some have not, or failed; 65 a journal is damaged; 66 no journal.
            """
    )

    @Argument(help: ArgumentHelp("The journal.", valueName: "dir"))
    var directory: PathArgument

    func run() throws {
        try endingWithASentence {
            let directory = String(decoding: directory.bytes, as: UTF8.self)
            let begun = try Self.begun(directory)
            let jobs = Self.queued(directory)
            var table = TextTable(titles: ["shard", "done", "failed", "journal", "Slurm"], rows: [])
            func append(_ found: (shard: Shard, done: Int, quarantined: Int, endedOrderly: Bool)) {
                table.rows.append([
                    "\(found.shard)", Quantity.count(found.done), Quantity.count(found.quarantined),
                    found.endedOrderly ? "closed" : "open",
                    found.shard.count == begun.shards ? jobs[found.shard.index] ?? "-" : "-",
                ])
            }
            // A run without shards may have used the same journal.
            for found in begun.status where found.shard.count != begun.shards { append(found) }
            for index in 0..<begun.shards {
                guard let found = begun.status.first(where: { $0.shard.index == index && $0.shard.count == begun.shards }) else {
                    table.rows.append(["\(index)/\(begun.shards)", "0", "0", "none", jobs[index] ?? "-"])
                    continue
                }
                append(found)
            }
            table.rows.append([
                "all \(begun.items.map { Quantity.count($0) } ?? "")", Quantity.count(begun.done), Quantity.count(begun.failed), "", "",
            ])
            let output = OrderedOutput()
            output.append(Bytes(ascii: table.lines.joined(separator: "\n") + "\n"))
            return output.status ?? (begun.done == begun.items ? .success : .someFailed)
        }
    }

    /// Returns the journals of the shards, the number of shards, and the number of items if it is known.
    private static func begun(_ directory: String) throws(BatchError) -> (
        status: [(shard: Shard, done: Int, quarantined: Int, endedOrderly: Bool)], shards: Int, done: Int, failed: Int, items: Int?
    ) {
        do throws(BatchError) {
            let merge = try BatchMerge(directory)
            let status = merge.status
            let ended = merge.ended
            return (status, status.last?.shard.count ?? 1, ended.done, ended.failed, merge.count)
        } catch {
            // The job is submitted, but Slurm has started no shard.
            guard case .noJournal = error, let shards = submitted(directory) else { throw error }
            return ([], shards, 0, 0, nil)
        }
    }

    /// Returns the number of shards in the script in `directory`; nil if there is no script.
    private static func submitted(_ directory: String) -> Int? {
        let file = open("\(directory)/shards.sbatch", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard let text = Manifest.readAll(file) else { return nil }
        let mark = "#SBATCH --array=0-"
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(mark) }
        return line.flatMap { Int($0.dropFirst(mark.count)) }.map { $0 + 1 }
    }

    /// Returns the state, node and waiting reason of each shard that Slurm still knows; nothing without Slurm.
    private static func queued(_ directory: String) -> [Int: String] {
        let file = open("\(directory)/slurm-job", O_RDONLY | O_CLOEXEC)
        guard file >= 0, let text = Manifest.readAll(file) else { return [:] }
        close(file)
        let job = String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)
        var found: [Int: String] = [:]
        do throws(BatchRefusal) {
            let lines = try SlurmJob.ask(["squeue", "-h", "-r", "-j", job, "-o", "%K|%T|%N|%r"])
            for line in lines.split(separator: "\n") {
                let parts = line.split(separator: "|", omittingEmptySubsequences: false)
                guard parts.count == 4, let index = Int(parts[0]) else { continue }
                found[index] =
                    "\(parts[1])" + (parts[2].isEmpty ? "" : " \(parts[2])")
                    + (parts[3] == "None" ? "" : " (\(parts[3]))")
            }
        } catch {
            StandardError.say("\(error.sentence); the table below comes from the journals only")
        }
        return found
    }
}
#endif
