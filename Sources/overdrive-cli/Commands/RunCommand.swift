#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore
internal import Synchronization

/// `overdrive run`.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs a command for each item, several at a time, as xargs -P and GNU parallel do.",
        usage: "overdrive run [options] -- COMMAND … {} … [::: ITEM …]",
        discussion: """
            {} in a word of COMMAND is the item; where there is none, the item is the last word. No shell reads \
            it. Items are the words after :::, or the lines of --items, or those of standard input; with -0 they end \
            with a zero byte instead, and may hold any other.

            What a command prints is kept until it ends, and printed in the order of the items, so no line is torn. \
            With --journal, what has ended is kept: the same command again runs only the rest, and prints all of \
            it. Each item's output is printed exactly once by a run; a command that was under way when everything was \
            killed is run again.

            EXIT CODES: 0 all succeeded; 1 to 62 so many failed; 63 more did; 64 wrong usage; 65 the journal is of \
            something else or damaged; 66 no such file; 71 no resources; 73 a read-only file system; 74 the results or the \
            journal could not be written, as on a full disk; 75 another process writes the journal; 130 interrupted.
            """
    )

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "How many commands run at the same time, 1 to \(EngineName.mostJobs).", valueName: "n"))
    var jobs: Int?

    @Flag(name: [.customShort("0"), .customLong("null")], help: "Items end with a zero byte.")
    var null = false

    @Option(help: ArgumentHelp("Reads the items from this file; - is standard input.", valueName: "file"))
    var items: PathArgument?

    @Option(help: ArgumentHelp("How often a command that fails is run, 1 to 1000.", valueName: "n"))
    var attempts = 1

    @Option(help: ArgumentHelp("How long a command may take before it is ended, in seconds.", valueName: "s"))
    var timeLimit: Double?

    @Option(
        help: ArgumentHelp(
            "Writes a line for each command, as GNU parallel's --joblog does.", valueName: "file"))
    var joblog: PathArgument?

    @OptionGroup var batch: BatchSetup

    @Argument(parsing: .postTerminator, help: "The command, its words, and ::: with items.")
    var command: [String] = []

    func validate() throws {
        try Settings.validate()
        if let jobs, !(1...EngineName.mostJobs).contains(jobs) {
            throw ValidationError("--jobs takes a number from 1 to \(EngineName.mostJobs), not \(jobs).")
        }
        guard (1...1000).contains(attempts) else {
            throw ValidationError("--attempts takes a number from 1 to 1000, not \(attempts).")
        }
        if let timeLimit, !(timeLimit > 0 && timeLimit < 1e9) {
            throw ValidationError("--time-limit takes a number of seconds over 0, not \(timeLimit).")
        }
        if joblog != nil, batch.processes != nil {
            throw ValidationError("--joblog goes not with --processes: each process would write over the others' lines.")
        }
    }

    func run() throws {
        let words = command.map(RawArgument.bytes)
        let separator = words.firstIndex(of: Bytes(ascii: ":::"))
        let template = Array(words[..<(separator ?? words.count)])
        guard !template.isEmpty else {
            throw ValidationError("run needs a command: overdrive run [options] -- COMMAND {}")
        }
        guard separator == nil || items == nil else {
            throw ValidationError("--items and ::: both name items: leave one out.")
        }
        try endingWithASentence {
            let given: () throws(BatchRefusal) -> [Bytes] = { () throws(BatchRefusal) in
                guard let separator else { return try readItems() }
                return Array(words[(separator + 1)...])
            }
            let batch = CommandBatch(
                template: template, jobs: jobs ?? Scheduler.shared.workerCount, attempts: attempts,
                timeLimit: timeLimit,
                setup: batch)
            let isRepeatable = separator != nil || self.items.map { $0.bytes != Roots.standardInput } ?? false
            return try batch.run(items: given, isRepeatable: isRepeatable, joblog: joblog?.bytes)
        }
    }

    private func readItems() throws(BatchRefusal) -> [Bytes] {
        var file = STDIN_FILENO
        if let items, items.bytes != Roots.standardInput {
            file = items.bytes.withCString { open($0, O_RDONLY | O_CLOEXEC) }
            guard file >= 0 else {
                throw .system(String(decoding: items.bytes.printable, as: UTF8.self), "opening it")
            }
        }
        guard let text = Manifest.readAll(file) else { throw .system("the items", "reading") }
        guard null || !text.contains(0) else {
            throw BatchRefusal(
                .usage, "an item has a zero byte in it, which no word of a command can have: where items end with one, give -0")
        }
        let ends: UInt8 = null ? 0 : 10
        var list = text.split(separator: ends, omittingEmptySubsequences: !null).map { Bytes($0) }
        if null, list.last == [] { list.removeLast() }
        return list
    }
}

