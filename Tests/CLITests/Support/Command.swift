import FoundationEssentials
import Glibc
import Testing

/// Runs programs as a shell would, with arguments of any bytes and streams of any kind.
struct Command {
    /// Where a stream of the program leads.
    enum Stream {
        /// Into the result.
        case captured
        /// Nowhere: the program finds the descriptor closed.
        case closed
        case file(String, flags: Int32)
        /// An open descriptor of ours.
        case descriptor(Int32)
    }

    struct Outcome {
        var output: [UInt8]
        var errors: String
        /// The exit code, or 128 and the signal's number.
        var status: Int32
        var seconds: Double

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n").map(String.init) }
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    var program: String
    var arguments: [[UInt8]]
    var environment: [String] = []
    var directory: String?
    var input = Stream.file("/dev/null", flags: O_RDONLY)
    var output = Stream.captured
    var errors = Stream.captured

    init(_ program: String, _ arguments: [String] = []) {
        self.program = program
        self.arguments = arguments.map { Array($0.utf8) }
    }

    /// The command under test, as it stands beside this test bundle.
    static func overdrive(_ arguments: [String]) -> Command {
        Command(Self.overdrivePath, arguments)
    }

    static let overdrivePath: String = {
        // The tests are a program of their own, which stands beside the one under test.
        var place = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &place, place.count)
        let path = String(decoding: place.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return "/" + path.split(separator: "/").dropLast().joined(separator: "/") + "/overdrive"
    }()

    /// Runs to the end; a program that takes longer than `limit` seconds is killed and fails the test.
    func run(limit: Double = 60) throws -> Outcome {
        try start().wait(limit: limit)
    }

    func start() throws -> Running {
        let captured = try (Scratch.file(), Scratch.file())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
            switch stream {
            case .captured:
                posix_spawn_file_actions_adddup2(
                    &actions, number == STDOUT_FILENO ? captured.0 : captured.1, number)
            case .closed: posix_spawn_file_actions_addclose(&actions, number)
            case .file(let path, let flags):
                posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
        }

        // Signals as a terminal has them, whatever the tests were started from.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var words = [Array(program.utf8)] + self.arguments
        if let directory {
            words = ["sh", "-c", "cd \"$0\" && exec \"$@\"", directory].map { Array($0.utf8) } + words
        }
        let file = String(decoding: words[0], as: UTF8.self)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map {
            strdup(($0 + [0]).map { CChar(bitPattern: $0) })
        }
        var variables: [UnsafeMutablePointer<CChar>?] = (inheritedEnvironment + environment).map {
            strdup($0)
        }
        defer { (arguments + variables).forEach { free($0) } }
        arguments.append(nil)
        variables.append(nil)

        var process = pid_t()
        let start = ContinuousClock.now
        let error = posix_spawnp(&process, file, &actions, &attributes, arguments, variables)
        try #require(error == 0, "\(program): \(String(cString: strerror(error)))")
        return Running(process: process, start: start, output: captured.0, errors: captured.1)
    }

    private var inheritedEnvironment: [String] {
        let names = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"]
        return ["LC_ALL=C"]
            + names.compactMap { name in
                getenv(name).map { "\(name)=" + String(cString: $0) }
            }
    }
}

/// A program under way.
struct Running {
    let process: pid_t
    let start: ContinuousClock.Instant
    let output: Int32
    let errors: Int32

    func send(_ signal: Int32) {
        kill(process, signal)
    }

    /// How many of its threads are in poll(2) (on other machines ppoll(2)).
    var pollingThreads: Int {
        #if arch(x86_64)
            let poll = "7 "
        #else
            let poll = "73 "
        #endif
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.count { thread in
            (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/syscall", encoding: .utf8))?.hasPrefix(poll) ?? false
        }
    }

    func wait(limit: Double = 60) throws -> Command.Outcome {
        var status: Int32 = 0
        var isLate = false
        while waitpid(process, &status, WNOHANG) == 0 {
            if !isLate, seconds > limit {
                isLate = true
                kill(process, SIGKILL)
            }
            usleep(500)
        }
        let seconds = seconds
        let code = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
        let outcome = Command.Outcome(
            output: Scratch.contents(output),
            errors: String(decoding: Scratch.contents(errors), as: UTF8.self),
            status: code, seconds: seconds
        )
        close(output)
        close(errors)
        try #require(!isLate, "no end after \(limit) s; said: \(outcome.errors)")
        return outcome
    }

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }
}

/// Files without a name.
enum Scratch {
    static func file() throws -> Int32 {
        var template = Array("/tmp/overdrive-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        try #require(fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0)
        unlink(template)
        return descriptor
    }

    /// A pipe, whose ends no program inherits by itself.
    static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    static func contents(_ descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(max(0, lseek(descriptor, 0, SEEK_END))))
        _ = pread(descriptor, &bytes, bytes.count, 0)
        return bytes
    }
}
