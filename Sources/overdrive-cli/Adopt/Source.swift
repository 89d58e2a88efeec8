#if CLI
/// Analyses Swift source as far as adoption needs it.
enum Source {
    /// Returns the text with spaces in place of comments and the contents of string literals. Line numbers do not
    /// change.
    static func withoutComments(_ text: String) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count)
        let bytes = Array(text.utf8)
        var index = 0
        var depth = 0
        var isLineComment = false
        var quote = 0  // 1 for a literal on one line, 3 for a literal on several lines
        func at(_ offset: Int) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }
        func blank(_ count: Int) {
            for _ in 0..<count where index < bytes.count {
                out.append(bytes[index] == UInt8(ascii: "\n") ? UInt8(ascii: "\n") : UInt8(ascii: " "))
                index += 1
            }
        }
        let slash = UInt8(ascii: "/"), star = UInt8(ascii: "*"), mark = UInt8(ascii: "\""), line = UInt8(ascii: "\n")
        while index < bytes.count {
            let byte = bytes[index]
            if isLineComment {
                if byte == line { isLineComment = false }
                blank(1)
            } else if depth > 0 {
                if byte == star, at(1) == slash {
                    depth -= 1
                    blank(2)
                } else if byte == slash, at(1) == star {
                    depth += 1
                    blank(2)
                } else {
                    blank(1)
                }
            } else if quote > 0 {
                if byte == UInt8(ascii: "\\") {
                    blank(2)
                } else if byte == mark, quote == 1 || (at(1) == mark && at(2) == mark) {
                    blank(quote)
                    quote = 0
                } else {
                    if byte == line, quote == 1 { quote = 0 }
                    blank(1)
                }
            } else if byte == slash, at(1) == slash {
                isLineComment = true
                blank(2)
            } else if byte == slash, at(1) == star {
                depth = 1
                blank(2)
            } else if byte == mark {
                quote = at(1) == mark && at(2) == mark ? 3 : 1
                blank(quote)
            } else {
                out.append(byte)
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns the elements of `names` that occur as words in the code.
    static func words(_ names: [String], in code: String) -> [String] {
        // This works on bytes, because characters cost 100 times as much and a package has millions of them.
        func isPart(_ byte: UInt8) -> Bool { byte >= 0x80 || byte == UInt8(ascii: "_") || isAlphanumeric(byte) }
        let words = Set(code.utf8.split { !isPart($0) }.filter { $0.first.map { $0 < 0x80 } ?? false }.map { Substring($0) })
        return names.filter { words.contains(Substring($0)) }
    }

    /// Returns whether the letters of `word` occur in the line, as a whole word or not.
    static func line(_ line: Substring, has word: String) -> Bool {
        var (line, word) = (line, word)
        return line.withUTF8 { line in
            word.withUTF8 { word in
                (0..<max(0, line.count - word.count + 1)).contains { start in
                    line[start] == word[0] && line[start..<start + word.count].elementsEqual(word)
                }
            }
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: false
        }
    }

    /// Returns the types that the code declares at top level, with their lines.
    static func topLevelTypes(of code: String) -> [(name: String, line: Int)] {
        let declaration = #/^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|open|internal|package|fileprivate|private|final|indirect)\s+)*(?:class|struct|enum|protocol|typealias|actor)\s+(\w+)/#
        var depth = 0
        var found: [(String, Int)] = []
        for (number, line) in code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = line.drop { $0.isWhitespace }
            if depth == 0, let match = text.prefixMatch(of: declaration) { found.append((String(match.1), number + 1)) }
            for byte in line.utf8 {
                if byte == UInt8(ascii: "{") { depth += 1 } else if byte == UInt8(ascii: "}") { depth -= 1 }
            }
        }
        return found
    }
}
#endif
