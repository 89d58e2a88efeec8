/// A command whose words contain placeholders for an item: `{}` and those of GNU parallel.
struct CommandTemplate: Sendable {
    /// The part of a value that a placeholder inserts.
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
        /// The number of the command's slot, from 1. Commands that run concurrently have different slots.
        case slot
    }

    /// The rules for parsing words.
    struct Rules {
        /// The only placeholder; nil for all of them.
        var place: Bytes?
        /// The largest number of values of an item.
        var columns = 1
        /// Whether the only word is for /bin/sh, so that values are quoted.
        var isShell = false
    }

    private let words: [[Piece]]
    private let isShell: Bool
    /// Whether a placeholder other than `{}` occurs.
    let isExtended: Bool
    private let hasPlaces: Bool
    /// Whether all items run the same program.
    let isOfOneProgram: Bool

    /// - Throws: A `BatchRefusal` for a placeholder of GNU parallel that is not supported.
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

    /// Returns the command for an item.
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

    /// Returns a word quoted for a shell.
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

    /// Returns the placeholder at the start of `rest`, and its length.
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