/// `overdrive run` once its arguments are understood.
struct CommandBatch {
    let template: [Bytes]
    let jobs: Int
    let attempts: Int
    let timeLimit: Double?
    let setup: BatchSetup

    /// - Parameter isRepeatable: Whether `items` gives the same list again: standard input does not.
    func run(
        items: () throws(BatchRefusal) -> [Bytes], isRepeatable: Bool, joblog: Bytes?
    ) throws -> ExitStatus {
        var options = try setup.options()
        options.retry = BatchRetry(attempts: attempts)
        options.timeLimit = timeLimit.map { .seconds($0) }
        options.parallelism = jobs
        // A worker for each command: while it waits there is nothing else to do.
        options.scheduler = try Scheduler(workers: jobs)

        let log = try joblog.map(JobLog.init)
        let failed = Mutex(FailedCommands())
        let template = template
        @Sendable func perform(_ item: Bytes, _ attempt: BatchAttempt, index: Int) throws -> Bytes {
            let began = Stamp.now
            let outcome = try ChildProcess.run(Self.words(template, item)) { attempt.isCancelled }
            let stamp = Stamp(start: began, seconds: Stamp.now - began)
            if outcome.isSuccess {
                failed.withLock { _ = $0.take(index) }
                return Self.encode(stamp, outcome)
            }
            failed.withLock { $0.keep(index, stamp, outcome) }
            throw CommandFailure(description: outcome.sentence)
        }

        let names: [Bytes]
        if let directory = setup.directory {
            // What standard input said once stands for all shards and runs.
            var problem: BatchRefusal?
            let manifest = try Manifest.frozen(in: directory) {
                var builder = Manifest.Builder()
                do throws(BatchRefusal) { for item in try items() { builder.append(item) } } catch {
                    problem = error
                }
                return builder
            }
            if let problem { throw problem }
            if isRepeatable, try items() != Array(manifest) {
                throw BatchRefusal(.data, "\(directory): this journal is of another list of items: name another journal")
            }
            if let processes = setup.processes {
                return try Processes.run(processes, journal: directory)
            }
            names = Array(manifest)
            options.weights = manifest.weights
        } else {
            names = try items()
        }
        let job = BatchJob(
            name: "run " + RawArgument.text(for: Bytes(template.joined(separator: [32]))), version: "1",
            items: IndexedItems(names: names), itemName: { $0.name }
        ) { item, attempt in try perform(item.name, attempt, index: item.index) }

        let output = OrderedOutput()
        let token = CancellationToken()
        options.token = token
        var failures = 0
        let prints = options.shard.count == 1
        let report = try setup.run { () throws(BatchError) in
            try job.run(options) { index, result in
                switch result {
                case .success(let bytes):
                    guard let (stamp, outcome) = Self.decode(bytes) else { return }
                    if prints {
                        if !output.append(outcome.output) { token.cancel() }
                        if !outcome.errors.isEmpty {
                            output.flush()
                            StandardError.write(outcome.errors)
                        }
                    }
                    log?.add(index, stamp, outcome, Self.words(template, names[index]))
                case .failure(let failure):
                    failures += 1
                    output.flush()
                    if let (stamp, outcome) = failed.withLock({ $0.take(index) }) {
                        if prints { output.append(outcome.output) }
                        output.flush()
                        StandardError.write(outcome.errors)
                        log?.add(index, stamp, outcome, Self.words(template, names[index]))
                    }
                    let tries = failure.attempts > 1 ? " (\(failure.attempts) attempts)" : ""
                    StandardError.say(names[index], "\(failure)\(tries)")
                }
                if !output.flush() { token.cancel() }
            }
        }
        if let error = log?.finish(), output.flush() { throw error }
        if let status = setup.conclude(report, output) { return status }
        exit(Int32(min(failures, 63)))
    }

    /// The words with the item in its places.
    static func words(_ template: [Bytes], _ item: Bytes) -> [Bytes] {
        let place = Bytes(ascii: "{}")
        var isPlaced = false
        let words = template.map { word -> Bytes in
            guard word.count >= 2,
                word.indices.dropLast().contains(where: { word[$0] == place[0] && word[$0 + 1] == place[1] })
            else { return word }
            isPlaced = true
            var result = Bytes()
            var rest = word[...]
            while let first = rest.first {
                if rest.starts(with: place) {
                    result += item
                    rest = rest.dropFirst(2)
                } else {
                    result.append(first)
                    rest = rest.dropFirst()
                }
            }
            return result
        }
        return isPlaced ? words : words + [item]
    }

