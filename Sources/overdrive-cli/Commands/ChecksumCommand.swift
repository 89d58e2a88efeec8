#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive checksum`.
struct ChecksumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checksum",
        abstract: "Prints a checksum of every file under the paths, as sha256sum does, in order of path.",
        discussion: """
            The command reads the files that `find PATH -type f` names. Under a PATH, it follows no symbolic links and \
            skips special files. A PATH that is a link to a file is read. A PATH that is a link to a directory is followed \
            if it ends with a slash, and fails otherwise. - is standard input. Each file is listed once. \
            Unreadable files are reported at the end; all others are read. File names may be any \
            bytes; paths may have any length.

            On a terminal, a bar shows the progress. Ctrl-C stops the job after printing the results that are \
            complete.

            With --journal, the list of files is stored when the job begins, and each digest when it is known. After a \
            kill, the same command does the rest and prints everything. With --shard, several processes or \
            nodes do a part each and print nothing; overdrive merge prints the whole. Standard input (-) cannot be in a journal.

            With --cache, a file is read only if its device, inode, size or times have changed, or are not older \
            than the last reading. If the content has changed but the modification time has not, the file is damaged: it is \
            named, with code 1, and the cache keeps the old digest.

            With --check, each PATH is a list that this command, sha256sum, sha512sum, sha1sum, md5sum or xxhsum wrote. Prints for \
            each file whether it still matches, and follows links. The form of each line shows its algorithm.

            With --audit, walks the paths and prints what differs from a list of them: changed, extra, missing, \
            moved (the content of a missing file under another name) and unreadable.

            With --json, prints an object on a line for each file: path (and path_hex, if it is not UTF-8), algorithm \
            and digest, or error. With --check and --audit: path and result; for a changed file also algorithm, expected and digest.

            sha512 prints what sha512sum prints. xxh3 is XXH3 with 64 bits, in the form that xxhsum reads: many times as fast, but it \
            detects only accidental damage, not tampering.

            \(ExitStatus.help)
            """
    )

    @Argument(help: "The files and directories to read, or with --check the lists; - is standard input.")
    var paths: [PathArgument] = []

    @Flag(name: [.customShort("c"), .long], help: "Checks the files that the lists name.")
    var check = false

    @Option(
        name: [.customShort("j"), .long],
        help: ArgumentHelp(
            "Reads this many files at the same time, 1 to \(EngineName.mostJobs).", valueName: "n"))
    var jobs: Int?

    @Option(
        help: ArgumentHelp(
            "Prints what differs from this list of the paths, or from several lists; - is standard input.", valueName: "file"))
    var audit: [PathArgument] = []

    @Option(help: "The algorithm: sha256, sha512 or xxh3; by default that of the list, or sha256.")
    var algorithm: Algorithm?

    @Flag(help: "Prints a JSON object on each line, also for errors.")
    var json = false

    @Flag(help: "Prints lines of BSD's form: SHA256 (name) = digest.")
    var tag = false

    @Flag(name: [.customShort("z"), .long], help: "Ends each line with a zero byte, and does not escape names.")
    var zero = false

    @Flag(name: [.customShort("b"), .long], help: "Marks each name with an asterisk, as sha256sum --binary does.")
    var binary = false

    @Option(
        help: ArgumentHelp(
            "Skips names under a PATH that match this shell pattern, or paths if it has a slash; may be repeated.",
            valueName: "pattern"))
    var exclude: [PathArgument] = []

    @Option(help: ArgumentHelp("Skips files under a PATH that are smaller: bytes, or with K, M, G or T.", valueName: "size"))
    var minSize: SizeArgument?

    @Option(help: ArgumentHelp("Skips files under a PATH that are larger: bytes, or with K, M, G or T.", valueName: "size"))
    var maxSize: SizeArgument?

    @Flag(help: "Prints at the end how many files and bytes were read, and how fast.")
    var summary = false

    @Option(help: "Runs the job on this engine.")
    var engine: EngineName = .overdrive

    @Flag(help: "Prints the counts of the job and its engine on standard error.")
    var stats = false

    @Flag(help: "Shows no bar on a terminal.")
    var noProgress = false

    @Flag(help: "With --check: prints nothing for files that match.")
    var quiet = false

    @Flag(help: "With --check: prints nothing; the exit code tells.")
    var status = false

    @Flag(name: [.customShort("w"), .long], help: "With --check: names each line that is not a checksum.")
    var warn = false

    @Flag(help: "With --check: fails if a line is not a checksum.")
    var strict = false

    @Flag(help: "With --check: skips files that do not exist.")
    var ignoreMissing = false

    @Option(
        name: .customLong("files0-from"),
        help: ArgumentHelp(
            "Reads further paths from this file, each ended by a zero byte; - is standard input.",
            valueName: "file"))
    var pathList: PathArgument?

    @Option(
        help: ArgumentHelp(
            "Reads only files that have changed since this cache was written, and updates the cache.", valueName: "file"
        ))
    var cache: PathArgument?

    @OptionGroup var batch: BatchSetup

    func validate() throws {
        if let jobs, !(1...EngineName.mostJobs).contains(jobs) {
            throw ValidationError("--jobs takes a number from 1 to \(EngineName.mostJobs), not \(jobs).")
        }
        if let jobs, jobs > 1, engine == .serial {
            throw ValidationError("--engine serial runs one job at a time: leave out --jobs \(jobs).")
        }
        if !check {
            if quiet || status || warn || strict || ignoreMissing {
                throw ValidationError(
                    "--quiet, --status, --warn, --strict and --ignore-missing need --check.")
            }
        } else if batch.journal != nil {
            throw ValidationError("--check cannot be combined with --journal.")
        } else if pathList != nil {
            throw ValidationError("--check cannot be combined with --files0-from: name the lists.")
        }
        if !audit.isEmpty, check || batch.journal != nil {
            throw ValidationError("--audit cannot be combined with --check or --journal.")
        }
        if tag || zero || binary, check || json || !audit.isEmpty {
            throw ValidationError("--tag, --zero and --binary cannot be combined with --check, --audit or --json.")
        }
        if tag, binary { throw ValidationError("--tag cannot be combined with --binary.") }
        if check, !exclude.isEmpty || minSize != nil || maxSize != nil {
            throw ValidationError("--check cannot be combined with --exclude, --min-size or --max-size.")
        }
        if !audit.isEmpty, minSize != nil || maxSize != nil {
            throw ValidationError("--audit cannot be combined with --min-size or --max-size: its list has no sizes.")
        }
        if summary, batch.journal != nil {
            throw ValidationError("--summary cannot be combined with --journal: use --report.")
        }
        if check, algorithm != nil {
            throw ValidationError("--check takes the algorithm from each line of its list: leave out --algorithm.")
        }
        if engine == .overdrive { try Settings.validate() }
    }

    func run() throws {
        // This check is not in `validate`, which would hide errors about unknown options.
        if cache != nil, batch.journal != nil || check {
            throw ValidationError("--cache cannot be combined with --journal or --check.")
        }
        if batch.journal != nil, engine != .overdrive {
            throw ValidationError("--journal needs --engine overdrive.")
        }
        if stats, batch.journal != nil {
            throw ValidationError("--stats cannot be combined with --journal: use --report.")
        }
        if batch.journal == nil, batch.report != nil || batch.progress != .auto {
            throw ValidationError("--report and --progress need --journal.")
        }
        if paths.isEmpty, pathList == nil {
            throw ValidationError("checksum needs a PATH to read, or a list to --check.")
        }
        Descriptors.raiseLimit()
        if batch.journal != nil {
            try endingWithASentence {
                let list = try readPathList()
                let isInput = pathList?.bytes == Roots.standardInput
                return try JournalledChecksum(setup: batch, jobs: jobs, algorithm: algorithm ?? .sha256, json: json, style: style, selection: selection)
                    .run(allPaths(list), input: isInput ? list : nil)
            }
        }
        let job: ChecksumJob
        var reference: Audit?
        do {
            if !audit.isEmpty { reference = try Self.readLists(audit.map(\.bytes), selection) }
            if let made = reference?.algorithm, let algorithm, made != algorithm {
                throw BatchRefusal(.usage, "the list to audit has \(made) digests: leave out --algorithm \(algorithm)")
            }
            let algorithm = algorithm ?? reference?.algorithm ?? .sha256
            job = try ChecksumJob(
                engine: try engine.make(jobs: jobs, placement: Settings.schedulerPlacement),
                hash: algorithm.hash,
                others: Dictionary(uniqueKeysWithValues: Algorithm.allCases.map { ($0, $0.hash) }),
                cache: cache.map { path in try DigestCache(path.bytes, algorithm, now: Self.now) }, json: json,
                style: style, selection: selection,
                showsProgress: !noProgress && StandardError.isTerminal, printsStatistics: stats, printsSummary: summary
            )
        } catch let error as BatchRefusal {
            StandardError.say(error.sentence)
            throw ExitCode(error.status.rawValue)
        } catch {
            StandardError.say("cannot start: \(error)")
            throw ExitCode(ExitStatus.system.rawValue)
        }
        let status: ExitStatus
        if check {
            let options = CheckPlan.Options(
                quiet: quiet, status: self.status, warn: warn, strict: strict, ignoreMissing: ignoreMissing,
                json: json
            )
            status = job.check(paths.map(\.bytes), options: options)
        } else {
            let listed: [Bytes]
            do throws(BatchRefusal) { listed = allPaths(try readPathList()) } catch {
                StandardError.say(error.sentence)
                throw ExitCode(error.status.rawValue)
            }
            status = reference.map { job.audit(listed, against: $0) } ?? job.list(listed)
        }
        throw ExitCode(status.rawValue)
    }

    /// Returns the arguments with `--check=LIST` as `--check LIST`, because the flag takes no value. `-j4` becomes `-j 4`.
    /// Joined letters of flags, such as `-cw`, are separated.
    static func withSeparateValues(_ arguments: [String]) -> [String] {
        guard arguments.first == configuration.commandName else { return arguments }
        let options = arguments.prefix { $0 != "--" }
        let words = options.flatMap { word -> [String] in
            if word.hasPrefix("--check=") { return ["--check", String(word.dropFirst(8))] }
            let isJobs = word.hasPrefix("-j") && word.count > 2 && word.dropFirst(2).allSatisfy { ("0"..."9").contains($0) }
            if isJobs { return ["-j", String(word.dropFirst(2))] }
            let areFlags = word.hasPrefix("-") && word.count > 2 && word.dropFirst().allSatisfy("cwzb".contains)
            return areFlags ? word.dropFirst().map { "-\($0)" } : [word]
        }
        return words + arguments.dropFirst(options.count)
    }

    var style: ChecksumLine.Style {
        ChecksumLine.Style(isTagged: tag, endsInZero: zero, marksBinary: binary)
    }

    var selection: Selection {
        Selection(excluded: exclude.map(\.bytes), leastSize: minSize?.bytes ?? 0, mostSize: maxSize?.bytes ?? .max)
    }

    /// Reads the lists to which a tree is compared.
    private static func readLists(_ paths: [Bytes], _ selection: Selection) throws(BatchRefusal) -> Audit {
        var audit = Audit()
        for path in paths {
            let isStandardInput = path == Roots.standardInput
            let name = isStandardInput ? "standard input" : String(decoding: path.printable, as: UTF8.self)
            let file = isStandardInput ? dup(STDIN_FILENO) : LongPath.open(path, flags: O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw .system(name, "opening") }
            try audit.add(LineReader(descriptor: file), named: name, selection)
        }
        return audit
    }

    /// The time in nanoseconds since 1970, from the coarse clock that file systems use for timestamps.
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Returns the paths in the arguments and those of the list.
    private func allPaths(_ list: Bytes) -> [Bytes] {
        paths.map(\.bytes) + list.split(separator: 0).map { Bytes($0) }
    }

    private func readPathList() throws(BatchRefusal) -> Bytes {
        guard let pathList else { return [] }
        var file = STDIN_FILENO
        if pathList.bytes != Roots.standardInput {
            file = pathList.bytes.withCString { open($0, O_RDONLY | O_CLOEXEC) }
            guard file >= 0 else {
                throw .system(String(decoding: pathList.bytes.printable, as: UTF8.self), "opening")
            }
        }
        guard let text = Manifest.readAll(file) else { throw .system("the list of paths", "reading", .noInput) }
        return text
    }
}

extension Algorithm: ExpressibleByArgument {
    init?(argument: String) {
        guard let algorithm = Self.made.first(where: { $0.rawValue == argument }) else { return nil }
        self = algorithm
    }

    static var allValueStrings: [String] { made.map(\.rawValue) }
}

/// A number of bytes with an optional letter: K, M, G and T are powers of 1024.
struct SizeArgument: ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
        let letters: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = argument.last.flatMap { letters[$0] } ?? 0
        guard let number = Int(shift == 0 ? argument : String(argument.dropLast())), number >= 0,
            number <= Int.max >> shift
        else { return nil }
        bytes = number << shift
    }
}
#endif
