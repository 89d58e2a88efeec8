internal import Glibc

/// The paths that the user named, sorted and without duplicates.
struct Roots {
    private(set) var listing = Listing()
    /// The entries whose paths have a trailing slash.
    private(set) var followed: Set<Int> = []
    /// All failures are kept, because the paths are in memory anyway.
    private(set) var failures = FailureList(capacity: .max)

    /// The path that represents standard input.
    static let standardInput = Bytes(ascii: "-")

    /// Examines each path once. A path below another one of `paths` is left out, because the walk finds its files.
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
                // The file is not opened: a FIFO would block until it has a writer, and a terminal until there is
                // input.
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

    /// Returns whether the walk of one of `directories` reaches `path`. The directory's path must be a prefix, and
    /// all components in between must be plain directories.
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

    /// Returns whether a path with a trailing slash is covered without the slash. The two differ only for a link.
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
