internal import Glibc

/// The files and directories under a path that are read: all of them, but for names and sizes that the user excludes.
///
/// A path that the user named is always read.
struct Selection: Sendable {
    /// Patterns as the shell has them. One with a slash is matched against the path, any other against the name.
    var excluded: [Bytes] = []
    /// Smaller files are passed over.
    var leastSize = 0
    /// Larger files are passed over.
    var mostSize = Int.max

    var hasSizes: Bool { leastSize > 0 || mostSize < Int.max }

    /// Whether the entry `name` of `directory` is excluded by a pattern.
    func excludes(_ name: Bytes, in directory: Bytes) -> Bool {
        excluded.contains { pattern in
            var text = name
            if pattern.contains(.slash) {
                text = directory.last == .slash ? directory + name : directory + [.slash] + name
            }
            return pattern.withCString { pattern in text.withCString { fnmatch(pattern, $0, 0) == 0 } }
        }
    }

    /// Whether a pattern excludes the file at `path`, or a directory above it.
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

    /// The part of a journal's job name that tells this selection from others; empty for all files.
    var mark: String {
        var words = excluded.map { "--exclude=\(RawArgument.text(for: $0)) " }
        if leastSize > 0 { words.append("--min-size=\(leastSize) ") }
        if mostSize < Int.max { words.append("--max-size=\(mostSize) ") }
        return words.joined()
    }
}
