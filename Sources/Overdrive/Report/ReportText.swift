// Owns the text forms of times and columns that reports and drawings share. It holds no state.

/// Formats times and columns in reports and drawings.
package enum ReportText {
    /// Returns a time with one decimal, in µs, ms or s.
    package static func time(_ time: Duration) -> String {
        let microseconds = time / .microseconds(1)
        if abs(microseconds) < 999.95 { return "\(tenths(microseconds)) µs" }
        if abs(microseconds) < 999_950 { return "\(tenths(microseconds / 1000)) ms" }
        return "\(tenths(microseconds / 1_000_000)) s"
    }

    /// Returns microseconds with three decimals, as JSON traces have them.
    package static func microseconds(_ time: Duration) -> String {
        let nanoseconds = max(0, Int64((time / .nanoseconds(1)).rounded()))
        let fraction = String(nanoseconds % 1000)
        return "\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }

    /// Returns a number with one decimal, or none if that is 0.
    package static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        let sign = tenths < 0 ? "-" : ""
        return abs(tenths) % 10 == 0 ? "\(tenths / 10)" : "\(sign)\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }

    /// Returns the text, filled with spaces at the end.
    package static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Returns the text, filled with spaces at the start.
    package static func filled(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