    private static func encode(_ stamp: Stamp, _ outcome: ChildProcess.Outcome) -> Bytes {
        var bytes = Bytes()
        func append(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        append(stamp.start.bitPattern)
        append(stamp.seconds.bitPattern)
        append(UInt64(outcome.output.count))
        return bytes + outcome.output + outcome.errors
    }

    /// What `encode` was given; nil for what it never wrote.
    static func decode(_ bytes: Bytes) -> (Stamp, ChildProcess.Outcome)? {
        guard bytes.count >= 24 else { return nil }
        let numbers = bytes.withUnsafeBytes { raw in
            (0..<3).map { UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
        }
        guard numbers[2] <= UInt64(bytes.count - 24) else { return nil }
        let end = 24 + Int(numbers[2])
        return (
            Stamp(start: Double(bitPattern: numbers[0]), seconds: Double(bitPattern: numbers[1])),
            ChildProcess.Outcome(output: Bytes(bytes[24..<end]), errors: Bytes(bytes[end...]), status: 0)
        )
    }
}

/// What the last attempts of items that fail have printed, until they succeed or are given up, which is told in order.
struct FailedCommands {
    /// The most bytes that all of them keep; beyond it, one keeps no more than its last ones.
    private static let most = 64 << 20
    private static let mostBeyond = 4096
    private var kept: [Int: (Stamp, ChildProcess.Outcome)] = [:]
    private(set) var bytes = 0

    mutating func keep(_ index: Int, _ stamp: Stamp, _ outcome: ChildProcess.Outcome) {
        _ = take(index)
        var outcome = outcome
        if bytes > Self.most {
            outcome.output = Self.end(of: outcome.output)
            outcome.errors = Self.end(of: outcome.errors)
        }
        bytes += Self.size(outcome)
        kept[index] = (stamp, outcome)
    }

    mutating func take(_ index: Int) -> (Stamp, ChildProcess.Outcome)? {
        guard let found = kept.removeValue(forKey: index) else { return nil }
        bytes -= Self.size(found.1)
        return found
    }

    private static func size(_ outcome: ChildProcess.Outcome) -> Int { outcome.output.count + outcome.errors.count }

    private static func end(of text: Bytes) -> Bytes {
        guard text.count > mostBeyond else { return text }
        return Bytes(ascii: "[\(text.count - mostBeyond) bytes are left out]\n") + text.suffix(mostBeyond)
    }
}

/// Each item with its number, which is the key of what it left.
private struct IndexedItems: RandomAccessCollection, Sendable {
    var names: [Bytes]
    var startIndex: Int { 0 }
    var endIndex: Int { names.count }
    subscript(index: Int) -> (index: Int, name: Bytes) { (index, names[index]) }
}

private struct CommandFailure: Error, CustomStringConvertible {
    var description: String
}

/// When a command began, in seconds since 1970, and how long it ran.
struct Stamp {
    var start: Double
    var seconds: Double

    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// GNU parallel's log: a line for each command, in the order of the items.
private final class JobLog {
    private let output: OrderedOutput
    private let path: Bytes
    init(_ path: Bytes) throws(BatchRefusal) {
        let file = path.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
        guard file >= 0 else { throw .system(String(decoding: path.printable, as: UTF8.self), "making it") }
        output = OrderedOutput(descriptor: file)
        self.path = path
        output.append(
            Bytes(ascii: "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"))
    }

    func add(_ index: Int, _ stamp: Stamp, _ outcome: ChildProcess.Outcome, _ words: [Bytes]) {
        func thousandths(_ seconds: Double) -> String {
            let all = Int((seconds * 1000).rounded())
            let rest = String(all % 1000)
            return "\(all / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
        }
        output.append(
            Bytes(
                ascii: "\(index + 1)\t:\t\(thousandths(stamp.start))\t\(thousandths(stamp.seconds))\t0\t"
                    + "\(outcome.output.count)\t\(outcome.exitCode)\t\(outcome.signal)\t"))
        output.append(Bytes(words.joined(separator: [32])).printable)
        output.append([10])
    }

    func finish() -> BatchRefusal? {
        guard !output.flush() else { return nil }
        errno = output.error
        return .system(String(decoding: path.printable, as: UTF8.self), "writing")
    }
}
#endif
