internal import Glibc
internal import OverdriveBatch
internal import OverdriveTerminal

/// Standard error, for sentences.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1

    /// What a sentence begins with: a terminal's last line may have a bar on it, whoever draws that.
    private static let start = Bytes(ascii: (isTerminal ? ProgressLine.erase : "") + "overdrive: ")

    /// Writes `overdrive: <sentence>` and a line feed, in one piece.
    static func say(_ sentence: String) {
        write(start + Bytes(ascii: "\(sentence)\n"))
    }

    /// Writes `overdrive: <path>: <sentence>` and a line feed, in one piece.
    static func say(_ path: Bytes, _ sentence: String) {
        write(start + path.printable + Bytes(ascii: ": \(sentence)\n"))
    }

    /// Writes the bytes; who reads them no longer is no reason to stop, and none to go on when the run is to end.
    static func write(_ bytes: Bytes) {
        _ = StandardStreams.write(bytes[...], to: STDERR_FILENO) { StopSignals.received != nil }
    }
}

/// The three descriptors that every process expects to be open.
enum StandardStreams {
    /// Opens what the parent closed, so that no file of ours takes the place of a stream.
    ///
    /// - Returns: Whether standard output was open.
    static func repair() -> Bool {
        let outputWasOpen = fcntl(STDOUT_FILENO, F_GETFD) >= 0
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) < 0 {
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        return outputWasOpen
    }

    /// The reader has what it wanted, as `head` has: the end that every other command comes to then.
    static func endWithoutReader() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        _exit(ExitStatus.output.rawValue)
    }

    /// Writes all of `bytes`.
    ///
    /// - Parameter giveUp: Asked as long as the reader takes nothing.
    /// - Returns: 0, or the `errno` that ended it; `EINTR` when `giveUp` did.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, giveUp: () -> Bool) -> Int32 {
        var status = stat()
        // A file waits for no reader.
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        return bytes.withUnsafeBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                if !isFile {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    let count = poll(&ready, 1, 50)
                    if count == 0 || count < 0 && errno == EINTR {
                        if giveUp() { return EINTR }
                        continue
                    }
                }
                // So much fits where anything does: only the wait is ever long, which a signal need not interrupt.
                let written = Glibc.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                    isFile ? rest.count : min(rest.count, Int(PIPE_BUF)))
                if written >= 0 {
                    rest = rest.dropFirst(written)
                } else if errno != EINTR && errno != EAGAIN {
                    return errno
                } else if giveUp() {
                    return EINTR
                }
            }
            return 0
        }
    }
}

/// The C library's sentence for an error number.
func sentence(forError number: Int32) -> String {
    String(cString: strerror(number))
}
