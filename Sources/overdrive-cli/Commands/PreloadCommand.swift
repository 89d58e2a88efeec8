#if CLI
internal import ArgumentParser

/// `overdrive preload`.
struct PreloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preload",
        abstract: "Runs a program with Swift's tasks on Overdrive's workers, its source unchanged.",
        discussion: """
            Example: overdrive preload -- ./server --port 8080

            The program and what it starts inherit LD_PRELOAD; those without Swift's concurrency runtime start as \
            ever. A fully static program, or one linked with -static-stdlib, cannot be reached: that is said, and it \
            runs as it is. The exit code is the program's own; 64 or 71 where it could not be started.

            \(ExitStatus.help)
            """
    )

    @Option(
        help: ArgumentHelp(
            "The library that scripts/build-preload has made; otherwise it is looked for beside this command.",
            valueName: "path"))
    var library: PathArgument?

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "program"))
    var words: [PathArgument] = []

    func validate() throws {
        guard !words.isEmpty else {
            throw ValidationError("preload takes a program after two dashes: overdrive preload -- program argument…")
        }
        try Settings.validate()
    }

    func run() throws {
        StandardError.say(Launch(words: words.map(\.bytes), library: library?.bytes).run())
        throw ExitCode(ExitStatus.system.rawValue)
    }
}
#endif
