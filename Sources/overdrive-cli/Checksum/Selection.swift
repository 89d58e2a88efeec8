internal import Glibc

/// Selects the files and directories under a path by name and size.
///
/// A path that the user named is always read.
struct Selection: Sendable {
    /// Shell patterns. A pattern with a slash is matched against the path, any other against the name.
    var excluded: [Bytes] = []
    /// The smallest size of a selected file in bytes.
    var leastSize = 0
    /// The largest size of a selected file in bytes.
    var mostSize = Int.max

    var hasSizes: Bool { leastSize > 0 || mostSize < Int.max }

    /// Returns whether a pattern excludes the entry `name` of `directory`.
    func excludes(_ name: Bytes, in directory: Bytes) -> Bool {
        excluded.contains { pattern in
            var text = name
            if pattern.contains(.slash) {
                text = directory.last == .slash ? directory + name : directory + [.slash] + name
            }
            return pattern.withCString { pattern in text.withCString { fnmatch(pattern, $0, 0) == 0 } }
        }
    }

    /// Returns whether a pattern excludes the file at `path` or a directory above it.
    func excludes(path: Bytes) -> Bool {
        guard !excluded.isEmpty else { return false }
        var start = 0
        while start < path.count {
            let end = path[start...].firstIndex(of: .slash) ?? path.count
            if end > start, excludes(Bytes(path[start..<end]), in: Bytes(path[..<start])) { return true }
            start = end + 1
        }
        return false
    }

    func takes(size: Int) -> Bool { (leastSize...mostSize).contains(size) }

    /// The part of a journal's job name that identifies this selection; empty for all files.
    var mark: String {
        var words = excluded.map { "--exclude=\(RawArgument.text(for: $0)) " }
        if leastSize > 0 { words.append("--min-size=\(leastSize) ") }
        if mostSize < Int.max { words.append("--max-size=\(mostSize) ") }
        return words.joined()
    }
}
