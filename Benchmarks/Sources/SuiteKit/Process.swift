internal import BenchmarkKit
internal import Glibc

/// A child process that is waited for with a time limit.
enum Child {
    struct Outcome {
        var output = ""
        var errors = ""
        /// nil: it had to be killed.
        var status: Int32?
    }

    /// A crash is a failed run; nobody reads its backtrace, which may take minutes. Set once: a child that is begun
    /// meanwhile would read the environment while it moves.
    private static let withoutBacktrace = setenv("SWIFT_BACKTRACE", "enable=no", 0)

    static func run(_ arguments: [String], seconds: Int) -> Outcome {
        var outcome = Outcome()
        _ = withoutBacktrace
        var (out, err): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&out) == 0, pipe(&err) == 0 else {
            outcome.errors = "no pipe"
            outcome.status = 71
            return outcome
        }
        for end in out + err { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, out[1], 1)
        posix_spawn_file_actions_adddup2(&actions, err[1], 2)
        var process = pid_t()
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        let error = posix_spawnp(&process, pointers[0]!, &actions, nil, &pointers, environ)
        close(out[1])
        close(err[1])
        defer {
            close(out[0])
            close(err[0])
        }
        guard error == 0 else {
            outcome.errors = String(cString: strerror(error))
            outcome.status = 71
            return outcome
        }
        let deadline = Harness.now + seconds * 1_000_000_000
        var killed = false
        var waiting = [pollfd(fd: out[0], events: Int16(POLLIN), revents: 0), pollfd(fd: err[0], events: Int16(POLLIN), revents: 0)]
        var bytes: [[UInt8]] = [[], []]
        var buffer = [UInt8](repeating: 0, count: 65536)
        while waiting.contains(where: { $0.fd >= 0 }) {
            let left = deadline - Harness.now
            if left <= 0 && !killed {
                kill(process, SIGKILL)
                killed = true
            }
            // What it started may outlive it with its streams open: they are not waited for then.
            if poll(&waiting, 2, killed ? 1000 : Int32(left / 1_000_000 + 1)) == 0 && killed { break }
            for index in 0..<2 where waiting[index].fd >= 0 && waiting[index].revents != 0 {
                let count = read(waiting[index].fd, &buffer, buffer.count)
                if count > 0 {
                    bytes[index] += buffer[0..<count]
                } else if count == 0 || errno != EINTR {
                    waiting[index].fd = -1
                }
            }
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 && errno == EINTR {}
        outcome.output = String(decoding: bytes[0], as: UTF8.self)
        outcome.errors = String(decoding: bytes[1], as: UTF8.self)
        // 0x7f: it ended by itself; else a signal's number.
        outcome.status = killed ? nil : status & 0x7f == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f)
        return outcome
    }
}

/// What the whole machine did, from /proc.
enum Neighbours {
    /// CPU seconds of everybody so far, waiting for disks left out.
    static var busySeconds: Double {
        let words = File.read("/proc/stat").split(separator: "\n").first?.split(separator: " ").dropFirst() ?? []
        let ticks = words.compactMap { Double($0) }
        guard ticks.count >= 8 else { return 0 }
        return (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// CPU seconds of our children that have ended.
    static var childrenSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    static var load: Double {
        Double(File.read("/proc/loadavg").split(separator: " ").first ?? "0") ?? 0
    }
}

/// Small files.
public enum File {
    public static func read(_ path: String) -> String { String(decoding: bytes(path), as: UTF8.self) }

    /// Nothing when it cannot be read.
    static func bytes(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { break }
            bytes += buffer[0..<count]
        }
        return bytes
    }

    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Writes the whole file, or appends to it. False when it cannot.
    @discardableResult
    public static func write(_ text: String, to path: String, appending: Bool = false) -> Bool {
        guard let file = fopen(path, appending ? "a" : "w") else { return false }
        let bytes = Array(text.utf8)
        let written = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && written == bytes.count
    }

    /// Makes the folders that lead to a file.
    public static func makeFolder(of path: String) {
        var folder = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            folder += part + "/"
            mkdir(folder, 0o777)
        }
    }

    public static func remove(_ path: String) { unlink(path) }
}
