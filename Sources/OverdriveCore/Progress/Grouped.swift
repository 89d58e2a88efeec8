extension Duration {
    /// `1.20 s`, `3.4 ms`, `12 µs`: as many digits as a reader wants.
    package var inWords: String {
        let microseconds = Int(max(self, .zero) / .microseconds(1))
        if microseconds < 1_000 { return "\(microseconds) µs" }
        if microseconds < 1_000_000 { return "\(microseconds / 1_000).\(microseconds / 100 % 10) ms" }
        let hundredths = microseconds / 10_000
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
}

extension Int {
    /// `1234567` as `1,234,567`.
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
