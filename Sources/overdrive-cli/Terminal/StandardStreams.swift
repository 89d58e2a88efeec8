internal import Glibc
internal import OverdriveBatch
internal import OverdriveTerminal

/// Writes messages to standard error.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1

    /// The start of a message. On a terminal it first erases a bar on the last line.
    private static let start = Bytes(ascii: (isTerminal ? ProgressLine.erase : "") + "overdrive: ")

    /// Writes `overdrive: <sentence>` and a line feed, in one piece.
    static func say(_ sentence: String) {
        write(start + Bytes(ascii: "\(sentence)\n"))
    }

    /// Writes `overdrive: <path>: <sentence>` and a line feed, in one piece.
    static func say(_ path: Bytes, _ sentence: String) {
        write(start + path.printable + Bytes(ascii: ": \(sentence)\n"))
    }

    /// Writes the bytes. Errors are ignored, and the wait for a reader ends when the run must end.
    static func write(_ bytes: Bytes) {
        _ = StandardStreams.write(bytes[...], to: STDERR_FILENO) { StopSignals.received != nil }
    }
}

/// The three standard descriptors.
enum StandardStreams {
    /// Opens standard descriptors that the parent process closed, so that no other file gets their numbers.
    ///
    /// - Returns: Whether standard output was open.
    static func repair() -> Bool {
        let outputWasOpen = fcntl(STDOUT_FILENO, F_GETFD) >= 0
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) < 0 {
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        return outputWasOpen
    }

    /// Ends the process by SIGPIPE, as other commands do when their reader, such as `head`, has ended.
    static func endWithoutReader() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        _exit(ExitStatus.output.rawValue)
    }

    /// Writes all of `bytes`.
    ///
    /// - Parameter giveUp: Asked while the reader accepts nothing. True ends the write.
    /// - Returns: 0 or the `errno`: `EINTR` if `giveUp` returned true.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, giveUp: () -> Bool) -> Int32 {
        var status = stat()
        // A write to a file does not wait for a reader.
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
                // A writable pipe has room for this many bytes. Only the wait before may be long, and a signal can
                // end it.
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

/// Returns the C library's message for an error number.
func sentence(forError number: Int32) -> String {
    String(cString: strerror(number))
}
