/// A line of a checksum list in the format of `sha256sum`.
///
/// A line is the digest in hexadecimal, a space, a space or an asterisk, and the name. For XXH3 it has BSD's form
/// `XXH3 (name) = digest`, which every version of `xxhsum` reads. In a name, a backslash, line feed or carriage
/// return becomes `\\`, `\n` or `\r`, and the line then begins with a backslash.
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

    /// The format of a list's lines.
    struct Style: Sendable, Equatable {
        /// BSD's form, `SHA256 (name) = digest`.
        var isTagged = false
        /// Lines end with a zero byte, and names are not escaped.
        var endsInZero = false
        /// An asterisk precedes the name.
        var marksBinary = false

        /// The part of a journal's job name that identifies this style; empty for the default.
        var mark: String {
            (isTagged ? "--tag " : "") + (endsInZero ? "--zero " : "") + (marksBinary ? "--binary " : "")
        }
    }

    /// Whether a list has one space before each name, as in BSD's reversed form; nil until a line decides.
    ///
    /// As in coreutils, the first line decides. With one space, a further space or asterisk belongs to the name.
    struct Spacing {
        fileprivate var isSingle: Bool?
    }

    /// Parses a line without its line feed, in the form of `sha256sum` or in BSD's `SHA256 (name) = digest`. Returns
    /// nil for other forms.
    init?(_ line: some Collection<UInt8>) {
        var spacing = Spacing()
        self.init(line, &spacing)
    }

    /// Parses a line of a list whose earlier lines have decided `spacing`.
    init?(_ line: some Collection<UInt8>, _ spacing: inout Spacing) {
        var rest = Array(line)[...]
        while let first = rest.first, first == UInt8(ascii: " ") || first == 9 { rest = rest.dropFirst() }
        let isEscaped = rest.first == Self.backslash
        if isEscaped { rest = rest.dropFirst() }
        guard let found = Self.bsd(rest) ?? Self.gnu(rest, &spacing) else { return nil }
        // A file name cannot contain a zero byte; the part before it would name another file.
        guard let name = isEscaped ? Self.unescape(found.name) : Array(found.name), !name.contains(0) else { return nil }
        self.init(digest: found.digest, name: name)
    }

    /// Appends the line and its terminator.
    func write(_ style: Style = Style(), to output: inout Bytes) {
        let isEscaped = !style.endsInZero && Self.needsEscape(name)
        if isEscaped { output.append(Self.backslash) }
        if digest.algorithm == .xxh3 || style.isTagged {
            output += digest.algorithm.tag + Bytes(ascii: " (")
            Self.append(name, escaped: isEscaped, to: &output)
            output += Bytes(ascii: ") = ")
            digest.write(to: &output)
        } else {
            digest.write(to: &output)
            output.append(UInt8(ascii: " "))
            output.append(UInt8(ascii: style.marksBinary ? "*" : " "))
            Self.append(name, escaped: isEscaped, to: &output)
        }
        output.append(style.endsInZero ? 0 : 10)
    }

    /// Appends the line for the result of a check of `name`. Only names with a line feed are escaped.
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

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == 9 }

    private static func gnu(
        _ line: ArraySlice<UInt8>, _ spacing: inout Spacing
    ) -> (digest: Digest, name: ArraySlice<UInt8>)? {
        let digits = line.prefix { !isBlank($0) }
        let candidates: [Algorithm] = [.sha256, .sha512, .md5, .sha1]
        guard let algorithm = candidates.first(where: { $0.byteCount * 2 == digits.count }),
            let digest = Digest(hexadecimal: digits, algorithm)
        else { return nil }
        var rest = line.dropFirst(digits.count + 1)
        if rest.count > 1, rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: "*") {
            if spacing.isSingle != true {
                spacing.isSingle = false
                rest = rest.dropFirst()
            }
        } else {
            guard spacing.isSingle != false else { return nil }
            spacing.isSingle = true
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
