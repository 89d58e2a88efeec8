internal import CFileReading
internal import Glibc

/// A command, and what it prints.
enum ChildProcess {
    /// What a command left.
    struct Outcome {
        var output: Bytes
        var errors: Bytes
        /// As waitpid(2) tells it.
        var status: Int32

        var exitCode: Int { status & 0x7f == 0 ? Int(status >> 8 & 0xff) : 0 }
        var signal: Int { Int(status & 0x7f) }
        var isSuccess: Bool { status == 0 }

        /// What is said of a command that failed.
        var sentence: String {
            signal == 0 ? "exit code \(exitCode)" : "ended by \(String(cString: strsignal(Int32(signal))))"
        }
    }

    /// How long a command that is asked to end may take before it is killed, in milliseconds.
    private static let patience = 2000

    /// Runs the command to its end.
    ///
    /// - Parameter shouldStop: Asked ten times a second; from then on the command is asked to end, and killed later.
    /// - Throws: When it could not be started.
    static func run(_ words: [Bytes], shouldStop: () -> Bool) throws(BatchRefusal) -> Outcome {
        // Its own: what it leaves in the background may write on, and not among the output of another one.
        let (output, errors) = (memory_file("output"), memory_file("errors"))
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { for file in [output, errors, input] where file >= 0 { close(file) } }
        guard output >= 0, errors >= 0 else { throw .system("a memory file", "making it", .system) }
        guard input >= 0 else { throw .system("/dev/null", "opening it", .system) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A group of its own, so that what it starts ends with it; and signals as a shell gives them.
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // One block of zero-terminated words, and the places where they begin.
        let block = Bytes(words.map { $0 + [0] }.joined())
        var process = pid_t()
        let error = block.withUnsafeBytes { bytes -> Int32 in
            guard let base = bytes.bindMemory(to: CChar.self).baseAddress else { return ENOENT }
            var place = 0
            var arguments = words.map { word -> UnsafeMutablePointer<CChar>? in
                defer { place += word.count + 1 }
                return UnsafeMutablePointer(mutating: base + place)
            }
            arguments.append(nil)
            return posix_spawnp(&process, base, &actions, &attributes, arguments, environ)
        }
        guard error == 0 else {
            throw BatchRefusal(.someFailed, "cannot be started: \(overdrive_cli.sentence(forError: error))")
        }
        let status = wait(for: process, shouldStop: shouldStop)
        return Outcome(output: contents(output), errors: contents(errors), status: status)
    }

    private static func wait(for process: pid_t, shouldStop: () -> Bool) -> Int32 {
        var status: Int32 = 0
        let descriptor = open_process(process)
        defer { if descriptor >= 0 { close(descriptor) } }
        var asked = -1
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let tick: Int32 = descriptor < 0 ? 1 : 100
            if descriptor < 0 {
                usleep(1000)
            } else {
                poll(&ready, 1, tick)
            }
            let ended = has_ended(process)
            if ended > 0 {
                // What it started and left behind: asked to end with it, and not let go when it is late. Not yet reaped,
                // its number is nobody else's.
                if asked >= 0 { kill(-process, SIGKILL) }
                return waitpid(process, &status, 0) == process ? status : 0xff00
            }
            if ended < 0 { return 0xff00 }  // how it ended is lost: never a success
            if asked < 0, shouldStop() {
                kill(-process, SIGTERM)
                asked = 0
            } else if asked >= 0 {
                asked += Int(tick)
                if asked > patience { kill(-process, SIGKILL) }
            }
        }
    }

    private static func contents(_ file: Int32) -> Bytes {
        let size = Int(lseek(file, 0, SEEK_END))
        guard size > 0 else { return [] }
        return Bytes(unsafeUninitializedCapacity: size) { place, used in
            used = max(0, pread(file, place.baseAddress, size, 0))
        }
    }
}
