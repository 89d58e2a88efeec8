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
