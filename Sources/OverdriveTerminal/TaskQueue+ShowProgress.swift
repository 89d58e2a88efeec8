// Owns the progress display of a queue on a terminal. Programs call it. It writes only to the standard error stream,
// and only if that is a terminal.

public import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension TaskQueue {
    /// Shows the progress as one line on the standard error stream until all closures have finished.
    ///
    /// If the stream is not a terminal, the call only waits.
    ///
    ///     queue.trackProgress(total: files.count)
    ///     for file in files { queue.async { convert(file) } }
    ///     await queue.showProgress()
    ///
    /// - Parameter interval: The time between two updates.
    /// - Ordering: All tracked work has ended when the call returns. The call returns early if its task is cancelled,
    ///   and at once without tracking.
    /// - Threading: Any task; the call writes on the task's thread.
    /// - Cost: One read of `progress` and one `write` for each update.
    public func showProgress(every interval: Duration = .milliseconds(100)) async {
        let isTerminal = isatty(STDERR_FILENO) == 1
        for await progress in progressUpdates(every: interval) where isTerminal {
            show(ProgressLine.erase + progress.line(width: ProgressLine.terminalWidth() - 1))
        }
        if isTerminal { show(ProgressLine.erase) }
    }
}

extension TaskQueue.Progress {
    /// Returns one line of at most `width` characters: the counts, a bar, and the remaining time.
    ///
    ///     print(progress.line(width: 60))   // 1,200 of 5,000  310/s  [####..............]  24 %  0:13 left
    ///
    /// - Parameter width: The maximum width in characters; a narrow line has no bar.
    public func line(width: Int) -> String {
        let speed = rate.map { "  \(Int($0.rounded()).grouped)/s" } ?? ""
        return ProgressLine.text(
            description + speed, done: fraction, secondsLeft: timeLeft.map { $0 / .seconds(1) }, width: width)
    }
}

/// Writes to the standard error stream, and ignores errors, such as a closed reader.
private func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
