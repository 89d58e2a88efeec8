/// Writes results as lines of JSON, one object for each.
enum JSONLine {
    /// Appends the line of a file that was read.
    static func file(_ name: Bytes, _ digest: Digest, to output: inout Bytes) {
        write([("algorithm", digest.algorithm.rawValue), ("digest", hexadecimal(digest))], of: name, to: &output)
    }

    /// Appends the line of a file that could not be read.
    static func failure(_ name: Bytes, _ sentence: String, to output: inout Bytes) {
        write([("error", sentence)], of: name, to: &output)
    }

    /// Appends the result of a check or an audit. A changed file has the digest of the list and the current one.
    static func verdict(
        _ verdict: String, of name: Bytes, before: Bytes? = nil, expected: Digest? = nil, found: Digest? = nil,
        to output: inout Bytes
    ) {
        var fields = [("result", verdict)]
        if let expected, let found {
            fields += [
                ("algorithm", found.algorithm.rawValue), ("expected", hexadecimal(expected)), ("digest", hexadecimal(found)),
            ]
        }
        write(fields, of: name, before: before, to: &output)
    }

    private static func hexadecimal(_ digest: Digest) -> String {
        var digits = Bytes()
        digest.write(to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    private static func write(
        _ fields: [(key: String, value: String)], of name: Bytes, before: Bytes? = nil, to output: inout Bytes
    ) {
        output += Bytes(ascii: "{")
        write(name, as: "path", to: &output)
        if let before {
            output.append(UInt8(ascii: ","))
            write(before, as: "before", to: &output)
        }
        for (key, value) in fields {
            output += Bytes(ascii: ",\"\(key)\":")
            quote(Bytes(value.utf8), to: &output)
        }
        output += Bytes(ascii: "}\n")
    }

    /// Appends a name. If it is not UTF-8, it appears twice: in displayable form and in hexadecimal digits.
    private static func write(_ name: Bytes, as key: String, to output: inout Bytes) {
        output += Bytes(ascii: "\"\(key)\":")
        let shown = Bytes(String(decoding: name, as: UTF8.self).utf8)
        quote(shown, to: &output)
        guard shown != name else { return }
        output += Bytes(ascii: ",\"\(key)_hex\":\"")
        for byte in name {
            if byte < 16 { output.append(UInt8(ascii: "0")) }
            output += Bytes(ascii: String(byte, radix: 16))
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Appends the text as a JSON string.
    static func quote(_ text: Bytes, to output: inout Bytes) {
        output.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 10: output += Bytes(ascii: "\\n")
            case 9: output += Bytes(ascii: "\\t")
            case 13: output += Bytes(ascii: "\\r")
            case ..<0x20:
                output += Bytes(ascii: "\\u00" + (byte < 16 ? "0" : "1") + String(byte & 15, radix: 16))
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
