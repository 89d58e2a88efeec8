internal import Glibc

/// Wakes the main thread from workers and signal handlers, by a pipe whose content has no meaning.
///
/// It exists as long as the process, because a signal handler uses its descriptor.
final class Wakeup: Sendable {
    private let reading: Int32
    private let writing: Int32

    /// - Throws: `SystemError` if no pipe can be created.
    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(number: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (reading, writing) = (ends[0], ends[1])
    }

    /// Wakes the main thread, now or at its next `wait`. Safe in signal handlers.
    func wake() {
        Self.wake(through: writing)
    }

    /// Waits for a `wake`, a signal or the end of the time.
    func wait(milliseconds: Int32) {
        var ready = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, milliseconds) > 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { drain in
            while read(reading, drain.baseAddress, drain.count) == drain.count {}
        }
    }

    /// Makes interrupts wake the main thread.
    func listenToInterrupts() {
        Interrupt.listen(waking: writing)
    }

    static func wake(through descriptor: Int32) {
        var byte: UInt8 = 1
        // If the pipe is full, the main thread wakes anyway.
        _ = write(descriptor, &byte, 1)
    }
}
