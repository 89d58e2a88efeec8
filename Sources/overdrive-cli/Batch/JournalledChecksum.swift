#if CLI
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore

/// Implements `overdrive checksum --journal`. Each file is an item of a list that is fixed when the job begins.
struct JournalledChecksum {
    let setup: BatchSetup
    /// The number of files that are read at a time; nil follows the machine.
    let jobs: Int?
    let algorithm: Algorithm
    let json: Bool
    var style = ChecksumLine.Style()
    var selection = Selection()

    /// - Parameter input: The paths from standard input, which can be read only once, for further processes.
    func run(_ paths: [Bytes], input: Bytes?) throws -> ExitStatus {
        guard let directory = setup.directory else { return .usage }
        guard !paths.contains(Roots.standardInput) else {
            throw BatchRefusal(
                .usage, "- is standard input, which a later run cannot read again: leave out --journal; write ./- for a file of that name")
        }
        let manifest = try Self.freeze(paths, selection, in: directory)
        if let processes = setup.processes { return try Processes.run(processes, journal: directory, input: input) }
        var options = try setup.options()
        if options.shard.count > 1 { options.weights = manifest.weights }
        if let jobs {
            options.scheduler = try Scheduler(workers: jobs, placement: Settings.schedulerPlacement)
        }
        // More files than workers are under way, so that the disk is busy while others are hashed.
        options.parallelism = jobs ?? 8 + 4 * options.scheduler.workerCount

        let engine = try OverdriveEngine(jobs: jobs, placement: Settings.schedulerPlacement)
        let reader = FileReader(engine: engine, hash: algorithm.hash)
        let style = style
        let token = CancellationToken()
        options.token = token
        // A path that the user named is read even if it is a link, as without a journal.
        let named = Set(paths)
        let job = BatchJob(name: jobName(paths), version: "1", items: manifest, itemName: { $0 }) {
            path, attempt in
            if attempt.isCancelled { throw BatchStop.cancelled }
            switch reader.digest(path, links: named.contains(path) ? .followed : .refused, until: { attempt.isCancelled }) {
            case .success(let digest):
                var line = Bytes()
                if json {
                    JSONLine.file(path, digest, to: &line)
                } else {
                    ChecksumLine(digest: digest, name: path).write(style, to: &line)
                }
                return line
            case .failure(let error):
                if Descriptors.isShortage(error.number) {
                    // A shortage in this process is no failure of the file. It ends the run, and nothing is recorded.
                    token.cancel()
                    while !attempt.isCancelled { usleep(1000) }
                }
                throw error
            }
        }
        let output = OrderedOutput()
        var failed: [(path: Bytes, failure: BatchFailure)] = []
        var failedCount = 0
        let prints = options.shard.count == 1
        let report = try setup.run { () throws(BatchError) in
            try job.run(options) { index, result in
                switch result {
                case .success(let line):
                    if prints, !output.append(line) { token.cancel() }
                case .failure(let failure):
                    failedCount += 1
                    if json, prints {
                        var line = Bytes()
                        JSONLine.failure(manifest[index], failure.description, to: &line)
                        if !output.append(line) { token.cancel() }
                    }
                    if failed.count < FailureList.capacity { failed.append((manifest[index], failure)) }
                }
            }
        }
        let status = setup.conclude(report, output)
        if Descriptors.ranOut { return Descriptors.reportShortage() }
        if let status { return status }
        for (path, failure) in failed { StandardError.say(path, failure.description) }
        guard failedCount > 0 else { return .success }
        StandardError.say("\(Quantity.count(failedCount)) could not be read")
        return .someFailed
    }

    /// Returns the list of the files under `paths`, as it was when the job began.
    static func freeze(_ paths: [Bytes], _ selection: Selection, in directory: String) throws(BatchRefusal) -> Manifest {
        try Manifest.frozen(in: directory) {
            var builder = Manifest.Builder()
            let roots = Roots(paths)
            // A directory that cannot be listed is an item that fails, as it would without a journal.
            for failure in roots.failures.kept { builder.append(failure.path) }
            add(roots.listing, selection, under: [], to: &builder)
            return builder
        }
    }

    private static let name = "checksum "
    private static let jsonMark = "--json "

    /// Returns whether the outputs and failures of the job are JSON.
    static func isJSON(_ job: String) -> Bool {
        Algorithm.allCases.contains { job.hasPrefix(name + "\($0) " + jsonMark) }
    }

    /// The largest number of bytes of paths in a job's name.
    private static let mostPaths = 1 << 20

    /// The job's name in the journal: its paths, or their digest if they are too long.
    private func jobName(_ paths: [Bytes]) -> String {
        var list = Bytes(paths.joined(separator: [0]))
        if list.count > Self.mostPaths {
            var hash = SHA256Stream()
            list.withUnsafeBytes { hash.absorb($0) }
            list = Bytes(ascii: "\(paths.count) paths, SHA-256 ")
            hash.digest().write(to: &list)
        }
        return Self.name + "\(algorithm) " + (json ? Self.jsonMark : "") + style.mark + selection.mark
            + RawArgument.text(for: list)
    }

    private static func add(
        _ listing: Listing, _ selection: Selection, under prefix: Bytes, to builder: inout Manifest.Builder
    ) {
        for entry in listing.entries {
            let path = prefix + listing.name(of: entry)
            switch entry.kind {
            case .directory:
                switch Listing.read(path, selection) {
                case .success(let inner): add(inner, selection, under: path, to: &builder)
                case .failure: builder.append(path)
                }
            case .file, .linkedFile, .standardInput:
                var status = stat()
                let look = entry.kind == .linkedFile ? stat : lstat
                let size = path.withCString { look($0, &status) } == 0 ? Int(status.st_size) : 0
                builder.append(path, size: size)
            }
        }
    }
}
#endif
