// Owns the start, supervision and output of a child command. `run` and Slurm calls use it on workers' threads. It
// never interprets a command's output.

internal import CCommandSystem
internal import CFileReading
internal import Glibc

/// Runs a command and collects its output.
enum ChildProcess {
    /// The result of a command.
    struct Outcome {
        var output: Bytes
        var errors: Bytes
        /// The wait status of waitpid(2).
        var status: Int32
        /// Whether the command exceeded its time limit.
        var isLate = false
        /// Whether the command tried to use the terminal, which stops a background command.
        var askedTerminal = false

        var exitCode: Int { status & 0x7f == 0 ? Int(status >> 8 & 0xff) : 0 }
        var signal: Int { Int(status & 0x7f) }
        var isSuccess: Bool { status == 0 }

        /// The message for a failed command.
        var sentence: String {
            if askedTerminal { return "asked for the terminal, which commands cannot use here: give it its input as a file" }
            return signal == 0 ? "exit code \(exitCode)" : "ended by \(String(cString: strsignal(Int32(signal))))"
        }

        /// Whether an outside request may have ended the command: by a signal of that kind, or with a shell's exit
        /// code for one.
        var mayBeEndedFromOutside: Bool {
            let code = signal != 0 ? signal : exitCode - 128
            return [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGTERM].contains(Int32(code))
        }

        /// Whether the command crashed. A request to end does not cause these signals.
        var isCrash: Bool { [SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP].contains(Int32(signal)) }
    }

    /// The reason why a command could not be started.
    struct StartError: Error {
        var number: Int32
        /// Whether this process lacks a resource, so that the command is not at fault.
        var isShortage: Bool { [EMFILE, ENFILE, EAGAIN, ENOMEM].contains(number) || !isOfCommand }
        /// Whether the start failed, and not a step before it.
        var isOfCommand: Bool
        /// Whether the run ended before the start succeeded.
        var isStopped = false

        var sentence: String { "cannot be started: \(overdrive_cli.sentence(forError: number))" }
    }

    /// The destination of a command's output.
    enum Streams {
        /// The outcome keeps the output.
        case kept
        /// The streams of this process receive the output directly.
        case passedOn
        /// The closure receives whole lines of output and of errors while the command runs.
        case lines((Bytes, Bytes) -> Void)
    }

    /// The environment of a command, besides its words.
    struct Setting {
        /// The working directory; nil for that of this process.
        var folder: Bytes?
        /// Variables in the form NAME=VALUE, which replace those of this process.
        var variables: [Bytes] = []
        var streams = Streams.kept
        /// The time limit in seconds.
        var limit: Double?
    }

    /// The time in milliseconds between the request to end and the kill.
    private static let patience = 2000
    /// The time in seconds for repeated starts while no other command of this process could free the missing
    /// resource.
    private static let startPatience = 3.0

