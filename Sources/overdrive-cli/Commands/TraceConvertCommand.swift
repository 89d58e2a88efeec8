#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveCore

/// `overdrive trace convert`.
struct TraceConvertCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case perfetto, chrome
    }

    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Makes a trace of a recording, or writes a trace in Chrome's format.",
        discussion: """
            OVERDRIVE_RECORDER=DIR makes a program write recordings: its last seconds. Perfetto and overdrive trace report read \
            the trace of a recording.

            Example: overdrive trace convert run.pftrace -o run.json --format chrome, for chrome://tracing and other viewers.

            EXIT CODES: 0 converted; 64 wrong usage; 65 the file is no trace or recording; 66 the file cannot be read; \
            74 the new file could not be written.
            """
    )

    @Argument(help: ArgumentHelp("The recording, or the trace.", valueName: "file"))
    var file: PathArgument

    @Option(name: .shortAndLong, help: ArgumentHelp("The new file (default of a recording: FILE.pftrace).", valueName: "file"))
    var output: PathArgument?

    @Option(help: "The format of the new file.")
    var format = Format.perfetto

    func run() throws {
        let bytes = try TraceInput.map(file.bytes, for: "trace convert")
        let isTrace = TraceFile.isTrace(bytes)
        switch format {
        case .perfetto:
            guard !isTrace else {
                let name = String(decoding: file.bytes.printable, as: UTF8.self)
                throw ValidationError("trace convert: the file has this format already (\(name)). Add --format chrome.")
            }
            try convertRecording()
        case .chrome:
            guard isTrace else { throw TraceInput.refuse(file.bytes, for: "trace convert") }
            guard let path = output else { throw ValidationError("trace convert: no name for the new file. Add -o FILE.") }
            let output = try TraceOutput(path.bytes, for: "trace convert")
            var chrome = TraceChrome { output.write($0) }
            chrome.convert(bytes)
            try output.finish()
        }
    }

    private func convertRecording() throws {
        let (outcome, sentence) = OverdriveCore.convertRecording(file.bytes, to: output?.bytes ?? file.bytes + Bytes(".pftrace".utf8))
        if !sentence.isEmpty { StandardError.say("trace convert: " + String(decoding: Bytes(sentence.utf8).printable, as: UTF8.self)) }
        switch outcome {
        case .converted: return
        case .unreadable: throw ExitCode(ExitStatus.noInput.rawValue)
        case .invalid: throw ExitCode(ExitStatus.data.rawValue)
        case .unwritten: throw ExitCode(ExitStatus.output.rawValue)
        }
    }
}
#endif
