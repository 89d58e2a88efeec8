#if CLI
internal import CCommandSystem
internal import Glibc
internal import Synchronization

/// Implements `--processes N`: runs this command once for each of N shards, and merges the results.
enum Processes {
    /// Runs the shards and prints the merged results.
    ///
    /// - Parameter input: The content of standard input, which each shard reads.
    static func run(_ count: Int, journal: String, input: Bytes? = nil) throws(BatchRefusal) -> ExitStatus {
        let wakeup: Wakeup
        do throws(SystemError) { wakeup = try Wakeup() } catch {
            errno = error.number
            throw .system("a pipe", "creation")
        }
        wakeup.listenToInterrupts()
        let words = try RunWords.ofProcess
        let file = try input.map(inMemory)
        defer { if let file { close(file) } }
        var children = try startAll(count) { index throws(BatchRefusal) in
            try start(shard(words, "\(index)/\(count)", of: getpid()), input: file.map { "/proc/self/fd/\($0)" })
        }
        var worst: Int32 = 0
        var wasTold = false
        while !children.isEmpty {
            wakeup.wait(milliseconds: 100)
            if Interrupt.isRequested, !wasTold {
                wasTold = true
                for child in children { kill(child, SIGTERM) }
            }
            children.removeAll { child in
                var status: Int32 = 0
                guard waitpid(child, &status, WNOHANG) == child else { return false }
                var code = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
                // A shard that has just started may die from the request to end, before it can handle it.
                if wasTold, status & 0x7f == SIGTERM { code = ExitStatus.interrupted.rawValue }
                worst = max(worst, code)
                return true
            }
        }
        // Codes up to 63 mean failed items, which the merge reports. Higher codes have other causes.
        if worst >= ExitStatus.usage.rawValue {
            StandardError.say(
                "a shard ended with code \(worst): run the same command again to resume")
            exit(worst)
        }
        return try MergeCommand.merge(journal, output: nil)
    }

    /// Returns the words of this command for one shard.
    ///
    /// - Parameter parent: The process with which the shard must end.
    static func shard(_ words: [String], _ shard: String, of parent: pid_t) -> [String] {
        var result: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                result.append(word)
                break
            }
            if word == "--processes" {
                _ = rest.popFirst()
            } else if !word.hasPrefix("--processes=") {
                result.append(word)
            }
        }
        result.insert(contentsOf: ["--shard", shard, "--progress", "none", "--shard-of", "\(parent)"], at: min(1, result.count))
        return result + rest
    }

    /// Starts all shards. If one cannot be started, the earlier ones are ended, because no process would wait for
    /// them.
    static func startAll(
        _ count: Int, _ start: (Int) throws(BatchRefusal) -> pid_t
    ) throws(BatchRefusal) -> [pid_t] {
        var children: [pid_t] = []
        do throws(BatchRefusal) {
            for index in 0..<count { children.append(try start(index)) }
        } catch {
            for child in children { kill(child, SIGTERM) }
            for child in children { while waitpid(child, nil, 0) < 0, errno == EINTR {} }
            throw error
        }
        return children
    }

    /// Makes this shard end in order when its parent has ended, because no process would merge its results.
    static func endWith(_ parent: pid_t) {
        shardParent.store(parent, ordering: .relaxed)
        var thread = pthread_t()
        let error = pthread_create(&thread, nil, { _ in
            // If another process gets the parent's number, it still is not the parent of this process.
            while getppid() == Processes.shardParent.load(ordering: .relaxed) { usleep(100_000) }
            kill(getpid(), SIGTERM)
            return nil
        }, nil)
        if error == 0 { pthread_detach(thread) }
    }

    private static let shardParent = Atomic<Int32>(0)

    private static func inMemory(_ bytes: Bytes) throws(BatchRefusal) -> Int32 {
        let file = ChildProcess.namelessFile("input")
        guard file >= 0 else { throw .system("a file without a name", "creation", .system) }
        errno = StandardStreams.write(bytes[...], to: file) { false }
        guard errno == 0 else { throw .system("a file without a name", "writing", .system) }
        return file
    }

    /// - Parameter input: A path that each process opens, so that each reads from the beginning.
    private static func start(_ words: [String], input: String?) throws(BatchRefusal) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        // The kernel resets handled signals. Ignored signals remain ignored, except for these.
        for signal in [SIGTERM, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("overdrive")]
        arguments += words.map { RawArgument.bytes(for: $0).withCString { strdup($0) } }
        defer { arguments.forEach { free($0) } }
        arguments.append(nil)
        var process = pid_t()
        let error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, arguments, environ)
        errno = error
        guard error == 0 else { throw .system("a further process", "start") }
        return process
    }
}
#endif
