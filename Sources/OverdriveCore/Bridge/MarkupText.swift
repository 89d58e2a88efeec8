// Owns the escapes of XML and JSON that reports, drawings and the command share. It holds no state.

/// Writes text into XML and JSON.
package enum MarkupText {
    /// Returns escaped text for XML and HTML. It works on scalars, because one character may be a quote with a combining
    /// accent.
    package static func xml(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&apos;"
            default: escaped.unicodeScalars.append(scalar.value < 32 || scalar.value & ~1 == 0xfffe ? " " : scalar)
            }
        }
        return escaped
    }

    /// Returns a quoted string for JSON. Bytes that are no UTF-8 are replaced.
    package static func json(_ bytes: [UInt8]) -> String { json(String(decoding: bytes, as: UTF8.self)) }

    /// Returns a quoted string for JSON.
    package static func json(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case _ where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
