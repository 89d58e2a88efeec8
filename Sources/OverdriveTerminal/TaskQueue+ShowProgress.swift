public import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension TaskQueue {
    /// Shows the progress as one line on the standard error stream until all closures have finished. If the stream is
    /// not a terminal, the call only waits.
    ///
    ///     queue.trackProgress(total: files.count)
    ///     for file in files { queue.async { convert(file) } }
    ///     await queue.showProgress()
    ///
    /// - Parameter interval: How long between two looks.
    /// - Ordering: When it returns, all that was tracked has ended. It returns early with its task's cancellation, and at
    ///   once where nothing is tracked.
    /// - Threading: Any task; it writes on the thread that the task is on.
    /// - Cost: A look at `progress` and one `write` each time.
    public func showProgress(every interval: Duration = .milliseconds(100)) async {
        let isTerminal = isatty(STDERR_FILENO) == 1
        for await progress in progressUpdates(every: interval) where isTerminal {
            show(ProgressLine.erase + progress.line(width: ProgressLine.terminalWidth() - 1))
        }
        if isTerminal { show(ProgressLine.erase) }
    }
}

extension TaskQueue.Progress {
    /// One line for a terminal, no wider than `width`: what is done, a bar, and the time that is left.
    ///
    ///     print(progress.line(width: 60))   // 1,200 of 5,000  310/s  [####..............]  24 %  0:13 left
    ///
    /// - Parameter width: In characters; a line that has no room for the bar goes without it.
    public func line(width: Int) -> String {
        let speed = rate.map { "  \(Int($0.rounded()).grouped)/s" } ?? ""
        return ProgressLine.text(
            description + speed, done: fraction, secondsLeft: timeLeft.map { $0 / .seconds(1) }, width: width)
    }
}

/// Writes to the standard error stream; who reads it no longer is no reason to stop.
private func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
