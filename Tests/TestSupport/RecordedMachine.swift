import FoundationEssentials

/// The machines that `Tests/Fixtures/machines` has recorded: `README.md` there has the format.
package enum RecordedMachine {
    package static let fixtures =
        "\(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/"))/Fixtures/machines"

    /// Calls `body` with a directory that holds the machine's files, which is gone afterwards.
    package static func unpacked<Result>(_ name: String, _ body: (_ root: String) throws -> Result) throws -> Result {
        let root = FileManager.default.temporaryDirectory.path + "/recorded-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: root) }
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        let text = try String(contentsOfFile: "\(fixtures)/\(name).machine", encoding: .utf8)
        var path: String?
        var lines: [Substring] = []
        let all: [Substring] = text.split(separator: "\n", omittingEmptySubsequences: false) + ["== "]
        for line in all {
            guard ["== ", "=- ", "=! "].contains(line.prefix(3)) else {
                lines.append(line)
                continue
            }
            if let path { try write(lines.joined(separator: "\n"), to: path) }
            path = root + line.dropFirst(3)
            lines = []
        }
        return try body(root)
    }

    private static func write(_ content: String, to path: String) throws {
        let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try Data(content.utf8).write(to: URL(filePath: path))
    }
}
