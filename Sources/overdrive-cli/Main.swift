#if CLI
internal import ArgumentParser
internal import CCommandSystem
internal import Glibc
internal import OverdriveCore

/// The `overdrive` command.
struct OverdriveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overdrive",
        abstract: "Batch jobs on the Overdrive scheduler.",
        discussion: """
            The environment variables OVERDRIVE_WORKERS (a number) and OVERDRIVE_PLACEMENT (none, node, core \
            or automatic) set what the machine would otherwise decide.

            \(ExitStatus.help)
            """,
        version: "0.1.0",
        subcommands: [
            ChecksumCommand.self,
            RunCommand.self,
            MergeCommand.self,
            SubmitCommand.self,
            StatusCommand.self,
            MachineCommand.self,
            BenchCommand.self,
            PreloadCommand.self,
            TraceCommand.self,
            TopCommand.self,
            DumpCommand.self,
            AdoptCommand.self,
        ]
    )
}

@main
enum Main {
    static func main() {
        note_ignored_signals()
        // The runtime's handler would print a backtrace, and commands under way would continue.
        signal(SIGQUIT, started_ignoring(SIGQUIT) != 0 ? SIG_IGN : SIG_DFL)
        // If the parent process had ignored this signal, the exit status of children would be lost.
        signal(SIGCHLD, SIG_DFL)
        guard StandardStreams.repair() else {
            StandardError.say("standard output is closed, so no results can be written")
            exit(ExitStatus.output.rawValue)
        }
        if let sentence = AddressSpace.prepare() {
            StandardError.say(sentence)
            exit(ExitStatus.system.rawValue)
        }
        Scheduler.onWarning { StandardError.say($0) }  // If there is a bar, warnings are printed on a separate line.
        do {
            let arguments = ChecksumCommand.withSeparateValues(try RunWords.ofProcess)
            if ["run", "checksum"].contains(arguments.first) { endEarlyRequests() }
            try refuseDashedNames(arguments)
            var command = try OverdriveCommand.parseAsRoot(arguments)
            try command.run()
        } catch let code as ExitCode {
            exit(code.rawValue)
        } catch let refusal as BatchRefusal {
            StandardError.say(refusal.sentence)
            exit(refusal.status.rawValue)
        } catch {
            exit(report(error))
        }
    }

    /// Makes a request to end that comes before the run listens exit with the same code as a later one.
    private static func endEarlyRequests() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0,
                action.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) != 1 }) ?? true
            else { continue }
            Glibc.signal(signal) { _ in _exit(ExitStatus.interrupted.rawValue) }
        }
    }

    /// Rejects several letters after one dash: they are a file's name without `./`. The parser would read each letter
    /// as an option, such as `h` for help.
    private static func refuseDashedNames(_ arguments: [String]) throws {
        for argument in arguments.prefix(while: { $0 != "--" })
        where argument.first == "-" && argument.count > 2 && !argument.hasPrefix("--") {
            throw ValidationError("there is no option '\(argument)': write ./\(argument) for a file of that name")
        }
    }

    /// Prints the error in one sentence, or the requested help. Returns the exit code.
    private static func report(_ error: any Error) -> Int32 {
        guard OverdriveCommand.exitCode(for: error) != .success else {
            print(OverdriveCommand.fullMessage(for: error))
            return ExitStatus.success.rawValue
        }
        let message = OverdriveCommand.message(for: error)
        let sentence = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        StandardError.write(
            Bytes(ascii: "overdrive: ") + RawArgument.bytes(for: sentence).printable + Bytes(ascii: "\n")
        )
        return ExitStatus.usage.rawValue
    }
}
#else
internal import Glibc

/// Replaces the command in a build without the `CLI` trait, which fetches no dependency.
@main
enum Main {
    static func main() {
        StandardError.say("built without its command; build it with: swift build --traits CLI")
        exit(ExitStatus.usage.rawValue)
    }
}
#endif
