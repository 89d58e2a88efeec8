internal import Glibc

/// Standard error, for sentences.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1

    /// Writes `overdrive: <sentence>` and a line feed, in one piece.
    static func say(_ sentence: String) {
        write(Bytes(ascii: "overdrive: \(sentence)\n"))
    }

    /// Writes `overdrive: <path>: <sentence>` and a line feed, in one piece.
    static func say(_ path: Bytes, _ sentence: String) {
        write(Bytes(ascii: "overdrive: ") + path.printable + Bytes(ascii: ": \(sentence)\n"))
    }

    /// Writes the bytes; who reads them no longer is no reason to stop.
    static func write(_ bytes: Bytes) {
        _ = StandardStreams.write(bytes[...], to: STDERR_FILENO) { false }
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

    /// Writes all of `bytes`.
    ///
    /// - Parameter giveUp: Asked whenever a signal interrupts the write.
    /// - Returns: 0, or the `errno` that ended it; `EINTR` when `giveUp` did.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, giveUp: () -> Bool) -> Int32 {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                let count = Glibc.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, 50)
                    if giveUp() { return EINTR }
                } else if errno != EINTR {
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
