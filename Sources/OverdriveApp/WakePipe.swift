internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What an app's own thread sleeps on: a byte for each signal that came, and a zero when somebody has news.
final class WakePipe: Sendable {
    let reading: Int32
    let writing: Int32
    private let isPoked = Atomic(false)

    /// Nil when the process has no descriptors left.
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

    /// Wakes the thread. What was written before is seen by it.
    func poke() {
        guard !isPoked.exchange(true, ordering: .sequentiallyConsistent) else { return }
        var byte: UInt8 = 0
        _ = unsafe write(writing, &byte, 1)  // full of signals: it is awake
    }

    /// The signals that came since, in order.
    func drain() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe read(reading, &bytes, bytes.count)
        // Not before: a byte that was written in between would be read, and its poker's mark stay. Who finds the mark until
        // now has no need to write: his news are looked at after this.
        isPoked.store(false, ordering: .sequentiallyConsistent)
        return count > 0 ? bytes.prefix(count).filter { $0 != 0 } : []
    }
}
