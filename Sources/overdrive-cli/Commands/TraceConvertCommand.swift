#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive trace convert`.
struct TraceConvertCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case perfetto, chrome
    }

    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Writes a trace in another format.",
        discussion: """
            Example: overdrive trace convert run.pftrace -o run.json --format chrome, for chrome://tracing and other viewers.

            \(ExitStatus.help)
            """
    )

    @Argument(help: ArgumentHelp("The trace.", valueName: "file"))
    var file: PathArgument

    @Option(name: .shortAndLong, help: ArgumentHelp("The new file.", valueName: "file"))
    var output: PathArgument

    @Option(help: "The format of the new file.")
    var format = Format.perfetto

    func run() throws {
        let bytes = try TraceInput.map(file.bytes, for: "trace convert")
        guard TraceFile.isTrace(bytes) else { throw TraceInput.refuse(file.bytes, for: "trace convert") }
        guard format == .chrome else {
            let name = String(decoding: file.bytes.printable, as: UTF8.self)
            throw ValidationError("trace convert: the file has this format already (\(name)). Add --format chrome.")
        }
        let output = try TraceOutput(self.output.bytes, for: "trace convert")
        var chrome = TraceChrome { output.write($0) }
        chrome.convert(bytes)
        try output.finish()
    }
}
#endif
