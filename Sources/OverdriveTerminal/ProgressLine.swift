#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The one line that says on a terminal how far something is: `left  [####....]  40 %  0:07 left`.
package enum ProgressLine {
    /// Back to the line's beginning, and nothing on it.
    package static let erase = "\r\u{1B}[K"

    /// A line no wider than `width`.
    ///
    /// - Parameters:
    ///   - left: What was done, in words.
    ///   - done: The share that is done, 0 to 1; nil while nobody knows how much there is.
    ///   - secondsLeft: How long the rest takes; nil while nobody knows.
    package static func text(_ left: String, done: Double?, secondsLeft: Double?, width: Int) -> String {
        guard let done else { return String((left + "  counting").prefix(max(0, width))) }
        var right = "\(Int((done * 100).rounded(.down))) %"
        if let secondsLeft { right += "  \(clock(secondsLeft)) left" }

        let room = width - left.count - right.count - 6
        guard room >= 8 else { return String("\(left)  \(right)".prefix(max(0, width))) }
        let filled = Int(Double(room) * done)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
        return "\(left)  [\(bar)]  \(right)"
    }

    /// Seconds as `0:07`, `12:34` or `1:02:03`.
    package static func clock(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds.rounded(.up)), 359_999_999))
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }

    /// The width of the terminal behind the standard error stream; 80 where it does not say.
    package static func terminalWidth() -> Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
