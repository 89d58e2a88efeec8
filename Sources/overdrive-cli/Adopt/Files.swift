#if CLI
internal import FoundationEssentials

/// Reads and writes the files of a package.
enum Files {
    static func read(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }

    static func write(_ text: String, to path: String) throws(Refusal) {
        do { try text.write(toFile: path, atomically: true, encoding: .utf8) } catch {
            throw Refusal("\(path) cannot be written")
        }
    }

    static func remove(_ path: String) throws(Refusal) {
        do { try FileManager.default.removeItem(atPath: path) } catch { throw Refusal("\(path) cannot be removed") }
    }

    static func isDirectory(_ path: String) -> Bool {
        var isDirectory = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
    }

    static func names(in path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// Returns the Swift files below a directory, without hidden ones.
    static func sources(below path: String) throws(Refusal) -> [String] {
        guard isDirectory(path) else { throw Refusal("\(path) is not a readable directory") }
        var found: [String] = []
        for name in names(in: path) where !name.hasPrefix(".") {
            let whole = path + "/" + name
            if isDirectory(whole) { found += try sources(below: whole) } else if name.hasSuffix(".swift") { found.append(whole) }
        }
        return found
    }

    /// Returns the absolute path, without a trailing slash.
    static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var parts: [Substring] = []
        for part in whole.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}
#endif
