internal import Glibc

/// Writes results to standard output in order and as whole lines, unless the reader ends.
struct ResultStream {
    let isTerminal = isatty(STDOUT_FILENO) == 1
    private var pending = Bytes()[...]

    var isEmpty: Bool { pending.isEmpty }

    mutating func append(_ bytes: Bytes) {
        if pending.isEmpty { pending = bytes[...] } else { pending += bytes }
    }

    /// Writes all pending bytes and waits for the reader. Returns 0 or the `errno`: `EINTR` if `giveUp` returned
    /// true.
    mutating func write(giveUp: () -> Bool) -> Int32 {
        while !pending.isEmpty {
            if let error = writeSome(atMost: pending.count), error != EAGAIN || waitForReader(50) < 0 {
                if error != EINTR && error != EAGAIN { return error }
            }
            if giveUp() && !pending.isEmpty { return EINTR }
        }
        return 0
    }

    /// Writes the bytes that the reader accepts at once.
    mutating func writeWithoutWaiting() {
        let sureToFit = Int(PIPE_BUF)
        while !pending.isEmpty, waitForReader(0) > 0 {
            if writeSome(atMost: sureToFit) != nil { return }
        }
    }

    private mutating func writeSome(atMost limit: Int) -> Int32? {
        let count = pending.withUnsafeBytes {
            Glibc.write(STDOUT_FILENO, $0.baseAddress, min($0.count, limit))
        }
        guard count >= 0 else { return errno }
        pending = pending.dropFirst(count)
        return nil
    }

    private func waitForReader(_ milliseconds: Int32) -> Int32 {
        var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return poll(&ready, 1, milliseconds)
    }
}
