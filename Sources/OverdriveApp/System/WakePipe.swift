// Owns the pipe on which the supervisor sleeps. Signal handlers and other threads write, the supervisor reads. It never blocks a
// writer.

internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The pipe on which the supervisor sleeps. It carries a byte for each signal, and a zero for a wake-up.
final class WakePipe: Sendable {
    let reading: Int32
    let writing: Int32
    private let isPoked = Atomic(false)

    /// Returns nil if the process has no free descriptors.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// Wakes the supervisor, which then sees the caller's earlier writes.
    func poke() {
        guard !isPoked.exchange(true, ordering: .sequentiallyConsistent) else { return }
        var byte: UInt8 = 0
        _ = unsafe write(writing, &byte, 1)  // If the pipe is full of signals, the supervisor is awake.
    }

    /// Reads the pending signals, in order.
    func drain() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe read(reading, &bytes, bytes.count)
        // Cleared after the read: otherwise a byte written in between would be read while its flag stays set. A
        // thread that still finds the flag set need not write, because its news is checked after this.
        isPoked.store(false, ordering: .sequentiallyConsistent)
        return count > 0 ? bytes.prefix(count).filter { $0 != 0 } : []
    }
}
