#if CLI
internal import ArgumentParser

/// `overdrive preload`.
struct PreloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preload",
        abstract: "Runs a program's Swift tasks on Overdrive's workers, without a change to its source.",
        discussion: """
            Example: overdrive preload -- ./server --port 8080

            The program and its child processes inherit LD_PRELOAD. Programs without Swift's concurrency runtime run \
            as usual. A fully static program, or one linked with -static-stdlib, also runs as usual, after a \
            warning. The exit code is the program's, or 64 or 71 if it could not be started.

            EXIT CODES: the program's; 64 wrong usage; 71 the library or the program cannot be started.
            """
    )

    @Option(
        help: ArgumentHelp(
            "The library that scripts/build-preload built; by default the one beside this command.",
            valueName: "path"))
    var library: PathArgument?

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "program"))
    var words: [PathArgument] = []

    func validate() throws {
        guard !words.isEmpty else {
            throw ValidationError("preload needs a program after --: overdrive preload -- program argument…")
        }
        try Settings.validate()
    }

    func run() throws {
        StandardError.say(Launch(words: words.map(\.bytes), library: library?.bytes).run())
        throw ExitCode(ExitStatus.system.rawValue)
    }
}
#endif
