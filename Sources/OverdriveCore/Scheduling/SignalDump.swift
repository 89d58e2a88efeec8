// Owns the list of schedulers whose dumps a signal prints. Each new scheduler enters the list, which keeps none of them
// alive.

internal import CScheduler

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The schedulers of the process, if `OVERDRIVE_SIGNAL` names a signal.
enum SignalDump {
    private struct Entry {
        weak var scheduler: Scheduler?
    }

    private static let entries = Locked<[Entry]>([])

    /// Adds a new scheduler.
    static func enlist(_ scheduler: Scheduler) {
        guard od_dump_signal_to({ SignalDump.print() }) else { return }
        entries.withLock { entries in
            entries.removeAll { $0.scheduler == nil }
            entries.append(Entry(scheduler: scheduler))
        }
    }

    /// Writes the dump of each scheduler to the standard error stream.
    private static func print() {
        for scheduler in entries.withLock({ $0.compactMap(\.scheduler) }) {
            let text = Array("\(scheduler.dump())\n".utf8)
            var rest = text[...]
            while !rest.isEmpty {
                let written = unsafe rest.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
                // A closed stream leaves no way to report.
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }
}
