/// A command whose words have places for an item: `{}` and the strings that GNU parallel's users know.
struct CommandTemplate: Sendable {
    /// The part of a value that a place takes.
    enum Part: Sendable {
        case whole, withoutExtension, name, folder, nameWithoutExtension

        func of(_ value: Bytes) -> Bytes {
            switch self {
            case .whole: value
            case .withoutExtension:
                value.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == .slash })
                    .map { value[$0] == .slash ? value : Bytes(value[..<$0]) } ?? value
            case .name: value.lastIndex(of: .slash).map { Bytes(value[($0 + 1)...]) } ?? value
            case .folder: value.lastIndex(of: .slash).map { $0 == 0 ? [.slash] : Bytes(value[..<$0]) } ?? Bytes(ascii: ".")
            case .nameWithoutExtension: Part.withoutExtension.of(Part.name.of(value))
            }
        }
    }

    private enum Piece: Sendable {
        case text(Bytes)
        case values(Part)
        case value(Int)
        /// The item's number, from 1.
        case number
        /// The place that the command runs in, from 1: no two commands have one at the same time.
        case slot
    }

    /// How words are read.
    struct Rules {
        /// The only string that is replaced; nil: all of them.
        var place: Bytes?
        /// How many values an item has at most.
        var columns = 1
        /// Whether the only word is for /bin/sh, and values are quoted for it.
        var isShell = false
    }

    private let words: [[Piece]]
    private let isShell: Bool
    /// Whether a string beside `{}` is replaced.
    let isExtended: Bool
    private let hasPlaces: Bool
    /// Whether each item runs the same program.
    let isOfOneProgram: Bool

    /// - Throws: A sentence for a string of GNU parallel that is not supported.
    init(_ words: [Bytes], _ rules: Rules) throws(BatchRefusal) {
        var isExtended = false
        var pieces: [[Piece]] = []
        for word in words {
            if let place = rules.place {
                pieces.append(Self.split(word, at: place))
            } else {
                pieces.append(try Self.read(word, rules.columns, &isExtended))
            }
        }
        func hasPlace(_ word: [Piece]) -> Bool {
            word.contains { if case .text = $0 { false } else { true } }
        }
        hasPlaces = pieces.contains(where: hasPlace)
        isOfOneProgram = rules.isShell || pieces.first.map { !hasPlace($0) } ?? false
        self.words = pieces
        self.isExtended = isExtended
        isShell = rules.isShell
    }

    /// The command for one item.
    func words(_ values: [Bytes], number: Int, slot: Int) -> [Bytes] {
        var result: [Bytes] = isShell ? [Bytes(ascii: "/bin/sh"), Bytes(ascii: "-c")] : []
        for word in words {
            if !isShell, word.count == 1, case .values(let part) = word[0] {
                result += values.map(part.of)
                continue
            }
            var text = Bytes()
            for piece in word {
                switch piece {
                case .text(let bytes): text += bytes
                case .values(let part): text += quoted(values.map(part.of))
                case .value(let index): if values.indices.contains(index) { text += quoted([values[index]]) }
                case .number: text += Bytes(ascii: "\(number)")
                case .slot: text += Bytes(ascii: "\(slot)")
                }
            }
            if isShell, !hasPlaces { text += [32] + quoted(values) }
            result.append(text)
        }
        return hasPlaces || isShell ? result : result + values
    }

    private func quoted(_ values: [Bytes]) -> Bytes {
        Bytes((isShell ? values.map(Self.quoted) : values).joined(separator: [32]))
    }

    /// As a shell takes it for one word.
    static func quoted(_ word: Bytes) -> Bytes {
        let plain = Bytes(ascii: "/._-=+,:@%")
        let isPlain = word.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte >= 0x80
                || plain.contains(byte)
        }
        if isPlain, !word.isEmpty { return word }
        return [39] + word.flatMap { $0 == 39 ? Bytes(ascii: "'\\''") : [$0] } + [39]
    }

    // MARK: - Reading words

    private static func split(_ word: Bytes, at place: Bytes) -> [Piece] {
        var pieces: [Piece] = []
        var text = Bytes()
        var rest = word[...]
        while let first = rest.first {
            if !place.isEmpty, rest.starts(with: place) {
                if !text.isEmpty { pieces.append(.text(text)) }
                text = []
                pieces.append(.values(.whole))
                rest = rest.dropFirst(place.count)
            } else {
                text.append(first)
                rest = rest.dropFirst()
            }
        }
        if !text.isEmpty || pieces.isEmpty { pieces.append(.text(text)) }
        return pieces
    }

    private static func read(_ word: Bytes, _ columns: Int, _ isExtended: inout Bool) throws(BatchRefusal) -> [Piece] {
        var pieces: [Piece] = []
        var text = Bytes()
        var rest = word[...]
        while let first = rest.first {
            guard first == UInt8(ascii: "{"), let (piece, length) = try place(rest, columns) else {
                text.append(first)
                rest = rest.dropFirst()
                continue
            }
            if case .values(.whole) = piece {} else { isExtended = true }
            if !text.isEmpty { pieces.append(.text(text)) }
            text = []
            pieces.append(piece)
            rest = rest.dropFirst(length)
        }
        if !text.isEmpty || pieces.isEmpty { pieces.append(.text(text)) }
        return pieces
    }

    /// The place that `rest` begins with, and its length.
    private static func place(_ rest: ArraySlice<UInt8>, _ columns: Int) throws(BatchRefusal) -> (Piece, Int)? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else { return nil }
        let inner = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
        let length = end - rest.startIndex + 1
        switch inner {
        case "": return (.values(.whole), length)
        case ".": return (.values(.withoutExtension), length)
        case "/": return (.values(.name), length)
        case "//": return (.values(.folder), length)
        case "/.": return (.values(.nameWithoutExtension), length)
        case "#": return (.number, length)
        case "%": return (.slot, length)
        default: break
        }
        if inner.count >= 2, inner.hasPrefix("="), inner.hasSuffix("=") {
            throw BatchRefusal(
                .usage, "run: Perl expressions are not supported ({\(inner)}). Write --shell 'TEXT', or --plain to keep the text unchanged.")
        }
        let digits = inner.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), number >= 1, number <= columns else { return nil }
        let part = inner.dropFirst(digits.count)
        if part.isEmpty { return (.value(number - 1), length) }
        guard [".", "/", "//", "/."].contains(part) else { return nil }
        throw BatchRefusal(
            .usage, "run: parts of a numbered source are not supported ({\(inner)}). Write {\(part)} with one source, or --shell 'TEXT'.")
    }
}
