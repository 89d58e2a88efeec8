// Owns the progress display of a run. `BatchRun` calls it from time to time. It never counts items itself.

internal import Glibc
internal import OverdriveCore
internal import OverdriveTerminal

/// Prints the progress of a run: a bar on a terminal, or a line of JSON each second.
struct BatchMeter {
    struct State {
        var total: Int
        var done: Int
        var quarantined: Int
        var resumed: Int
        var retries: Int
    }

    private let kind: BatchProgress
    private let job: String
    private let shard: Shard
    private var rate = RateMeter()
    private var next = 0.0
    private var isShown = false

    init(_ kind: BatchProgress, job: String, shard: Shard) {
        (self.kind, self.job, self.shard) = (kind, job, shard)
    }

    mutating func show(_ state: State, at time: Double) {
        guard kind != .none, time >= next else { return }
        let ended = state.done + state.quarantined
        rate.note(Double(ended), at: time)
        switch kind {
        case .none: break
        case .bar:
            next = time + 0.1
            var left = "\(ended.grouped) of \(state.total.grouped)"
            if let rate = rate.rate { left += "  \(Int(rate).grouped)/s" }
            if state.quarantined > 0 { left += "  \(state.quarantined) failed" }
            let done = state.total > 0 ? Double(ended) / Double(state.total) : 1
            let line = ProgressLine.text(
                left, done: done, secondsLeft: rate.secondsLeft(to: Double(state.total)),
                width: ProgressLine.terminalWidth() - 1)
            isShown = true
            write(ProgressLine.erase + line)
        case .json:
            next = time + 1
            let left = rate.secondsLeft(to: Double(state.total)).map(JSONText.number) ?? "null"
            write(
                "{\"job\":\(MarkupText.json(job)),\"shard\":\"\(shard)\",\"seconds\":\(JSONText.number(time)),"
                    + "\"items\":\(state.total),\"done\":\(state.done),\"resumed\":\(state.resumed),"
                    + "\"quarantined\":\(state.quarantined),\"retries\":\(state.retries),"
                    + "\"items_per_second\":\(rate.rate.map(JSONText.number) ?? "null"),\"seconds_left\":\(left)}\n"
            )
        }
    }

    /// Erases the bar.
    mutating func clear() {
        guard isShown else { return }
        isShown = false
        write(ProgressLine.erase)
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        // Errors are ignored: a run does not end because its progress is not read.
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
