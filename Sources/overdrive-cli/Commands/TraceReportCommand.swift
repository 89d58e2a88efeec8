#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive trace report`.
struct TraceReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Prints where time went in a trace, by the labels of queues.",
        discussion: """
            The first lines name the queues that kept workers idle or blocked. The table has, for each label, the time that its \
            closures ran and blocked, and how long they waited from submission to start.

            Example: overdrive trace report run.pftrace --html run.html

            EXIT CODES: 0 written; 64 wrong usage; 65 the file is no trace; 66 the file cannot be read; 74 the results could not be written.
            """
    )

    @Argument(help: ArgumentHelp("The trace.", valueName: "file"))
    var file: PathArgument

    @Flag(help: "Prints one JSON object. Times are nanoseconds.")
    var json = false

    @Option(help: ArgumentHelp("Writes a page with the timeline into this new file.", valueName: "file"))
    var html: PathArgument?

    func validate() throws {
        if json, html != nil { throw ValidationError("--json cannot be combined with --html; write the report twice") }
    }

    func run() throws {
        let bytes = try TraceInput.map(file.bytes, for: "trace report")
        guard let report = TraceReport(bytes) else { throw TraceInput.refuse(file.bytes, for: "trace report") }
        if let html {
            let output = try TraceOutput(html.bytes, for: "trace report")
            output.write(Bytes(TracePage(report, bytes).html.utf8))
            try output.finish()
            return
        }
        let error = StandardStreams.write(Bytes((json ? try report.json() : report.text).utf8)[...], to: 1) { false }
        if error != 0 {
            StandardError.say("cannot write the results: \(sentence(forError: error))")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }
}

/// The file that a command reads.
enum TraceInput {
    /// Returns the file's bytes, which stay mapped.
    static func map(_ path: Bytes, for command: String) throws -> UnsafeRawBufferPointer {
        let name = String(decoding: path.printable, as: UTF8.self)
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        defer { if descriptor >= 0 { close(descriptor) } }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            StandardError.say("\(command): cannot read the trace (\(name): \(sentence(forError: errno))). Name a file that exists.")
            throw ExitCode(ExitStatus.noInput.rawValue)
        }
        let size = Int(status.st_size)
        guard size > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let start, start != MAP_FAILED else { throw refuse(path, for: command) }
        return UnsafeRawBufferPointer(start: start, count: size)
    }

    /// Prints that the file is no trace. Returns the exit code.
    static func refuse(_ path: Bytes, for command: String) -> ExitCode {
        let name = String(decoding: path.printable, as: UTF8.self)
        StandardError.say("\(command): the file is no trace of Overdrive (\(name)). Write one with overdrive trace -o FILE, or make one of a recording with overdrive trace convert.")
        return ExitCode(ExitStatus.data.rawValue)
    }
}

/// A new file that a command writes. It is removed if it cannot be written whole.
final class TraceOutput {
    private let path: Bytes
    private let command: String
    private let descriptor: Int32
    private var buffer = Bytes()
    private var error: Int32 = 0

    /// Creates the file, which must not exist.
    init(_ path: Bytes, for command: String) throws {
        self.path = path
        self.command = command
        descriptor = path.withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard descriptor >= 0 else {
            let name = String(decoding: path.printable, as: UTF8.self)
            StandardError.say(
                "\(command): cannot create the file (\(name): \(sentence(forError: errno))). Name a new file in a folder that you may write to.")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }

    func write(_ bytes: Bytes) {
        buffer += bytes
        if buffer.count >= 1 << 16 { flush() }
    }

    private func flush() {
        if error == 0 { error = StandardStreams.write(buffer[...], to: descriptor) { false } }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the rest and closes the file.
    func finish() throws {
        flush()
        if close(descriptor) != 0, error == 0 { error = errno }
        guard error != 0 else { return }
        _ = path.withCString { unlink($0) }
        let name = String(decoding: path.printable, as: UTF8.self)
        StandardError.say("\(command): cannot write the file (\(name): \(sentence(forError: error))). Free space, or name another folder.")
        throw ExitCode(ExitStatus.output.rawValue)
    }
}
#endif
