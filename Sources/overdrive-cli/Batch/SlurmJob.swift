#if CLI
internal import Glibc
internal import OverdriveCore

/// Talks to Slurm by its commands.
enum SlurmJob {
    /// The time limit of a Slurm command in seconds. A controller that is starting answers late.
    static let patience = 60.0

    /// Runs a Slurm command.
    ///
    /// - Parameter patience: The time limit in seconds; shorter in tests.
    /// - Returns: The command's output.
    /// - Throws: A `BatchRefusal` if the command is not installed, does not answer or fails.
    static func ask(_ words: [String], patience: Double = SlurmJob.patience) throws(BatchRefusal) -> String {
        let deadline = ContinuousClock.now + .seconds(patience)
        let outcome: ChildProcess.Outcome
        do throws(ChildProcess.StartError) {
            outcome = try ChildProcess.run(words.map { Bytes(ascii: $0) }) { ContinuousClock.now > deadline }
        } catch {
            throw BatchRefusal(
                .unavailable,
                "Slurm is not installed here: '\(words[0])' \(error.sentence); see --dry-run for the script")
        }
        guard outcome.isSuccess else {
            let said = String(decoding: outcome.errors, as: UTF8.self).split(separator: "\n").joined(
                separator: " ")
            if ContinuousClock.now > deadline {
                throw BatchRefusal(.noAnswer, "Slurm's \(words[0]) did not answer within \(Int(patience)) s")
            }
            throw BatchRefusal(
                .unavailable, "Slurm's \(words[0]) refused: \(said.isEmpty ? outcome.sentence : said)")
        }
        return String(decoding: outcome.output, as: UTF8.self)
    }

    /// Returns the job number from the output of sbatch: the last line with a number. Some sites print other text
    /// around it.
    static func number(in text: String) -> Substring? {
        for line in text.split(separator: "\n").reversed() {
            let words = line.split { $0 == " " || $0 == "\r" || $0 == "\t" }
            // The forms are `4711`, `4711;cluster` and, without --parsable, `Submitted batch job 4711 on cluster …`.
            let place = words.count >= 4 && words[..<3] == ["Submitted", "batch", "job"] ? 3 : 0
            guard words.count == 1 || place == 3 else { continue }
            let number = words[place].prefix { $0 != ";" }
            if !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) { return number }
        }
        return nil
    }

    /// Requeues this job, unless that has happened `limit` times. The journal keeps the finished items.
    static func requeueThis(atMost limit: Int) {
        func number(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard let job = number("SLURM_JOB_ID") else { return }
        let restarts = number("SLURM_RESTART_COUNT").flatMap { Int($0) } ?? 0
        guard restarts < limit else {
            StandardError.say(
                "this job was already requeued \(restarts) times: submit it again by hand")
            return
        }
        var name = job
        if let array = number("SLURM_ARRAY_JOB_ID"), let task = number("SLURM_ARRAY_TASK_ID") {
            name = "\(array)_\(task)"
        }
        do throws(BatchRefusal) {
            _ = try ask(["scontrol", "requeue", name])
        } catch {
            StandardError.say("cannot requeue \(name): \(error.sentence)")
        }
    }
}

/// The scripts that `overdrive submit slurm` writes.
struct SlurmScript {
    var name: String
    var shards: Int
    var cpus: Int
    var memory: String?
    var time: String?
    var partition: String?
    /// Additional options, written after #SBATCH.
    var extra: [String] = []
    /// The journal's absolute path.
    var journal: String
    /// The words of each shard's command.
    var words: [String]
    /// Whether the command is `overdrive`, which handles SIGUSR1. SIGTERM would not do, because scancel also sends
    /// it.
    var heedsWarnings: Bool
    /// The words of the command that merges the shards.
    var merge: [String]

    /// The script of the array of shards.
    var text: String {
        var lines = ["#!/bin/bash", "#SBATCH --job-name=\(Self.directive(name))", "#SBATCH --array=0-\(shards - 1)"]
        lines += options
        lines += [
            "#SBATCH --cpus-per-task=\(cpus)",
            "#SBATCH --requeue",
            "#SBATCH --open-mode=append",
            "#SBATCH --signal=B:\(heedsWarnings ? "USR1" : "TERM")@60",
            "#SBATCH --output=\(Self.pattern(in: journal, "/log/shard-%a.log"))",
            "# The warning a minute before the time limit reaches this shell alone, so the command takes its place.",
            "exec \(words.map(Self.quoted).joined(separator: " "))",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The script of the merge. It begins whatever the outcome of the shards, and reports missing items itself.
    var mergeText: String {
        var lines = ["#!/bin/bash", "#SBATCH --job-name=\(Self.directive(name + "-merge"))"]
        lines += options
        lines += [
            "#SBATCH --cpus-per-task=1", "#SBATCH --requeue", "#SBATCH --open-mode=append",
            "#SBATCH --output=\(Self.pattern(in: journal, "/log/merge.log"))",
            "exec \(merge.map(Self.quoted).joined(separator: " "))",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The path of a log. Each % in the folder is doubled, because Slurm replaces letters after a single %.
    private static func pattern(in folder: String, _ name: String) -> String {
        directive(folder.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%") + name)
    }

    /// Returns a value for a Slurm directive, in quotes if it contains blanks or `#`.
    private static func directive(_ value: String) -> String {
        guard value.contains(where: { " \t#'\"\\".contains($0) }) else { return value }
        return "\"" + value.flatMap { "\"\\".contains($0) ? "\\\($0)" : "\($0)" } + "\""
    }

    private var options: [String] {
        var lines: [String] = []
        if let partition { lines.append("#SBATCH --partition=\(partition)") }
        if let time { lines.append("#SBATCH --time=\(time)") }
        if let memory { lines.append("#SBATCH --mem=\(memory)") }
        return lines + extra.map { "#SBATCH \($0)" }
    }

    /// Returns a word quoted for a shell.
    static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || "/._-=+,:@%{}".utf8.contains(byte)
        }
        return plain && !word.isEmpty
            ? word
            : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
                + "'"
    }
}
#endif
