internal import Glibc

/// One line on the terminal that says how far the job is.
struct ProgressBar {
    /// How far the job is.
    struct State {
        var files: Int
        var bytes: Int
        /// All there is to do; nil while that is being counted.
        var total: (files: Int, bytes: Int)?
    }

    /// What a file costs besides its bytes, in bytes: opening one takes about as long as hashing this.
    static let costOfFile = 16_384.0

    private var bytes = RateMeter()
    private var work = RateMeter()
    private var isShown = false

    /// Shows `state` as it is at `time`, in seconds since the start.
    mutating func draw(_ state: State, at time: Double) {
        bytes.note(Double(state.bytes), at: time)
        work.note(Self.work(state.files, state.bytes), at: time)
        isShown = true
        StandardError.write(Bytes(ascii: "\r\u{1B}[K" + line(for: state, width: Self.terminalWidth() - 1)))
    }

    /// Takes the bar off the terminal, so that other lines can be written.
    mutating func clear() {
        guard isShown else { return }
        isShown = false
        StandardError.write(Bytes(ascii: "\r\u{1B}[K"))
    }

    /// The line that `state` gives, no wider than `width`.
    func line(for state: State, width: Int) -> String {
        var left = "\(Quantity.count(state.files)) files  \(Quantity.bytes(Double(state.bytes)))"
        if let rate = bytes.rate { left += "  \(Quantity.bytes(rate))/s" }
        guard let total = state.total else { return String((left + "  counting").prefix(max(0, width))) }

        let all = Self.work(total.files, total.bytes)
        let done = all > 0 ? min(1, Self.work(state.files, state.bytes) / all) : 1
        var right = "\(Int((done * 100).rounded(.down))) %"
        if let rest = work.secondsLeft(to: all) { right += "  \(Quantity.duration(rest)) left" }

        let room = width - left.count - right.count - 6
        guard room >= 8 else { return String("\(left)  \(right)".prefix(max(0, width))) }
        let filled = Int(Double(room) * done)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
        return "\(left)  [\(bar)]  \(right)"
    }

    private static func work(_ files: Int, _ bytes: Int) -> Double {
        Double(bytes) + Double(files) * costOfFile
    }

    private static func terminalWidth() -> Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
