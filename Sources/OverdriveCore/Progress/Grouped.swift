// Owns the text forms of durations and large integers. Descriptions and the command call it. It never uses a locale.

extension Duration {
    /// The duration as text with two or three significant digits, such as `1.20 s`, `3.4 ms` or `12 µs`.
    package var inWords: String {
        let microseconds = Int(max(self, .zero) / .microseconds(1))
        if microseconds < 1_000 { return "\(microseconds) µs" }
        if microseconds < 1_000_000 { return "\(microseconds / 1_000).\(microseconds / 100 % 10) ms" }
        let hundredths = microseconds / 10_000
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
}

extension Int {
    /// The integer with thousands separators: `1234567` gives `1,234,567`.
    package var grouped: String {
        var digits = Array(String(magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (self < 0 ? "-" : "") + String(digits)
    }
}
