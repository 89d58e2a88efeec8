internal import OverdriveCore
internal import OverdriveTerminal

/// Formats numbers for people.
enum Quantity {
    /// Returns `1,234,567` for `1234567`.
    static func count(_ number: Int) -> String {
        number.grouped
    }

    /// Returns `1.2 MB` for `1234567`: powers of 1000, at least two digits.
    static func bytes(_ number: Double) -> String {
        var value = max(0, number)
        for unit in ["B", "kB", "MB", "GB", "TB"] {
            // 999.5 would be rounded to 1000.
            if value < 999.5 {
                return unit == "B" || value >= 99.95
                    ? "\(Int(value.rounded())) \(unit)" : "\(tenths(value)) \(unit)"
            }
            value /= 1000
        }
        return "\(tenths(value)) PB"
    }

    /// Returns seconds as `0:07`, `12:34` or `1:02:03`.
    static func duration(_ seconds: Double) -> String {
        ProgressLine.clock(seconds)
    }

    /// Returns seconds with one or two decimals, such as `3.2 s`.
    static func seconds(_ seconds: Double) -> String {
        let hundredths = Int((max(0, seconds) * 100).rounded())
        return hundredths < 1000 ? "\(hundredths / 100).\(two(hundredths % 100)) s" : "\(tenths(seconds)) s"
    }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
