internal import Glibc

/// The sources of items for `run`: words after `:::`, files after `::::`, or lines.
struct ItemSources {
    /// A source, and whether it is linked with the one before.
    struct Origin {
        var values: [Bytes] = []
        var isFile: Bool
        var isLinked: Bool
    }

    /// The words of the command.
    var command: [Bytes] = []
    var sources: [Origin] = []

    /// Splits the words of the command line.
    ///
    /// - Parameter isPlain: Whether only the first `:::` is a separator.
    init(_ words: [Bytes], isPlain: Bool) {
        for word in words {
            let text = word.count <= 6 ? String(decoding: word, as: UTF8.self) : ""
            if isPlain ? text == ":::" && sources.isEmpty : [":::", ":::+", "::::", "::::+"].contains(text) {
                sources.append(Origin(isFile: text.hasPrefix("::::"), isLinked: text.hasSuffix("+") && !sources.isEmpty))
                continue
            }
            let isEscaped = !isPlain && ["\\:::", "\\:::+", "\\::::", "\\::::+"].contains(text)
            let word = isEscaped ? Bytes(word.dropFirst()) : word
            guard let last = sources.last else {
                command.append(word)
                continue
            }
            // Each file is a separate source.
            if last.isFile, !last.values.isEmpty { sources.append(Origin(isFile: true, isLinked: last.isLinked)) }
            sources[sources.count - 1].values.append(word)
        }
    }

    /// Returns the values of each item: a row for each combination, where the last source changes first.
    ///
    /// - Parameters:
    ///   - end: The word that ends a source.
    ///   - lines: A closure that reads a file.
    func rows(until end: Bytes?, _ lines: (Bytes) throws(BatchRefusal) -> [Bytes]) throws(BatchRefusal) -> [[Bytes]] {
        // Linked sources are columns of one group. Rows of different groups are combined.
        var groups: [[[Bytes]]] = []
        for source in sources {
            var values = Array(source.values.prefix { $0 != end || source.isFile })
            if source.isFile {
                values = []
                for file in source.values { values += try lines(file) }
            }
            if source.isLinked, let last = groups.popLast() {
                groups.append(zip(last, values).map { $0 + [$1] })
            } else {
                groups.append(values.map { [$0] })
            }
        }
        var rows: [[Bytes]] = [[]]
        for group in groups { rows = rows.flatMap { row in group.map { row + $0 } } }
        return rows
    }

    /// Returns rows of as many values as fit into a command line.
    ///
    /// - Parameters:
    ///   - room: The largest number of bytes of a row.
    ///   - size: A closure that returns the bytes for a value.
    static func filled(_ values: [Bytes], room: Int, size: (Bytes) -> Int) -> [[Bytes]] {
        var rows: [[Bytes]] = []
        var used = room
        for value in values {
            let bytes = size(value)
            if rows.isEmpty || used + bytes > room {
                rows.append([])
                used = 0
            }
            rows[rows.count - 1].append(value)
            used += bytes
        }
        return rows
    }

    // MARK: - Rows as names

    /// Returns the name of an item with several values, because a journal stores names.
    static func name(_ values: [Bytes]) -> Bytes {
        Bytes(
            values.map { value in
                value.flatMap { $0 == 9 ? Bytes(ascii: "\\t") : $0 == 92 ? Bytes(ascii: "\\\\") : [$0] }
            }.joined(separator: [9]))
    }

    /// Returns the values that were passed to `name`.
    static func values(_ name: Bytes) -> [Bytes] {
        name.split(separator: 9, omittingEmptySubsequences: false).map { piece in
            var value = Bytes()
            var rest = piece
            while let first = rest.popFirst() {
                guard first == 92, let next = rest.popFirst() else {
                    value.append(first)
                    continue
                }
                value.append(next == UInt8(ascii: "t") ? 9 : next)
            }
            return value
        }
    }

    /// Returns a separator for `-d` and `--colsep`: `\n`, `\t`, `\0`, or the bytes themselves.
    static func separator(_ text: Bytes) -> Bytes {
        switch String(decoding: text, as: UTF8.self) {
        case "\\n": [10]
        case "\\t": [9]
        case "\\0": [0]
        default: text
        }
    }

    static func split(_ line: Bytes, at separator: Bytes) -> [Bytes] {
        guard let first = separator.first else { return [line] }
        var pieces: [Bytes] = []
        var piece = Bytes()
        var rest = line[...]
        while let byte = rest.first {
            if byte == first, rest.starts(with: separator) {
                pieces.append(piece)
                piece = []
                rest = rest.dropFirst(separator.count)
            } else {
                piece.append(byte)
                rest = rest.dropFirst()
            }
        }
        return pieces + [piece]
    }
}
