#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive trace`.
struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Records what a program's schedulers do, and tells where time went.",
        discussion: """
            Example: overdrive trace -o run.pftrace -- ./server, then overdrive trace report run.pftrace

            The program must use Overdrive, or be started with overdrive preload. ui.perfetto.dev opens the file too.

            EXIT CODES: the program's; 64 wrong usage; 71 the program cannot be started.
            """,
        subcommands: [TraceRecordCommand.self, TraceReportCommand.self, TraceConvertCommand.self],
        defaultSubcommand: TraceRecordCommand.self
    )
}

/// `overdrive trace -o FILE -- COMMAND`.
struct TraceRecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Runs a program and records its trace.",
        discussion: """
            The program inherits OVERDRIVE_TRACE. With --pid, a process that was started with OVERDRIVE_TOP=1 writes the file, \
            until the limit or Ctrl-C.

            EXIT CODES: the program's; 64 wrong usage; 71 the program cannot be started. With --pid: 0 written; 66 no such \
            process, no page, or another user's; 74 the process could not write the file.
            """
    )

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The new file. FILE:10s or FILE:64M ends the trace there; %p is the process number.", valueName: "file"))
    var output: PathArgument

    @Option(help: ArgumentHelp("The number of a running process to trace.", valueName: "pid"))
    var pid: Int32?

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "program"))
    var words: [PathArgument] = []

    func validate() throws {
        guard words.isEmpty == (pid != nil), !output.bytes.isEmpty else {
            throw ValidationError("trace needs a program after --, or --pid: overdrive trace -o FILE -- program argument…")
        }
        if let pid, pid < 1 { throw ValidationError("the number of a process is at least 1 (\(pid)); name one that runs") }
    }

    func run() throws {
        // The program may change its directory before its first closure.
        let folder = output.bytes.first == .slash ? nil : getcwd(nil, 0)
        defer { free(folder) }
        let before = folder.map { UnsafeRawBufferPointer(start: $0, count: strlen($0)) + [.slash] } ?? []
        let file = Bytes(before) + output.bytes
        if let pid {
            try RemoteTrace.record(process: pid, file: file)
            return
        }
        _ = file.withCString { setenv("OVERDRIVE_TRACE", $0, 1) }
        StandardError.say(Launch.replace(by: words.map(\.bytes)))
        throw ExitCode(ExitStatus.system.rawValue)
    }
}
#endif
