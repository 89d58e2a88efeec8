/// Formats rows and columns as text. Columns are as wide as their widest cell, and two spaces apart.
struct TextTable {
    var titles: [String]
    var rows: [[String]]

    /// The lines, the titles first, without trailing spaces.
    var lines: [String] {
        let all = [titles] + rows
        let widths = titles.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { cell, width in cell.padded(to: width) }
            return cells.joined(separator: "  ").trimmedAtEnd
        }
    }
}

extension String {
    /// Returns the text with trailing spaces up to `width` characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    fileprivate var trimmedAtEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)])
    }
}

/// Formats sets of whole numbers as the kernel does.
enum NumberRanges {
    /// Returns `0-2,5` for `[0, 1, 2, 5]`, and `-` for an empty array.
    static func text(_ numbers: [Int]) -> String {
        var ranges: [ClosedRange<Int>] = []
        for number in numbers.sorted() {
            if let last = ranges.last, number <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, number)
            } else {
                ranges.append(number...number)
            }
        }
        guard !ranges.isEmpty else { return "-" }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }
}
