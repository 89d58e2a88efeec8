// Owns the execution of `overdrive run`: the batch of commands and the ordered output. `RunCommand` calls it.
// `ChildProcess` starts the commands.

#if CLI
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore
internal import Synchronization

/// The way in which `overdrive run` displays and stores the output of commands.
struct RunForm: Sendable {
    var isDry = false
    var isVerbose = false
    var isTagged = false
    /// Whether output is kept until the command ends, passed on directly, or passed on by lines.
    var streams: Streams = .kept
    var folder: Bytes?
    var variables: [Bytes] = []
    /// The directory for the output files of each item.
    var results: Bytes?

    enum Streams: Sendable { case kept, passedOn, lines }
}

/// Runs `overdrive run` with parsed arguments.
struct CommandBatch {
    let template: CommandTemplate
    /// The job's name in the journal.
    let name: String
    /// Whether an item's name contains several values.
    let isSplit: Bool
    let jobs: Int
    let attempts: Int
    let timeLimit: Double?
    let form: RunForm
    let gate: StartGate
    let setup: BatchSetup

    /// The delay, in hundredths of a second, for the result of a command that a request may have ended. The same
    /// request may be about to reach this process.
    fileprivate static let holdBack = 100

    /// - Parameter isRepeatable: Whether `items` returns the same list again. Standard input does not.
    func run(
        items: () throws(BatchRefusal) -> Manifest, isRepeatable: Bool, joblog: Bytes?
    ) throws -> ExitStatus {
        var options = try setup.options()
        options.retry = BatchRetry(attempts: attempts)
        options.parallelism = jobs
        // There is a worker for each command, which waits for its command.
        options.scheduler = try Scheduler(workers: jobs)
        if form.streams != .kept, setup.progress == .auto { options.progress = .none }

        let names = try list(items, isRepeatable: isRepeatable, &options)
        guard let names else {
            return try Processes.run(setup.processes ?? 1, journal: setup.directory ?? "")
        }
        ChildSlots.passOnStops()
        let log = try joblog.map(JobLog.init)
        let token = CancellationToken()
        options.token = token
        let worker = CommandWorker(self, names.count, token, log)
        let job = BatchJob(
            name: name, version: template.isExtended ? "2" : "1",
            items: IndexedItems(names: names), itemName: { $0.name }
        ) { item, attempt in
            try worker.perform(item.name, number: attempt.number, index: item.index) {
                token.isCancelled || attempt.token.isCancelled || StopSignals.received != nil
            }
        }

        let printer = OutcomePrinter(self, token, worker, log, progress: options.progress, prints: options.shard.count == 1)
        let report = try setup.run { () throws(BatchError) in
            try job.run(options) { index, result in
                switch result {
                case .success(let bytes): printer.success(index, names[index], bytes)
                case .failure(let failure):
                    let tries = failure.attempts > 1 ? " (\(failure.attempts) attempts)" : ""
                    printer.failure(index, names[index], "\(failure)", tries)
                }
            }
        }
        try printer.finish()
        if let status = setup.conclude(report, printer.output, haltedWith: gate.haltCode) { return status }
        exit(gate.haltCode ?? Int32(min(printer.failures, 63)))
    }

    /// Runs a command for each line of standard input as it arrives.
    func run(_ lines: LineStream, joblog: Bytes?) throws -> ExitStatus {
        StopSignals.listen()
        ChildSlots.passOnStops()
        let log = try joblog.map(JobLog.init)
        let token = CancellationToken()
        // The number of items is not known, so limits cannot be percentages of it.
        let worker = CommandWorker(self, .max, token, log)
        let printer = OutcomePrinter(self, token, worker, log, progress: .none, prints: true)
        let stream = StreamRun(self, worker, token, try Scheduler(workers: jobs))
        let done = try stream.run(lines.next) { index, name, result in
            switch result {
            case .success(let bytes): printer.success(index, name, bytes)
            case .failure(let failure): printer.failure(index, name, failure.sentence, failure.tries)
            }
        }
        try printer.finish()
        if let status = printer.output.status { return status }
        if let code = gate.haltCode, StopSignals.received == nil {
            StandardError.say("halted: \(Quantity.count(done)) items are done")
            exit(code)
        }
        if StopSignals.received != nil || printer.output.error == EINTR {
            StandardError.say("interrupted: \(Quantity.count(done)) items are done")
            return .interrupted
        }
        exit(Int32(min(printer.failures, 63)))
    }

