#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore

/// The options that all batch commands share.
struct BatchSetup: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Records finished items in this directory; the same command resumes from there.",
            valueName: "dir"))
    var journal: PathArgument?

    @Option(
        help: ArgumentHelp(
            "Runs only this shard of the job, such as 3/16; /16 takes the index from the array job.",
            valueName: "i/n"))
    var shard: String?

    @Option(
        help: ArgumentHelp(
            "Divides the job between N processes on this machine, 1 to 1024.", valueName: "n"))
    var processes: Int?

    @Option(
        help: ArgumentHelp(
            "Shows progress on standard error: auto, bar, json or none.", valueName: "kind"))
    var progress: ProgressKind = .auto

    @Option(
        help: ArgumentHelp("Writes the report to this file: JSON if the name ends in .json.", valueName: "file"))
    var report: PathArgument?

    @Flag(help: "Retries items that an earlier run gave up.")
    var retryFailed = false

    @Option(
        help: ArgumentHelp(
            "Requeues a Slurm job near its time limit (SIGUSR1), or whose journal is held, at most this many times.",
            valueName: "n")
    )
    var requeue = 0

    @Option(help: .hidden)
    var shardOf: Int32?

    enum ProgressKind: String, ExpressibleByArgument, CaseIterable { case auto, bar, json, none }

    func validate() throws {
        do throws(BatchError) {
            _ = try chosenShard
        } catch {
            throw ValidationError("\(error).")
        }
        if shard != nil, journal == nil { throw ValidationError("--shard needs a --journal, for the merge.") }
        if retryFailed || requeue > 0, journal == nil {
            throw ValidationError("--retry-failed and --requeue need a --journal.")
        }
        if let processes {
            guard (1...EngineName.mostJobs).contains(processes) else {
                throw ValidationError(
                    "--processes takes a number from 1 to \(EngineName.mostJobs), not \(processes).")
            }
            guard journal != nil, shard == nil, report == nil else {
                throw ValidationError(
                    "--processes needs a --journal, and cannot be combined with --shard or --report.")
            }
        }
        if requeue < 0 { throw ValidationError("--requeue takes a number of 0 or more, not \(requeue).") }
    }

    var directory: String? { journal.map { String(decoding: $0.bytes, as: UTF8.self) } }

    var chosenShard: Shard {
        get throws(BatchError) { try shard.map { text throws(BatchError) in try Shard(text) } ?? .whole }
    }

    func options() throws(BatchError) -> BatchOptions {
        var options = BatchOptions()
        options.journal = directory
        options.shard = try chosenShard
        options.endsOnSignals = true
        if requeue > 0 { StopSignals.heedWarnings() }
        if let shardOf { Processes.endWith(shardOf) }
        options.retriesQuarantined = retryFailed
        options.progress =
            switch progress {
            case .auto: StandardError.isTerminal ? .bar : .none
            case .bar: .bar
            case .json: .json
            case .none: .none
            }
        return options
    }

    /// Runs a batch. If a lost node still holds the journal, Slurm tries again later.
    func run(_ batch: () throws(BatchError) -> BatchReport) throws(BatchError) -> BatchReport {
        do throws(BatchError) {
            return try batch()
        } catch {
            if case .locked = error, requeue > 0 { SlurmJob.requeueThis(atMost: requeue) }
            throw error
        }
    }

    /// Writes the requested report, and requeues the job in Slurm after its warning of a time limit.
    ///
    /// - Parameter code: The exit code of a run that `--halt` ended.
    /// - Returns: The exit status for an early end or an output error; nil if the batch finished.
    func conclude(_ report: BatchReport, _ output: OrderedOutput, haltedWith code: Int32? = nil) -> ExitStatus? {
        output.flush()
        if report.cutOff > 0 {
            StandardError.say(
                "the journal ended in the middle of a record: \(report.cutOff) bytes were ignored, and their items were run again"
            )
        }
        if let place = self.report {
            let text = place.bytes.suffix(5) == Bytes(ascii: ".json")[...] ? report.json + "\n" : report.text
            let file = place.bytes.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
            let error = file < 0 ? errno : StandardStreams.write(Bytes(ascii: text)[...], to: file) { false }
            if file >= 0 { close(file) }
            if error != 0 {
                StandardError.say(place.bytes, "cannot write the report: \(sentence(forError: error))")
                return error == EROFS ? .readOnly : .output
            }
        }
        // This comes last, because the process ends here if its output has no reader.
        if let status = output.status { return status }
        guard report.ending == .interrupted || output.error == EINTR else {
            if report.shard.count > 1, shardOf == nil, progress != .json {
                StandardError.say(
                    "shard \(report.shard): \(Quantity.count(report.done)) of \(Quantity.count(report.items)) items are done; "
                        + "to print the outputs of all shards: overdrive merge \(SlurmScript.quoted(directory ?? ""))")
            }
            return nil
        }
        for name in report.stuck { StandardError.say(name, "did not end in time") }
        let hint = journal == nil ? "" : "; run the same command again to resume"
        if let code, StopSignals.received == nil {
            StandardError.say(
                "halted: \(Quantity.count(report.done)) of \(Quantity.count(report.items)) items are done\(hint)")
            Glibc.exit(code)
        }
        StandardError.say(
            "interrupted: \(Quantity.count(report.done)) of \(Quantity.count(report.items)) items are done\(hint)"
        )
        // Only the warning of a time limit requeues the job. SIGTERM also comes when the job is cancelled, or
        // requeued by Slurm.
        if requeue > 0, StopSignals.received == SIGUSR1 { SlurmJob.requeueThis(atMost: requeue) }
        return .interrupted
    }
}

extension BatchError {
    /// The exit status of a command that this error ends.
    var status: ExitStatus {
        switch self {
        case .locked: .locked
        case .foreign, .corrupt, .incomplete: .data
        case .fenced: .locked
        case .system(_, _, EROFS): .readOnly
        case .system(_, _, EMFILE), .system(_, _, ENFILE), .system(_, _, ENOMEM), .system(_, _, EAGAIN): .system
        case .system: .output
        case .shard: .usage
        case .noJournal: .noInput
        }
    }
}

/// Runs the body of a command, and exits with its status, or with the message and status of its error.
func endingWithASentence(_ body: () throws -> ExitStatus) throws -> Never {
    // A missing reader then causes an error of write(2), so that work under way ends in order.
    signal(SIGPIPE, SIG_IGN)
    do {
        let status = try body()
        exit(status.rawValue)
    } catch let error as BatchError {
        StandardError.say(error.description)
        exit(error.status.rawValue)
    } catch let error as BatchRefusal {
        StandardError.say(error.sentence)
        exit(error.status.rawValue)
    } catch let error as SchedulerError {
        StandardError.say("cannot start: \(error)")
        exit(ExitStatus.system.rawValue)
    }
}
#endif
