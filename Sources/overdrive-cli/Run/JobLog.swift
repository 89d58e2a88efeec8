internal import Glibc
internal import Synchronization

/// The start of a command in seconds since 1970, and its duration.
struct Stamp {
    var start: Double
    var seconds: Double

    /// The time of day, which may be set back.
    static var now: Double { time(CLOCK_REALTIME) }
    /// The monotonic time.
    static var ticks: Double { time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Writes GNU parallel's log, with a line for each command when it ends. Workers write whole lines.
final class JobLog: Sendable {
    private struct State {
        var error: Int32 = 0
        var written: Set<Int> = []
    }

    private let file: Int32
    private let path: Bytes
    private let state = Mutex(State())

    init(_ path: Bytes) throws(BatchRefusal) {
        file = path.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o666) }
        guard file >= 0 else { throw .system(String(decoding: path.printable, as: UTF8.self), "creation") }
        self.path = path
        write(Bytes(ascii: "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"))
    }

    /// Writes the line of an item, unless it was written.
    func add(_ index: Int, _ stamp: Stamp, _ outcome: ChildProcess.Outcome, _ words: [Bytes]) {
        guard state.withLock({ $0.written.insert(index).inserted }) else { return }
        let line =
            "\(index + 1)\t:\t\(Self.thousandths(stamp.start))\t\(Self.thousandths(stamp.seconds))\t0\t"
            + "\(outcome.output.count)\t\(outcome.exitCode)\t\(outcome.signal)\t"
        write(Bytes(ascii: line) + Bytes(words.joined(separator: [32])).printable + [10])
    }

    /// Writes the line of an item that an earlier run gave up or that could not be started, from the text of its
    /// failure.
    func add(_ index: Int, failure: String, _ words: [Bytes]) {
        var outcome = ChildProcess.Outcome(output: [], errors: [], status: 1 << 8)
        if let range = failure.firstRange(of: "exit code "), let code = Int32(failure[range.upperBound...].prefix { $0.isNumber }) {
            outcome.status = (code & 0xff) << 8
        } else if let range = failure.firstRange(of: "ended by ") {
            let name = failure[range.upperBound...]
            outcome.status = (1..<65).first { name == String(cString: strsignal($0)) } ?? outcome.status
        } else if failure.contains("cannot be started") {
            outcome.status = ExitStatus.noCommand.rawValue << 8
        }
        add(index, Stamp(start: 0, seconds: 0), outcome, words)
    }

    /// Returns a number with three decimals, for any value from a journal or a clock.
    static func thousandths(_ seconds: Double) -> String {
        let all = seconds.isFinite ? Int((min(max(0, seconds), 1e12) * 1000).rounded()) : 0
        let rest = String(all % 1000)
        return "\(all / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    func finish() -> BatchRefusal? {
        let error = state.withLock { $0.error }
        guard error != 0 else { return nil }
        errno = error
        return .system(String(decoding: path.printable, as: UTF8.self), "writing")
    }

    private func write(_ line: Bytes) {
        let error = StandardStreams.write(line[...], to: file) { false }
        if error != 0 { state.withLock { $0.error = error } }
    }
}