    /// Returns the items; nil if shards in separate processes run them.
    private func list(
        _ items: () throws(BatchRefusal) -> Manifest, isRepeatable: Bool, _ options: inout BatchOptions
    ) throws -> Manifest? {
        guard let directory = setup.directory else { return try items() }
        // The list from standard input is kept for all shards and runs.
        var problem: BatchRefusal?
        var isNew = false
        let manifest = try Manifest.frozen(in: directory) {
            isNew = true
            do throws(BatchRefusal) { return try items().builder } catch {
                problem = error
                return Manifest.Builder()
            }
        }
        if let problem { throw problem }
        // Reading could wait for ever: a resumed run may have inherited any pipe.
        if !isRepeatable, !isNew, setup.shardOf == nil, Self.hasInput {
            StandardError.say("the items come from \(directory)/manifest, so standard input is not read")
        }
        if isRepeatable {
            let now = try items()
            // Older versions skipped blank lines.
            guard now.elementsEqual(manifest) || now.lazy.filter({ !$0.isEmpty }).elementsEqual(manifest) else {
                throw BatchRefusal(.data, "\(directory): this journal belongs to another list of items: name another journal")
            }
        }
        guard setup.processes == nil else { return nil }
        options.weights = manifest.weights
        return manifest
    }

    /// Whether standard input is a file or a pipe, which may have items.
    private static var hasInput: Bool {
        var status = stat()
        return fstat(STDIN_FILENO, &status) == 0 && [S_IFREG, S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    func values(_ name: Bytes) -> [Bytes] { isSplit ? ItemSources.values(name) : [name] }

    func words(_ index: Int, _ name: Bytes) -> [Bytes] {
        template.words(values(name), number: index + 1, slot: 1)
    }

    /// Returns the text with the item and a tab before each line, if `--tag` was given.
    func tagged(_ text: Bytes, _ name: Bytes) -> Bytes {
        guard form.isTagged, !text.isEmpty else { return text }
        let tag = Bytes(values(name).joined(separator: [32])) + [9]
        var result = tag
        for (place, byte) in text.enumerated() {
            result.append(byte)
            if byte == 10, place + 1 < text.count { result += tag }
        }
        return result
    }

    /// Returns an item for a message, shortened if it is long.
    static func shown(_ name: Bytes) -> Bytes {
        let most = 200
        let text = Bytes(name.map { $0 == 9 ? 32 : $0 })
        return text.count <= most ? text : text.prefix(most) + Bytes(ascii: "… (\(text.count) bytes)")
    }

    /// Writes DIR/1/VALUE/stdout, stderr and seq, in the layout of GNU parallel.
    static func keep(_ outcome: ChildProcess.Outcome, number: Int, _ values: [Bytes], in directory: Bytes) {
        var path = String(decoding: directory, as: UTF8.self)
        for (place, value) in values.enumerated() {
            let name = value.flatMap { $0 == .slash ? Bytes(ascii: "+z") : $0 == 43 ? Bytes(ascii: "++") : [$0] }
            path += "/\(place + 1)/" + String(decoding: name.prefix(Int(NAME_MAX)), as: UTF8.self)
        }
        guard Folder.make(path) else { return StandardError.say("\(path): creation failed: \(sentence(forError: errno))") }
        for (name, text) in [("stdout", outcome.output), ("stderr", outcome.errors), ("seq", Bytes(ascii: "\(number)"))] {
            let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            let error = file < 0 ? errno : StandardStreams.write(text[...], to: file) { false }
            if file >= 0 { close(file) }
            if error != 0 { StandardError.say("\(path)/\(name): writing failed: \(sentence(forError: error))") }
        }
    }

    static func encode(_ stamp: Stamp, _ outcome: ChildProcess.Outcome) -> Bytes {
        var bytes = Bytes()
        func append(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        append(stamp.start.bitPattern)
        append(stamp.seconds.bitPattern)
        append(UInt64(outcome.output.count))
        return bytes + outcome.output + outcome.errors
    }

    /// Decodes the result of `encode`; nil for other bytes.
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

/// The output of the last attempts of failing items, until they succeed or their failure is printed in order.
struct FailedCommands {
    /// The largest number of bytes in total. Beyond it, only the last bytes of an item are kept.
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

/// Prints the results of items in order, on the calling thread.
private final class OutcomePrinter {
    let output = OrderedOutput()
    private(set) var failures = 0
    private let batch: CommandBatch
    private let token: CancellationToken
    private let worker: CommandWorker
    private let log: JobLog?
    private let prints: Bool
    private let endsLines: Bool

    init(
        _ batch: CommandBatch, _ token: CancellationToken, _ worker: CommandWorker, _ log: JobLog?, progress: BatchProgress,
        prints: Bool
    ) {
        (self.batch, self.token, self.worker, self.log, self.prints) = (batch, token, worker, log, prints)
        endsLines = progress == .bar && StandardError.isTerminal && isatty(STDOUT_FILENO) == 1
    }

    func success(_ index: Int, _ name: Bytes, _ bytes: Bytes) {
        guard let (stamp, outcome) = CommandBatch.decode(bytes) else { return }
        show(index, name, outcome)
        log?.add(index, stamp, outcome, batch.words(index, name))
        if !output.flush() { token.cancel() }
    }

    func failure(_ index: Int, _ name: Bytes, _ sentence: String, _ tries: String) {
        failures += 1
        output.flush()
        if let (stamp, outcome) = worker.failed.withLock({ $0.take(index) }) {
            show(index, name, outcome)
            output.flush()
            log?.add(index, stamp, outcome, batch.words(index, name))
        } else {
            log?.add(index, failure: sentence, batch.words(index, name))
        }
        StandardError.say(CommandBatch.shown(name), sentence + tries)
        if !output.flush() { token.cancel() }
    }

    /// - Throws: A `BatchRefusal` if the log cannot be written or the run cannot continue.
    func finish() throws(BatchRefusal) {
        if let error = log?.finish(), output.flush() { throw error }
        if let refusal = worker.refusal.withLock({ $0 }) {
            output.flush()
            throw refusal
        }
    }

    private func show(_ index: Int, _ name: Bytes, _ outcome: ChildProcess.Outcome) {
        if let results = batch.form.results {
            CommandBatch.keep(outcome, number: index + 1, batch.values(name), in: results)
        }
        guard prints else { return }
        let (text, errors) = (batch.tagged(outcome.output, name), batch.tagged(outcome.errors, name))
        if !output.append(text) { token.cancel() }
        // The bar would overwrite a last line without a line feed.
        if endsLines, let last = text.last, last != 10 { output.append([10]) }
        if !errors.isEmpty {
            output.flush()
            StandardError.write(errors)
        }
    }
}

/// Runs the commands of a batch on the workers' threads.
final class CommandWorker: Sendable {
    let failed = Mutex(FailedCommands())
    /// The reason why the run cannot continue, for any item.
    let refusal = Mutex<BatchRefusal?>(nil)
    private let batch: CommandBatch
    private let total: Int
    private let token: CancellationToken
    private let log: JobLog?
    /// Held while lines of a running command are written.
    private let lines = Mutex(())

    init(_ batch: CommandBatch, _ total: Int, _ token: CancellationToken, _ log: JobLog?) {
        (self.batch, self.total, self.token, self.log) = (batch, total, token, log)
    }

    /// Runs the `number`th attempt of the command for an item.
    func perform(_ item: Bytes, number: Int, index: Int, isEnding: () -> Bool) throws -> Bytes {
        guard batch.gate.enter(isEnding: isEnding) else {
            // An item that has not begun has not failed. The last running command ends the run.
            while !isEnding() { usleep(10_000) }
            throw CommandFailure(description: "the run was told to end")
        }
        var counted: ChildProcess.Outcome?
        defer { if batch.gate.leave(counted, of: total) { token.cancel() } }

        let slot = ChildSlots.take()
        defer { ChildSlots.leave(slot) }
        let words = batch.template.words(batch.values(item), number: index + 1, slot: slot.number)
        let line = Bytes(words.map(CommandTemplate.quoted).joined(separator: [32])) + [10]
        if batch.form.isVerbose { StandardError.write(line) }
        let (began, ticks) = (Stamp.now, Stamp.ticks)
        let outcome =
            batch.form.isDry
            ? ChildProcess.Outcome(output: line, errors: [], status: 0)
            : try start(words, item, index, slot, isEnding)
        let stamp = Stamp(start: began, seconds: Stamp.ticks - ticks)

        if outcome.isSuccess {
            counted = outcome
            log?.add(index, stamp, outcome, words)
            failed.withLock { _ = $0.take(index) }
            return CommandBatch.encode(stamp, outcome)
        }
        if outcome.mayBeEndedFromOutside, !outcome.isLate {
            for _ in 0..<CommandBatch.holdBack where !isEnding() { usleep(10_000) }
        }
        guard outcome.isCrash || !isEnding() else { throw CommandFailure(description: outcome.sentence) }
        failed.withLock { $0.keep(index, stamp, outcome) }
        if number >= batch.attempts {
            counted = outcome
            log?.add(index, stamp, outcome, words)
        }
        let limit = outcome.isLate ? batch.timeLimit.map { "over its time limit of \(Duration.seconds($0)): " } : nil
        let sentence = (limit ?? "") + outcome.sentence
        if outcome.isCrash || batch.gate.countsAtEnd { throw CommandFault(description: sentence) }
        throw CommandFailure(description: sentence)
    }

    private func start(
        _ words: [Bytes], _ item: Bytes, _ index: Int, _ slot: ChildSlots.Slot, _ isEnding: () -> Bool
    ) throws -> ChildProcess.Outcome {
        var setting = ChildProcess.Setting(folder: batch.form.folder, limit: batch.timeLimit)
        setting.variables = batch.form.variables
        if !setting.variables.isEmpty {
            setting.variables += [Bytes(ascii: "OVERDRIVE_SEQ=\(index + 1)"), Bytes(ascii: "OVERDRIVE_SLOT=\(slot.number)")]
        }
        switch batch.form.streams {
        case .kept: break
        case .passedOn: setting.streams = .passedOn
        case .lines:
            setting.streams = .lines { [self] output, errors in
                lines.withLock { _ in
                    let text = batch.tagged(output, item)
                    _ = StandardStreams.write(text[...], to: STDOUT_FILENO) { StopSignals.received != nil }
                    StandardError.write(batch.tagged(errors, item))
                }
            }
        }
        var looks = 0
        while true {
            do throws(ChildProcess.StartError) {
                return try ChildProcess.run(words, setting, in: slot, shouldStop: isEnding)
            } catch {
                if error.isStopped { throw CommandFailure(description: error.sentence) }
                if error.isShortage {
                    stop(
                        BatchRefusal(
                            .system,
                            "run: file descriptors, memory or processes ran out (\(sentence(forError: error.number))). "
                                + "Use fewer --jobs, or raise the limit."))
                    throw CommandFailure(description: error.sentence)
                }
                guard batch.template.isOfOneProgram, error.number != E2BIG else {
                    throw CommandFailure(description: error.sentence)
                }
                // A program that is being replaced exists again after a moment.
                looks += 1
                if looks == 1 {
                    usleep(100_000)
                    continue
                }
                let program = String(decoding: words[0].printable, as: UTF8.self)
                stop(BatchRefusal(error.number == ENOENT ? .noCommand : .notExecutable, "\(program): \(error.sentence)"))
                throw CommandFailure(description: error.sentence)
            }
        }
    }

    /// Ends the run. The first reason is kept.
    private func stop(_ reason: BatchRefusal) {
        refusal.withLock { if $0 == nil { $0 = reason } }
        token.cancel()
    }
}

/// Items with their numbers, which are the keys of their results.
private struct IndexedItems: RandomAccessCollection, Sendable {
    var names: Manifest
    var startIndex: Int { 0 }
    var endIndex: Int { names.count }
    subscript(index: Int) -> (index: Int, name: Bytes) { (index, names[index]) }
}

private struct CommandFailure: Error, CustomStringConvertible {
    var description: String
}

/// A failure that counts even while the run ends.
private struct CommandFault: BatchFault, CustomStringConvertible {
    var description: String
}
#endif
