#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore

/// `overdrive run`.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs a command for each item, several at a time, as xargs -P and GNU parallel do.",
        usage: "overdrive run [options] COMMAND … {} … [::: ITEM …]",
        discussion: """
            {} in a word of COMMAND is replaced by the item. Without a placeholder, the item is appended as the last word. No shell reads \
            COMMAND; for a shell, use --shell 'TEXT'. Options end at the first word of COMMAND, or at --.

            PLACES: {.} the item without its extension; {/} its name; {//} its folder; {/.} its name without extension; \
            {#} its number; {%} its job slot; {1} to {n} the value of each source, with several sources, -n or \
            --colsep. --plain replaces only {}; -I STR replaces STR instead of {}.

            ITEMS: the words after :::, the lines of the files after ::::, the lines of --items, or those of standard input. \
            Several ::: give each combination; :::+ and ::::+ are paired with the source before. \\::: is the word :::.

            Each command's output is kept until the command ends, and printed in the order of the items. With --journal, the \
            same command line runs only the unfinished items, and prints all outputs. A command that was running when this process was \
            killed is run again. Variables: OVERDRIVE_SEQ is the item's number, OVERDRIVE_SLOT its job slot.

            EXIT CODES: 0 all succeeded; 1 to 62 the number of failed commands; 63 more failed; 64 wrong usage; 65 the journal belongs \
            to another job or is damaged; 66 no such file; 71 no resources; 73 a read-only file system; 74 the results or the \
            journal could not be written, as on a full disk; 75 another process writes the journal; 126 COMMAND cannot be \
            executed; 127 no such COMMAND; 130 interrupted; with --halt, the code of the command that ended the run.
            """
    )

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Runs this many commands at a time: N up to \(EngineName.mostJobs), N% of the CPUs, or the CPUs +N or -N; also -P.",
            valueName: "n"))
    var jobs: String?

    @Flag(name: [.customShort("0"), .customLong("null")], help: "Ends each item at a zero byte.")
    var null = false

    @Option(
        name: [.customShort("d"), .long],
        help: ArgumentHelp("Ends each item at this text; \\n, \\t and \\0 are escapes.", valueName: "text"))
    var delimiter: String?

    @Option(
        name: [.customShort("a"), .long],
        help: ArgumentHelp("Reads the items from this file; - is standard input.", valueName: "file"))
    var items: PathArgument?

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("Passes up to this many items to each command; also -N.", valueName: "n"))
    var maxArgs = 1

    @Flag(help: "Passes as many items to each command as fit in 96 KiB.")
    var xargs = false

    @Option(
        name: [.customShort("E"), .long],
        help: ArgumentHelp("Ends the list at this item.", valueName: "text"))
    var eof: String?

    @Option(
        name: [.customShort("C"), .long],
        help: ArgumentHelp("Divides each item at this text into {1}, {2} and so on.", valueName: "text"))
    var colsep: String?

    @Flag(name: [.customShort("r"), .long], help: "Skips blank items.")
    var noRunIfEmpty = false

    @Option(name: [.customShort("I"), .long], help: ArgumentHelp("Replaces only this text.", valueName: "text"))
    var replace: String?

    @Flag(help: "Replaces only {}, and treats only the first ::: as a separator.")
    var plain = false

    @Option(
        help: ArgumentHelp(
            "Runs this text with /bin/sh for each quoted item, instead of COMMAND.", valueName: "text"))
    var shell: String?

    @Option(help: ArgumentHelp("Runs a failing command up to this many times in all, 1 to 1000; --retries is the same, as in GNU parallel.", valueName: "n"))
    var attempts = 1

    @Option(help: ArgumentHelp("Ends a command after this time: seconds, or 5m, 2h, 1d; also --timeout.", valueName: "s"))
    var timeLimit: Seconds?

    @Option(
        help: ArgumentHelp(
            "Ends the run: now (commands too) or soon, after fail=N, success=N, done=N, or N% of the items, or at exit=CODE; or never.",
            valueName: "when"))
    var halt = "never"

    @Option(help: ArgumentHelp("Waits this many seconds between two starts.", valueName: "s"))
    var delay = Seconds(count: 0)

    @Option(help: ArgumentHelp("Starts no command while less memory than this is free, such as 2G.", valueName: "size"))
    var memfree: String?

    @Option(help: ArgumentHelp("Starts no command while the load is above this: N, or N% of the CPUs.", valueName: "n"))
    var load: String?

    @Flag(help: "Prints the commands without running them.")
    var dryRun = false

    @Flag(name: [.customShort("t"), .long], help: "Prints each command on standard error before it runs.")
    var verbose = false

    @Flag(help: "Prints the item and a tab before each line of its output.")
    var tag = false

    @Flag(help: "Prints each line as soon as it is complete; also --lb.")
    var lineBuffer = false

    @Flag(name: [.customShort("u"), .long], help: "Lets commands write directly to this process's output.")
    var ungroup = false

    @Flag(name: [.customShort("k"), .long], help: "Prints outputs in the order of the items, as is the default.")
    var keepOrder = false

    @Option(name: .customLong("wd"), help: ArgumentHelp("Starts commands in this folder.", valueName: "dir"))
    var folder: PathArgument?

    @Option(help: ArgumentHelp("Sets NAME=VALUE for the commands; they inherit NAME without a value anyway.", valueName: "variable"))
    var env: [PathArgument] = []

    @Option(help: ArgumentHelp("Also writes each output to DIR/1/ITEM/stdout and stderr; ITEM has +z for / and ++ for +.", valueName: "dir"))
    var results: PathArgument?

    @Option(
        help: ArgumentHelp(
            "Writes a line for each command as it ends, in the form of GNU parallel's --joblog.", valueName: "file"))
    var joblog: PathArgument?

    @OptionGroup var batch: BatchSetup

    @Argument(parsing: .postTerminator, help: "The command with its arguments, and items after :::.")
    var command: [String] = []

    func validate() throws {
        try Settings.validate()
        _ = try jobCount
        guard (1...1000).contains(attempts) else {
            throw ValidationError("--attempts, or --retries, takes a number from 1 to 1000, not \(attempts). The first run of a command counts.")
        }
        if let timeLimit, !(timeLimit.count > 0 && timeLimit.count < 1e9) {
            throw ValidationError("--time-limit takes a number of seconds over 0, not \(timeLimit).")
        }
        guard (1...100_000).contains(maxArgs) else {
            let remedy = maxArgs == 0 ? " To give a command no item, write sh -c 'COMMAND' {}." : ""
            throw ValidationError("-n takes a number from 1 to 100000, not \(maxArgs).\(remedy)")
        }
        guard delay.count >= 0, delay.count < 1e6 else { throw ValidationError("--delay takes a number of seconds, not \(delay).") }
        guard halt == "never" || HaltRule(halt) != nil else {
            throw ValidationError("--halt takes now,fail=1, soon,fail=10%, soon,exit=255 and the like, or never, not '\(halt)'.")
        }
        if let memfree, StartGate.size(memfree) == nil {
            throw ValidationError("--memfree takes a size such as 2G, not '\(memfree)'.")
        }
        if let load, Self.loadLimit(load) == nil { throw ValidationError("--load takes N or N%, not '\(load)'.") }
        try validateTogether()
    }

    /// Rejects combinations of options that exclude each other.
    private func validateTogether() throws {
        if joblog != nil, batch.processes != nil {
            throw ValidationError("--joblog cannot be combined with --processes: each process would write over the others' lines.")
        }
        if batch.processes != nil, halt != "never" || results != nil || tag || delay.count > 0 {
            throw ValidationError("--processes cannot be combined with --halt, --results, --tag and --delay: use --jobs.")
        }
        if batch.shard != nil, tag {
            throw ValidationError("--shard cannot be combined with --tag: overdrive merge prints lines as commands wrote them.")
        }
        if batch.journal != nil, ungroup || lineBuffer || dryRun {
            throw ValidationError("--ungroup, --line-buffer and --dry-run keep no output: leave --journal out.")
        }
        if ungroup, lineBuffer || tag { throw ValidationError("--ungroup cannot be combined with --tag: use --line-buffer.") }
        if results != nil, ungroup || lineBuffer {
            throw ValidationError("--results keeps whole outputs: leave --ungroup and --line-buffer out.")
        }
        if null, delimiter != nil { throw ValidationError("-0 and -d both name the end of an item: leave one out.") }
        if xargs, maxArgs > 1 || colsep != nil {
            throw ValidationError("--xargs cannot be combined with -n and --colsep: leave one out.")
        }
        if colsep != nil, maxArgs > 1 { throw ValidationError("-n cannot be combined with --colsep: leave one out.") }
    }

    private static func loadLimit(_ text: String) -> Double? {
        let isPercent = text.hasSuffix("%")
        guard let number = Double(isPercent ? text.dropLast() : text[...]), number > 0 else { return nil }
        return isPercent ? number / 100 * Double(Scheduler.shared.workerCount) : number
    }

    /// The number of commands that run at a time.
    private var jobCount: Int {
        get throws {
            guard let jobs else { return Scheduler.shared.workerCount }
            let problem = ValidationError(
                "--jobs takes a number from 1 to \(EngineName.mostJobs), N%, +N or -N, not \(jobs).")
            let isPercent = jobs.hasSuffix("%")
            guard let number = Int(isPercent ? jobs.dropLast() : jobs[...]) else { throw problem }
            let cpus = Scheduler.shared.workerCount
            if isPercent {
                guard (1...100_000).contains(number) else { throw problem }
                return min(EngineName.mostJobs, max(1, cpus * number / 100))
            }
            if jobs.hasPrefix("+") || jobs.hasPrefix("-") {
                guard abs(number) <= EngineName.mostJobs else { throw problem }
                return min(EngineName.mostJobs, max(1, cpus + number))
            }
            guard (1...EngineName.mostJobs).contains(number) else { throw problem }
            return number
        }
    }

    func run() throws {
        let given = ItemSources(command.map(RawArgument.bytes), isPlain: plain || replace != nil)
        let words = shell.map { [RawArgument.bytes(for: $0)] } ?? given.command
        guard !words.isEmpty else {
            throw ValidationError(
                "run needs a command: overdrive run [options] COMMAND {}. If the items are commands, write sh -c {}.")
        }
        guard shell == nil || given.command.isEmpty else {
            throw ValidationError("--shell and COMMAND both name the command: leave one out.")
        }
        guard given.sources.isEmpty || items == nil else {
            throw ValidationError("--items and ::: both name items: leave one out.")
        }
        guard given.sources.count <= 1 || maxArgs == 1 && colsep == nil && !xargs else {
            throw ValidationError("-n, --xargs and --colsep take one source of items: leave the other ::: out.")
        }
        let jobs = try jobCount
        try endingWithASentence {
            if shell == nil { try refuseShellText(words) }
            if let folder, folder.bytes.withCString({ access($0, X_OK) }) != 0 {
                throw .system(String(decoding: folder.bytes.printable, as: UTF8.self), "entering") as BatchRefusal
            }
            let isSplit = given.sources.count > 1 || maxArgs > 1 || colsep != nil || xargs
            // The largest number of placeholders in the words. Each occurrence of an item takes space.
            let opening = replace.flatMap { RawArgument.bytes(for: $0).first } ?? UInt8(ascii: "{")
            let places = max(1, words.joined().filter { $0 == opening }.count)
            var known: Manifest?
            let names: () throws(BatchRefusal) -> Manifest = { () throws(BatchRefusal) in
                if let known { return known }
                let list = try self.names(given, isSplit: isSplit, places: places)
                known = list
                return list
            }
            var columns = max(maxArgs, given.sources.count, 1)
            if colsep != nil {
                // Lines may have any number of columns. The list in the journal is used if there is one.
                let kept = try batch.directory.flatMap { directory in try Manifest.read("\(directory)/manifest") }
                columns = try (kept ?? names()).lazy.map { ItemSources.values($0).count }.max() ?? 1
            }
            let rules = CommandTemplate.Rules(
                place: replace.map(RawArgument.bytes) ?? (plain ? Bytes(ascii: "{}") : nil), columns: columns,
                isShell: shell != nil)
            let batch = CommandBatch(
                template: try CommandTemplate(words, rules),
                name: "run " + (shell == nil ? "" : "--shell ") + RawArgument.text(for: Bytes(words.joined(separator: [32]))),
                isSplit: isSplit, jobs: jobs, attempts: attempts, timeLimit: timeLimit?.count, form: form,
                gate: StartGate(
                    delay: delay.count, mostLoad: load.flatMap(Self.loadLimit), leastMemory: memfree.flatMap(StartGate.size),
                    halt: HaltRule(halt)),
                setup: batch)
            if isStream(given) { return try batch.run(LineStream(STDIN_FILENO, end: null ? 0 : 10, last: last), joblog: joblog?.bytes) }
            let isRepeatable = !given.sources.isEmpty || self.items.map { $0.bytes != Roots.standardInput } ?? false
            return try batch.run(items: names, isRepeatable: isRepeatable, joblog: joblog?.bytes)
        }
    }

    /// Returns whether commands begin before the last item is read. A journal, a shard, a report and a bar need the
    /// whole list.
    private func isStream(_ given: ItemSources) -> Bool {
        given.sources.isEmpty && items.map { $0.bytes == Roots.standardInput } ?? true && batch.journal == nil
            && batch.report == nil && batch.progress == .auto && maxArgs == 1 && colsep == nil && delimiter == nil && !xargs
            && !noRunIfEmpty && !halt.hasSuffix("%")
    }

    /// The item that ends a list.
    private var last: Bytes? { eof.map { RawArgument.bytes(for: $0) } }

    private var form: RunForm {
        var form = RunForm(isDry: dryRun, isVerbose: verbose, isTagged: tag, folder: folder?.bytes, results: results?.bytes)
        form.streams = ungroup ? .passedOn : lineBuffer ? .lines : .kept
        var variables = env.map(\.bytes).filter { $0.contains(UInt8(ascii: "=")) }
        let ours = variables.map { $0.prefix { $0 != UInt8(ascii: "=") } } + [Bytes(ascii: "OVERDRIVE_SEQ")[...], Bytes(ascii: "OVERDRIVE_SLOT")[...]]
        var place = environ
        while let variable = place.pointee {
            let text = Bytes(String(cString: variable).utf8)
            if !ours.contains(text.prefix { $0 != UInt8(ascii: "=") }) { variables.append(text) }
            place += 1
        }
        form.variables = variables
        return form
    }

    /// Rejects a single word with blanks or shell characters, unless a program has that name.
    private func refuseShellText(_ words: [Bytes]) throws(BatchRefusal) {
        let marks = Bytes(ascii: " \t\n|&;<>()$`\"'*?~")
        guard words.count == 1, words[0].contains(where: marks.contains),
            words[0].withCString({ access($0, F_OK) }) != 0
        else { return }
        let text = String(decoding: CommandTemplate.quoted(words[0]), as: UTF8.self)
        throw BatchRefusal(.usage, "run: no shell runs the command, but its only word has shell characters. Write --shell \(text).")
    }

    /// Returns the names of items: each value, or the values of a row.
    ///
    /// - Parameter places: The number of times that an item occurs in a command.
    private func names(_ given: ItemSources, isSplit: Bool, places: Int) throws(BatchRefusal) -> Manifest {
        var list = Manifest.Builder()
        var rows: [[Bytes]] = []
        if given.sources.isEmpty {
            // A list may have millions of lines, so an array of each line is made only for rows of several values.
            var values: [Bytes] = []
            try eachLine(items?.bytes ?? Roots.standardInput) { line in
                if noRunIfEmpty, line.isEmpty { return }
                if isSplit { values.append(Bytes(line)) } else { list.append(line) }
            }
            guard isSplit else { return Manifest(list) }
            rows = values.map { [$0] }
        } else {
            rows = try given.rows(until: last, lines)
        }
        if noRunIfEmpty { rows.removeAll { $0 == [[]] } }
        if let colsep {
            let separator = ItemSources.separator(RawArgument.bytes(for: colsep))
            rows = rows.map { ItemSources.split($0[0], at: separator) }
        } else if xargs {
            rows = ItemSources.filled(rows.map { $0[0] }, room: (96 << 10) / places) { value in
                (shell == nil ? value : CommandTemplate.quoted(value)).count + 1
            }
        } else if maxArgs > 1 {
            rows = stride(from: 0, to: rows.count, by: maxArgs).map { start in
                rows[start..<min(rows.count, start + maxArgs)].map { $0[0] }
            }
        }
        for row in rows { list.append(isSplit ? ItemSources.name(row) : row[0]) }
        return Manifest(list)
    }

    /// Returns the lines of a file as an array, for a source that is combined with others.
    private func lines(_ path: Bytes) throws(BatchRefusal) -> [Bytes] {
        var list: [Bytes] = []
        try eachLine(path) { list.append(Bytes($0)) }
        return list
    }

    /// Calls `body` for each item of a file.
    private func eachLine(_ path: Bytes, _ body: (ArraySlice<UInt8>) -> Void) throws(BatchRefusal) {
        var file = STDIN_FILENO
        if path != Roots.standardInput {
            file = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
            guard file >= 0 else { throw .system(String(decoding: path.printable, as: UTF8.self), "opening") }
        }
        defer { if file != STDIN_FILENO { close(file) } }
        guard let text = Manifest.readAll(file) else { throw .system("the items", "reading", .noInput) }
        let end = null ? [0] : delimiter.map { ItemSources.separator(RawArgument.bytes(for: $0)) } ?? [10]
        guard end == [0] || !text.contains(0) else {
            throw BatchRefusal(
                .usage, "an item contains a zero byte, which a word of a command cannot: if items end with zero bytes, write -0")
        }
        var rest = text[...]
        guard let first = end.first else { return body(rest) }
        while !rest.isEmpty {
            var next = rest.firstIndex(of: first) ?? rest.endIndex
            while !rest[next...].starts(with: end), next < rest.endIndex {
                next = rest[(next + 1)...].firstIndex(of: first) ?? rest.endIndex
            }
            let line = rest[..<next]
            if let last, line.elementsEqual(last) { return }
            body(line)
            rest = rest[min(next + end.count, rest.endIndex)...]
        }
    }
}

/// A time for `--time-limit` and `--delay`: seconds, or a number with s, m, h or d.
struct Seconds: ExpressibleByArgument, CustomStringConvertible {
    var count: Double
    var description: String { "\(count)" }

    init(count: Double) { self.count = count }

    init?(argument: String) {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        let unit = argument.last.flatMap { units[$0] }
        guard let number = Double(unit == nil ? argument[...] : argument.dropLast()) else { return nil }
        count = number * (unit ?? 1)
    }
}
#endif
