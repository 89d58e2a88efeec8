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

            \(ExitStatus.help)
            """,
        subcommands: [TraceRecordCommand.self, TraceReportCommand.self],
        defaultSubcommand: TraceRecordCommand.self
    )
}

/// `overdrive trace -o FILE -- COMMAND`.
struct TraceRecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Runs a program and records its trace.",
        discussion: """
            The program inherits OVERDRIVE_TRACE. The exit code is the program's, or 64 or 71 if it could not be started.

            \(ExitStatus.help)
            """
    )

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The new file. FILE:10s or FILE:64M ends the trace there; %p is the process number.", valueName: "file"))
    var output: PathArgument

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "program"))
    var words: [PathArgument] = []

    func validate() throws {
        guard !words.isEmpty, !output.bytes.isEmpty else {
            throw ValidationError("trace needs a program after --: overdrive trace -o FILE -- program argument…")
        }
    }

    func run() throws {
        // The program may change its directory before its first closure.
        let folder = output.bytes.first == .slash ? nil : getcwd(nil, 0)
        defer { free(folder) }
        let before = folder.map { UnsafeRawBufferPointer(start: $0, count: strlen($0)) + [.slash] } ?? []
        let file = Bytes(before) + output.bytes
        _ = file.withCString { setenv("OVERDRIVE_TRACE", $0, 1) }
        StandardError.say(Launch.replace(by: words.map(\.bytes)))
        throw ExitCode(ExitStatus.system.rawValue)
    }
}

/// `overdrive trace report`.
struct TraceReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Prints where time went in a trace, by the labels of queues.",
        discussion: """
            The first lines name the queues that kept workers idle or blocked. The table has, for each label, the time that its \
            closures ran and blocked, and how long they waited from submission to start.

            \(ExitStatus.help)
            """
    )

    @Argument(help: ArgumentHelp("The trace.", valueName: "file"))
    var file: PathArgument

    func run() throws {
        let name = String(decoding: file.bytes.printable, as: UTF8.self)
        let descriptor = file.bytes.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            StandardError.say("trace report: cannot read the trace (\(name): \(sentence(forError: errno))). Name a file that exists.")
            throw ExitCode(ExitStatus.noInput.rawValue)
        }
        let size = Int(status.st_size)
        let start = size > 0 ? mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED
        guard let start, start != MAP_FAILED, let report = TraceReport(UnsafeRawBufferPointer(start: start, count: size)) else {
            StandardError.say("trace report: the file is no trace of Overdrive (\(name)). Write one with overdrive trace -o FILE.")
            throw ExitCode(ExitStatus.data.rawValue)
        }
        let error = StandardStreams.write(Bytes(report.text.utf8)[...], to: 1) { false }
        if error != 0 {
            StandardError.say("cannot write the results: \(sentence(forError: error))")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }
}
#endif
