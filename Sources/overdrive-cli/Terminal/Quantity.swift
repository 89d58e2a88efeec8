internal import OverdriveCore
internal import OverdriveTerminal

/// Numbers as people read them.
enum Quantity {
    /// `1234567` as `1,234,567`.
    static func count(_ number: Int) -> String {
        number.grouped
    }

    /// `1234567` as `1.2 MB`: powers of 1000, two digits at least.
    static func bytes(_ number: Double) -> String {
        var value = max(0, number)
        for unit in ["B", "kB", "MB", "GB", "TB"] {
            // 999.5 would be shown as 1000.
            if value < 999.5 {
                return unit == "B" || value >= 99.95
                    ? "\(Int(value.rounded())) \(unit)" : "\(tenths(value)) \(unit)"
            }
            value /= 1000
        }
        return "\(tenths(value)) PB"
    }

    /// Seconds as `0:07`, `12:34` or `1:02:03`.
    static func duration(_ seconds: Double) -> String {
        ProgressLine.clock(seconds)
    }

    /// Seconds with one or two digits after the point, as in `3.2 s`.
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
