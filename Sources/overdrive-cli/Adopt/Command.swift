#if CLI
internal import FoundationEssentials
internal import Glibc

/// The result of another program.
struct Command {
    /// The exit status as in a shell: 128 and more for a signal, 127 if the program does not exist.
    let status: Int32
    /// The program's output on both streams.
    let output: [UInt8]

    var summary: String {
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        return String(lines.first { $0.contains("error:") } ?? lines.last ?? "it printed nothing")
    }

    static func run(_ words: [String]) -> Command {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return Command(status: 127, output: Array("no pipe".utf8)) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        // The child must not inherit the pipe's ends: the reader would wait until the child closes them.
        for end in ends { posix_spawn_file_actions_addclose(&actions, end) }
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let problem = posix_spawnp(&process, words[0], &actions, nil, arguments, environ)
        close(ends[1])
        guard problem == 0 else {
            return Command(status: 127, output: Array("\(words[0]): \(sentence(forError: problem))".utf8))
        }
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(ends[0], &part, part.count)
            if count > 0 { output += part[..<count] } else if count == 0 || errno != EINTR { break }
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let isSignal = status & 0x7f != 0
        return Command(status: isSignal ? 128 + (status & 0x7f) : (status >> 8) & 0xff, output: output)
    }
}
#endif
