#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive checksum`.
struct ChecksumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checksum",
        abstract: "Prints the SHA-256 of every file under the paths, as sha256sum does, in order of path.",
        discussion: """
            Files are the ones that `find PATH -type f` names: under a PATH, symbolic links are not followed and \
            special files are passed over. A PATH that is a link to a file is read; one that is a link to a \
            directory is followed when it ends with a slash. - is standard input. Each file is listed once. \
            A file that cannot be read is reported at the end; all others are done. File names may be any \
            bytes; paths may be of any length.

            On a terminal a bar shows how far the job is. Ctrl-C stops it, after the results that are \
            complete up to then.

            With --check, reads a list that this command or sha256sum wrote, and says for each file \
            whether it still matches; here links are followed.

            \(ExitStatus.help)
            """
    )

    @Argument(help: "The files and directories to read; - is standard input.")
    var paths: [PathArgument] = []

    @Option(
        help: ArgumentHelp("Checks the files that this list names; - is standard input.", valueName: "file"))
    var check: PathArgument?

    @Option(
        help: ArgumentHelp(
            "How many files to read at the same time, 1 to \(EngineName.mostJobs).", valueName: "n"))
    var jobs: Int?

    @Option(help: "What runs the job.")
    var engine: EngineName = .overdrive

    @Flag(help: "Prints on standard error what the job and its engine counted.")
    var stats = false

    @Flag(help: "Shows no bar on a terminal.")
    var noProgress = false

    @Flag(help: "With --check: says nothing of files that match.")
    var quiet = false

    @Flag(help: "With --check: prints nothing; the exit code tells.")
    var status = false

    @Flag(help: "With --check: names each line that is no checksum.")
    var warn = false

    @Flag(help: "With --check: fails when a line is no checksum.")
    var strict = false

    @Flag(help: "With --check: passes over files that do not exist.")
    var ignoreMissing = false

    func validate() throws {
        if let jobs, !(1...EngineName.mostJobs).contains(jobs) {
            throw ValidationError("--jobs takes a number from 1 to \(EngineName.mostJobs), not \(jobs).")
        }
        if let jobs, jobs > 1, engine == .serial {
            throw ValidationError("--engine serial runs one job at a time: leave out --jobs \(jobs).")
        }
        if check == nil {
            if quiet || status || warn || strict || ignoreMissing {
                throw ValidationError(
                    "--quiet, --status, --warn, --strict and --ignore-missing go with --check.")
            }
        } else if !paths.isEmpty {
            throw ValidationError("--check takes the paths from its list: name no other.")
        }
        if engine == .overdrive { try Settings.validate() }
    }

    func run() throws {
        // Not in `validate`, which would hide what is wrong with an unknown option.
        if check == nil, paths.isEmpty {
            throw ValidationError("checksum needs a PATH to read, or a list to --check.")
        }
        let job: ChecksumJob
        do {
            job = try ChecksumJob(
                engine: try engine.make(jobs: jobs, placement: Settings.schedulerPlacement),
                hash: SHA256Stream.self,
                showsProgress: !noProgress && StandardError.isTerminal, printsStatistics: stats
            )
        } catch {
            StandardError.say("cannot start: \(error)")
            throw ExitCode(ExitStatus.system.rawValue)
        }
        let status: ExitStatus
        if let check {
            let options = CheckPlan.Options(
                quiet: quiet, status: self.status, warn: warn, strict: strict, ignoreMissing: ignoreMissing
            )
            status = job.check(check.bytes, options: options)
        } else {
            status = job.list(paths.map(\.bytes))
        }
        throw ExitCode(status.rawValue)
    }
}
#endif
