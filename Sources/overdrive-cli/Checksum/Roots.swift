internal import Glibc

/// The paths that the user named, ready for the walk: in order, each file once.
struct Roots {
    private(set) var listing = Listing()
    /// The entries whose path the user ended with a slash.
    private(set) var followed: Set<Int> = []
    /// All of them: the paths are in memory anyhow.
    private(set) var failures = FailureList(capacity: .max)

    /// The path that stands for standard input.
    static let standardInput = Bytes(ascii: "-")

    /// Looks at each path once. A path under another one of `paths` is left out, as its files are met
    /// there.
    init(_ paths: [Bytes]) {
        var kinds: [Bytes: Listing.Kind] = [:]
        for path in Set(paths) {
            if path == Self.standardInput {
                kinds[path] = .standardInput
                continue
            }
            var status = stat()
            guard path.withCString({ lstat($0, &status) }) == 0 else {
                failures.append(Failure(path: path, number: errno))
                continue
            }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            guard !isLink || path.withCString({ stat($0, &status) }) == 0 else {
                failures.append(Failure(path: path, number: errno))
                continue
            }
            switch Listing.Kind(mode: status.st_mode) {
            case .directory? where isLink:
                failures.append(Failure(path: path, number: Failure.linkedDirectory))
            case let kind?: kinds[path] = isLink ? .linkedFile : kind
            case nil:
                // Not opened: a FIFO would wait for its writer, and a terminal for somebody to type.
                failures.append(Failure(path: path, number: Failure.specialFile))
            }
        }

        let directories = Set(kinds.lazy.filter { $0.value == .directory }.map { Self.withSlash($0.key) })
        for (path, kind) in kinds where kind != .file && kind != .directory || !Self.isCovered(path, by: directories) {
            if path.last == .slash, path.count > 1, kinds[Bytes(path.dropLast())] == .directory { continue }
            path.withUnsafeBytes { listing.append($0, kind: kind) }
        }
        listing.sort()

        for (index, entry) in listing.entries.enumerated() where entry.kind == .directory {
            let name = Bytes(listing.name(of: entry))
            if kinds[name] != nil, kinds[Bytes(name.dropLast())] == nil { followed.insert(index) }
        }
    }

    /// Whether the walk of one of `directories` comes by `path`: it is written as that directory's
    /// path and more, and the way down leads over directories only, by their own names.
    private static func isCovered(_ path: Bytes, by directories: Set<Bytes>) -> Bool {
        var isPlain = true
        var name = path.count
        if path.last == .slash { return isCoveredAsDirectory(path, by: directories) }
        while isPlain, let slash = path[..<name].lastIndex(of: .slash) {
            let above = Bytes(path[...slash])
            isPlain = isPlainName(path[(slash + 1)..<name])
            if isPlain, directories.contains(above) { return true }
            isPlain = isPlain && isDirectory(Bytes(path[..<slash]))
            name = slash
        }
        return false
    }

    /// A directory written with its slash is the same as without, where it is not a link.
    private static func isCoveredAsDirectory(_ path: Bytes, by directories: Set<Bytes>) -> Bool {
        let bare = Bytes(path.dropLast())
        guard !bare.isEmpty, isDirectory(bare) else { return false }
        return isCovered(bare, by: directories)
    }

    private static func isPlainName(_ name: ArraySlice<UInt8>) -> Bool {
        !(name.isEmpty || name.elementsEqual(Bytes(ascii: ".")) || name.elementsEqual(Bytes(ascii: "..")))
    }

    private static func isDirectory(_ path: Bytes) -> Bool {
        var status = stat()
        return path.withCString { lstat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func withSlash(_ path: Bytes) -> Bytes {
        path.last == .slash ? path : path + [.slash]
    }
}