    /// The limit of open files for commands. The limit of this process is raised.
    private static let fileLimit = raise_file_limit()
    /// The standard input of commands, which is empty.
    private static let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)

    /// Runs the command to its end.
    ///
    /// - Parameter shouldStop: Asked 10 times a second. When it returns true, the command is asked to end, and later
    ///   killed.
    /// - Throws: `StartError` if the command could not be started. If this process lacks a resource, the start waits
    ///   while other commands run.
    static func run(
        _ words: [Bytes], _ setting: Setting = Setting(), in slot: ChildSlots.Slot? = nil, shouldStop: () -> Bool
    ) throws(StartError) -> Outcome {
        let taken = slot ?? ChildSlots.take()
        defer { if slot == nil { ChildSlots.leave(taken) } }
        var lone = 0.0
        while true {
            do throws(StartError) {
                return try runOnce(words, setting, in: taken, shouldStop: shouldStop)
            } catch {
                guard error.isShortage else { throw error }
                if shouldStop() { throw StartError(number: error.number, isOfCommand: error.isOfCommand, isStopped: true) }
                lone = ChildSlots.hasRunning ? 0 : lone + 0.02
                guard lone < startPatience else { throw error }
                usleep(20_000)
            }
        }
    }

    private static func runOnce(
        _ words: [Bytes], _ setting: Setting, in slot: ChildSlots.Slot, shouldStop: () -> Bool
    ) throws(StartError) -> Outcome {
        // The limit is raised before the first file for a command is created.
        var start = child_start()
        start.files = fileLimit
        var files = (output: STDOUT_FILENO, errors: STDERR_FILENO)
        var isKept = true
        if case .passedOn = setting.streams { isKept = false }
        if isKept {
            // Each command has separate files, because background processes that it leaves may continue to write.
            files.output = namelessFile("output")
            guard files.output >= 0 else { throw StartError(number: errno, isOfCommand: false) }
            files.errors = namelessFile("errors")
        }
        defer { if isKept { for file in [files.output, files.errors] where file >= 0 { close(file) } } }
        guard files.errors >= 0, nothing >= 0 else { throw StartError(number: errno, isOfCommand: false) }
        (start.input, start.output, start.errors) = (nothing, files.output, files.errors)

        let process = with(words, setting, &start) { start_child(&$0) }
        guard process > 0 else { throw StartError(number: errno, isOfCommand: true) }
        slot.process = process
        var seen = (output: 0, errors: 0)
        func tell(toEnd: Bool) {
            guard case .lines(let told) = setting.streams else { return }
            let output = newLines(files.output, &seen.output, toEnd: toEnd)
            let errors = newLines(files.errors, &seen.errors, toEnd: toEnd)
            if !output.isEmpty || !errors.isEmpty { told(output, errors) }
        }
        var outcome = wait(for: process, in: slot, limit: setting.limit, shouldStop: shouldStop) { tell(toEnd: false) }
        tell(toEnd: true)
        if case .kept = setting.streams {
            outcome.output = contents(files.output, from: 0)
            outcome.errors = contents(files.errors, from: 0)
        }
        return outcome
    }

    /// Calls `body` with `start` completed for these words.
    private static func with(
        _ words: [Bytes], _ setting: Setting, _ start: inout child_start, _ body: (inout child_start) -> pid_t
    ) -> pid_t {
        /// Passes a block of zero-terminated words and an array of pointers to them.
        func list(_ words: [Bytes], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> pid_t) -> pid_t {
            var block = Bytes()
            block.reserveCapacity(words.reduce(1) { $0 + $1.count + 1 })
            for word in words {
                block += word
                block.append(0)
            }
            block.append(0)
            return block.withUnsafeBytes { bytes -> pid_t in
                guard let base = bytes.bindMemory(to: CChar.self).baseAddress else { return -1 }
                var place = 0
                var pointers = words.map { word -> UnsafeMutablePointer<CChar>? in
                    defer { place += word.count + 1 }
                    return UnsafeMutablePointer(mutating: base + place)
                }
                pointers.append(nil)
                return pointers.withUnsafeBufferPointer { pointers in
                    guard let first = pointers.baseAddress else { return -1 }
                    return body(first)
                }
            }
        }
        return list(words) { words in
            start.words = words
            return list(setting.variables) { variables in
                start.variables = setting.variables.isEmpty ? UnsafePointer(environ) : variables
                guard let folder = setting.folder else { return body(&start) }
                return folder.withCString { folder in
                    start.folder = folder
                    return body(&start)
                }
            }
        }
    }

    private static func wait(
        for process: pid_t, in slot: ChildSlots.Slot, limit: Double?, shouldStop: () -> Bool, tick: () -> Void
    ) -> Outcome {
        var outcome = Outcome(output: [], errors: [], status: 0xff00)
        let deadline = limit.map { ContinuousClock.now + .seconds($0) }
        let descriptor = open_process(process)
        defer { if descriptor >= 0 { close(descriptor) } }
        var asked = -1
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let pause: Int32 = descriptor < 0 ? 1 : 100
            if descriptor < 0 {
                usleep(1000)
            } else {
                poll(&ready, 1, pause)
            }
            let ended = has_ended(process)
            if ended > 0 {
                // From here on the number may belong to another process, so no signal is sent to it.
                slot.process = 0
                // Processes that the command left were asked to end with it, and are killed now. The number is still
                // valid, because the process is not reaped yet.
                if asked >= 0 { kill(-process, SIGKILL) }
                var status: Int32 = 0
                if waitpid(process, &status, 0) == process { outcome.status = status }
                return outcome
            }
            if ended < 0 {  // The status is lost, which must not count as success.
                slot.process = 0
                return outcome
            }
            tick()
            if asked < 0 {
                if [SIGTTIN, SIGTTOU].contains(stopped_by(process)) {
                    outcome.askedTerminal = true
                } else if let deadline, deadline < .now {
                    outcome.isLate = true
                } else if !shouldStop() {
                    continue
                }
                kill(-process, SIGTERM)
                if outcome.askedTerminal { kill(-process, SIGCONT) }
                asked = 0
            } else {
                asked += Int(pause)
                if asked > patience { kill(-process, SIGKILL) }
            }
        }
    }

    /// Creates a file without a name: in memory or, if a container forbids that, in $TMPDIR or /tmp.
    ///
    /// - Returns: The descriptor; or -1, with the reason in `errno`.
    static func namelessFile(_ name: String) -> Int32 {
        let file = memory_file(name)
        if file >= 0 || errno == EMFILE || errno == ENFILE { return file }
        var path = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/overdrive-XXXXXX".utf8CString)
        let draft = mkstemp(&path)
        if draft >= 0 {
            unlink(path)
            _ = fcntl(draft, F_SETFD, FD_CLOEXEC)
        }
        return draft
    }

    private static func contents(_ file: Int32, from start: Int) -> Bytes {
        let size = Int(lseek(file, 0, SEEK_END)) - start
        guard size > 0 else { return [] }
        return Bytes(unsafeUninitializedCapacity: size) { place, used in
            used = max(0, pread(file, place.baseAddress, size, off_t(start)))
        }
    }

    /// Returns the unread lines of `file`, and at the end also an incomplete line.
    private static func newLines(_ file: Int32, _ seen: inout Int, toEnd: Bool) -> Bytes {
        var status = stat()
        guard fstat(file, &status) == 0, Int(status.st_size) > seen else { return [] }
        // The command shares the offset of this descriptor, so the read must not move it.
        let size = Int(status.st_size) - seen
        var text = Bytes(unsafeUninitializedCapacity: size) { place, used in
            used = max(0, pread(file, place.baseAddress, size, off_t(seen)))
        }
        if !toEnd { text = text.lastIndex(of: 10).map { Bytes(text[...$0]) } ?? [] }
        seen += text.count
        return text
    }
}
