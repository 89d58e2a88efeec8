#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive checksum`.
struct ChecksumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checksum",
        abstract: "Prints a checksum of every file under the paths, as sha256sum does, in order of path.",
        discussion: """
            Files are the ones that `find PATH -type f` names: under a PATH, symbolic links are not followed and \
            special files are passed over. A PATH that is a link to a file is read; one that is a link to a \
            directory is followed when it ends with a slash, and fails without one. - is standard input. Each file is listed once. \
            A file that cannot be read is reported at the end; all others are done. File names may be any \
            bytes; paths may be of any length.

            On a terminal a bar shows how far the job is. Ctrl-C stops it, after the results that are \
            complete up to then.

            With --journal, a list of the files is kept when the job begins, and each digest when it is known: killed \
            and called again, the command does the rest and prints all of it. With --shard, several processes or \
            nodes do a part each and print nothing; overdrive merge prints the whole. Standard input (-) is no item of a journal.

            With --cache, a file is read only if its device, inode, size or times are not what they were, or not older \
            than the reading. A file whose content has changed under an unchanged time of modification is damaged: it is \
            named, with code 1, and the cache keeps the old digest.

            With --check, each PATH is a list that this command, sha256sum, sha512sum, sha1sum, md5sum or xxhsum wrote. Says for \
            each file whether it still matches; here links are followed. Each line says what made it.

            With --audit, walks the paths and prints what differs from such a list of them: changed, extra, missing, \
            moved (the content of a missing file under another name) and unreadable.

            With --json, prints an object on a line for each file: path (and path_hex, where it is no UTF-8), algorithm \
            and digest, or error; with --check and --audit: path and result, and of a changed file algorithm, expected and digest.

            sha512 is that of sha512sum. xxh3 is XXH3 with 64 bits, in the form that xxhsum reads: many times as fast, for \
            damage and not for deceit.

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
            "How many files to read at the same time, 1 to \(EngineName.mostJobs).", valueName: "n"))
    var jobs: Int?

    @Option(
        help: ArgumentHelp(
            "Says what differs from this list of the paths, or from several; - is standard input.", valueName: "file"))
    var audit: [PathArgument] = []

    @Option(help: "What the checksum is: sha256, sha512 or xxh3; otherwise sha256, or what the list has.")
    var algorithm: Algorithm?

    @Flag(help: "Prints JSON, an object on each line, errors included.")
    var json = false

    @Flag(help: "Prints lines of BSD's form: SHA256 (name) = digest.")
    var tag = false

    @Flag(name: [.customShort("z"), .long], help: "Ends each line with a zero byte, and escapes no name.")
    var zero = false

    @Flag(name: [.customShort("b"), .long], help: "Marks each name with an asterisk, as sha256sum --binary does.")
    var binary = false

    @Option(
        help: ArgumentHelp(
            "Passes over names under a PATH that match this pattern of the shell, or paths if it has a slash; may be repeated.",
            valueName: "pattern"))
    var exclude: [PathArgument] = []

    @Option(help: ArgumentHelp("Passes over files under a PATH that are smaller: bytes, or with K, M, G or T.", valueName: "size"))
    var minSize: SizeArgument?

    @Option(help: ArgumentHelp("Passes over files under a PATH that are larger: bytes, or with K, M, G or T.", valueName: "size"))
    var maxSize: SizeArgument?

    @Flag(help: "Says at the end how many files and bytes were read, and how fast.")
    var summary = false

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

    @Flag(name: [.customShort("w"), .long], help: "With --check: names each line that is no checksum.")
    var warn = false

    @Flag(help: "With --check: fails when a line is no checksum.")
    var strict = false

    @Flag(help: "With --check: passes over files that do not exist.")
    var ignoreMissing = false

    @Option(
        name: .customLong("files0-from"),
        help: ArgumentHelp(
            "Reads further paths from this file, each ended by a zero byte; - is standard input.",
            valueName: "file"))
    var pathList: PathArgument?

    @Option(
        help: ArgumentHelp(
            "Reads only what has changed since this cache was written, and writes it anew.", valueName: "file"
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
                    "--quiet, --status, --warn, --strict and --ignore-missing go with --check.")
            }
        } else if batch.journal != nil {
            throw ValidationError("--check keeps no --journal.")
        } else if pathList != nil {
            throw ValidationError("--check cannot be combined with --files0-from: name the lists.")
        }
        if !audit.isEmpty, check || batch.journal != nil {
            throw ValidationError("--audit goes with neither --check nor --journal.")
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
        // Not in `validate`, which would hide what is wrong with an unknown option.
        if cache != nil, batch.journal != nil || check {
            throw ValidationError("--cache goes with neither --journal nor --check.")
        }
        if batch.journal != nil, engine != .overdrive {
            throw ValidationError("--journal goes with --engine overdrive.")
        }
        if stats, batch.journal != nil {
            throw ValidationError("--stats goes not with --journal: --report says what was counted.")
        }
        if batch.journal == nil, batch.report != nil || batch.progress != .auto {
            throw ValidationError("--report and --progress go with --journal.")
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

    /// The arguments with `--check=LIST` as `--check LIST`, as the flag takes no value and a list is a path, and `-j4` as
    /// `-j 4`.
    static func withSeparateValues(_ arguments: [String]) -> [String] {
        guard arguments.first == configuration.commandName else { return arguments }
        let options = arguments.prefix { $0 != "--" }
        let words = options.flatMap { word -> [String] in
            if word.hasPrefix("--check=") { return ["--check", String(word.dropFirst(8))] }
            let isJobs = word.hasPrefix("-j") && word.count > 2 && word.dropFirst(2).allSatisfy { ("0"..."9").contains($0) }
            return isJobs ? ["-j", String(word.dropFirst(2))] : [word]
        }
        return words + arguments.dropFirst(options.count)
    }

    var style: ChecksumLine.Style {
        ChecksumLine.Style(isTagged: tag, endsInZero: zero, marksBinary: binary)
    }

    var selection: Selection {
        Selection(excluded: exclude.map(\.bytes), leastSize: minSize?.bytes ?? 0, mostSize: maxSize?.bytes ?? .max)
    }

    /// The lists that a tree is held against.
    private static func readLists(_ paths: [Bytes], _ selection: Selection) throws(BatchRefusal) -> Audit {
        var audit = Audit()
        for path in paths {
            let isStandardInput = path == Roots.standardInput
            let name = isStandardInput ? "standard input" : String(decoding: path.printable, as: UTF8.self)
            let file = isStandardInput ? dup(STDIN_FILENO) : LongPath.open(path, flags: O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw .system(name, "opening it") }
            try audit.add(LineReader(descriptor: file), named: name, selection)
        }
        return audit
    }

    /// Nanoseconds since 1970, of the clock that marks files: it is behind the other one by up to a tick.
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The paths that were written, and those of the list.
    private func allPaths(_ list: Bytes) -> [Bytes] {
        paths.map(\.bytes) + list.split(separator: 0).map { Bytes($0) }
    }

    private func readPathList() throws(BatchRefusal) -> Bytes {
        guard let pathList else { return [] }
        var file = STDIN_FILENO
        if pathList.bytes != Roots.standardInput {
            file = pathList.bytes.withCString { open($0, O_RDONLY | O_CLOEXEC) }
            guard file >= 0 else {
                throw .system(String(decoding: pathList.bytes.printable, as: UTF8.self), "opening it")
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

/// A number of bytes, with or without a letter: K, M, G and T are powers of 1024.
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
