/// One line of a checksum list, as `sha256sum` writes and reads it.
///
/// A line is the digest in hexadecimal, a space, a space or an asterisk, and the name; of XXH3 it is BSD's form, which every
/// version of `xxhsum` reads: `XXH3 (name) = digest`. A name with a
/// backslash, a line feed or a carriage return is written with `\\`, `\n` and `\r` in their place, and
/// its line begins with a backslash.
struct ChecksumLine: Equatable {
    var digest: Digest
    var name: Bytes

    private static let backslash = UInt8(ascii: "\\")
    private static let escapes: [(plain: UInt8, letter: UInt8)] = [
        (backslash, backslash), (10, UInt8(ascii: "n")), (13, UInt8(ascii: "r")),
    ]

    init(digest: Digest, name: Bytes) {
        self.digest = digest
        self.name = name
    }

    /// Reads a line without its line feed, in the form of `sha256sum` and `sha512sum` or in BSD's
    /// `SHA256 (name) = digest`; nil when it is neither.
    init?(_ line: some Collection<UInt8>) {
        var rest = Array(line)[...]
        while let first = rest.first, first == UInt8(ascii: " ") || first == 9 { rest = rest.dropFirst() }
        let isEscaped = rest.first == Self.backslash
        if isEscaped { rest = rest.dropFirst() }
        guard let found = Self.bsd(rest) ?? Self.gnu(rest) else { return nil }
        guard let name = isEscaped ? Self.unescape(found.name) : Array(found.name) else { return nil }
        self.init(digest: found.digest, name: name)
    }

    /// Appends the line and its line feed.
    func write(to output: inout Bytes) {
        let isEscaped = Self.needsEscape(name)
        if isEscaped { output.append(Self.backslash) }
        if digest.algorithm == .xxh3 {
            output += digest.algorithm.tag + Bytes(ascii: " (")
            Self.append(name, escaped: isEscaped, to: &output)
            output += Bytes(ascii: ") = ")
            digest.write(to: &output)
        } else {
            digest.write(to: &output)
            output.append(UInt8(ascii: " "))
            output.append(UInt8(ascii: " "))
            Self.append(name, escaped: isEscaped, to: &output)
        }
        output.append(10)
    }

    /// Appends the line that says how a check of `name` went. Here only a line feed has a name escaped.
    static func writeVerdict(_ verdict: String, of name: Bytes, to output: inout Bytes) {
        let isEscaped = name.contains(10)
        if isEscaped { output.append(backslash) }
        append(name, escaped: isEscaped, to: &output)
        output += Bytes(ascii: ": \(verdict)\n")
    }

    private static func needsEscape(_ name: Bytes) -> Bool {
        name.contains { $0 == backslash || $0 == 10 || $0 == 13 }
    }

    private static func append(_ name: Bytes, escaped: Bool, to output: inout Bytes) {
        guard escaped else {
            output += name
            return
        }
        for byte in name {
            if let escape = escapes.first(where: { $0.plain == byte }) {
                output.append(backslash)
                output.append(escape.letter)
            } else {
                output.append(byte)
            }
        }
    }

    private static func unescape(_ name: ArraySlice<UInt8>) -> Bytes? {
        var result = Bytes()
        var rest = name
        while let byte = rest.popFirst() {
            if byte == 0 { return nil }
            guard byte == backslash else {
                result.append(byte)
                continue
            }
            guard let letter = rest.popFirst(), let escape = escapes.first(where: { $0.letter == letter })
            else { return nil }
            result.append(escape.plain)
        }
        return result
    }

    private static func gnu(_ line: ArraySlice<UInt8>) -> (digest: Digest, name: ArraySlice<UInt8>)? {
        let digits = line.prefix { $0 != UInt8(ascii: " ") }
        let algorithm: Algorithm = digits.count == Algorithm.sha512.byteCount * 2 ? .sha512 : .sha256
        guard line.count > digits.count + 1, let digest = Digest(hexadecimal: digits, algorithm) else { return nil }
        var rest = line.dropFirst(digits.count)
        guard rest.popFirst() == UInt8(ascii: " ") else { return nil }
        // BSD's reversed form has one space; coreutils takes it where no text marker follows.
        if rest.count > 1, rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: "*") {
            rest = rest.dropFirst()
        }
        return rest.isEmpty ? nil : (digest, rest)
    }

    private static func bsd(_ line: ArraySlice<UInt8>) -> (digest: Digest, name: ArraySlice<UInt8>)? {
        guard let algorithm = Algorithm.allCases.first(where: { line.starts(with: $0.tag) }) else { return nil }
        var rest = line.dropFirst(algorithm.tag.count)
        if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        guard rest.popFirst() == UInt8(ascii: "("), let close = rest.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let name = rest[..<close]
        var tail = rest[rest.index(after: close)...].drop { $0 == UInt8(ascii: " ") || $0 == 9 }
        guard tail.popFirst() == UInt8(ascii: "=") else { return nil }
        tail = tail.drop { $0 == UInt8(ascii: " ") || $0 == 9 }
        return Digest(hexadecimal: tail, algorithm).map { ($0, name) }
    }
}
