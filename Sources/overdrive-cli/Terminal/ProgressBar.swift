internal import OverdriveCore
internal import OverdriveTerminal

/// Draws the progress of the job on one line of the terminal.
struct ProgressBar {
    /// The progress of the job.
    struct State {
        var files: Int
        var bytes: Int
        /// The total work; nil while it is being counted.
        var total: (files: Int, bytes: Int)?
    }

    /// The cost of a file besides its bytes, in bytes: opening a file takes about as long as hashing this many.
    static let costOfFile = 16_384.0

    private var bytes = RateMeter()
    private var work = RateMeter()
    private var isShown = false

    /// Draws `state` at `time`, in seconds since the start.
    mutating func draw(_ state: State, at time: Double) {
        bytes.note(Double(state.bytes), at: time)
        work.note(Self.work(state.files, state.bytes), at: time)
        isShown = true
        StandardError.write(Bytes(ascii: ProgressLine.erase + line(for: state, width: ProgressLine.terminalWidth() - 1)))
    }

    /// Erases the bar, so that other lines can be written.
    mutating func clear() {
        guard isShown else { return }
        isShown = false
        StandardError.write(Bytes(ascii: ProgressLine.erase))
    }

    /// Returns the line for `state`, at most `width` characters wide.
    func line(for state: State, width: Int) -> String {
        var left = "\(Quantity.count(state.files)) files  \(Quantity.bytes(Double(state.bytes)))"
        if let rate = bytes.rate { left += "  \(Quantity.bytes(rate))/s" }
        let all = state.total.map { Self.work($0.files, $0.bytes) }
        let done = all.map { $0 > 0 ? min(1, Self.work(state.files, state.bytes) / $0) : 1 }
        return ProgressLine.text(left, done: done, secondsLeft: all.flatMap(work.secondsLeft), width: width)
    }

    private static func work(_ files: Int, _ bytes: Int) -> Double {
        Double(bytes) + Double(files) * costOfFile
    }
}
