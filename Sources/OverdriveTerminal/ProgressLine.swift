// Owns the text of a progress line on a terminal. `showProgress` and the command call it. It never writes to a
// stream.

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Formats a progress line for a terminal: `left  [####....]  40 %  0:07 left`.
package enum ProgressLine {
    /// The control sequence that returns to the start of the line and clears it.
    package static let erase = "\r\u{1B}[K"

    /// Returns a line of at most `width` characters.
    ///
    /// - Parameters:
    ///   - left: The text at the left, such as the amount that is done.
    ///   - done: The fraction that is done, 0 to 1; nil while the total is unknown.
    ///   - secondsLeft: The remaining time in seconds; nil while unknown.
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

    /// Formats seconds as `0:07`, `12:34` or `1:02:03`.
    package static func clock(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds.rounded(.up)), 359_999_999))
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }

    /// Returns the width of the terminal of the standard error stream in characters; 80 if unknown.
    package static func terminalWidth() -> Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
