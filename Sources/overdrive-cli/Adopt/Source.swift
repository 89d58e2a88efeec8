#if CLI
/// Swift source as far as adopting a package has to understand it.
enum Source {
    /// The text with comments and the insides of string literals made spaces; lines stay where they are.
    static func withoutComments(_ text: String) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count)
        let bytes = Array(text.utf8)
        var index = 0
        var depth = 0
        var isLineComment = false
        var quote = 0  // 1: a literal on one line, 3: one on several
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

    /// The words of the text, each once.
    static func words(of code: String) -> Set<Substring> {
        Set(code.split { !($0.isLetter || $0.isNumber || $0 == "_") })
    }

    /// The types that the code declares at its top level, each with its line.
    static func topLevelTypes(of code: String) -> [(name: String, line: Int)] {
        let declaration = #/^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|open|internal|package|fileprivate|private|final|indirect)\s+)*(?:class|struct|enum|protocol|typealias|actor)\s+(\w+)/#
        var depth = 0
        var found: [(String, Int)] = []
        for (number, line) in code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = line.drop { $0.isWhitespace }
            if depth == 0, let match = text.prefixMatch(of: declaration) { found.append((String(match.1), number + 1)) }
            for character in line {
                if character == "{" { depth += 1 } else if character == "}" { depth -= 1 }
            }
        }
        return found
    }
}
#endif
