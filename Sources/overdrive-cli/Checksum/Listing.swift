internal import Glibc

/// The regular files and directories in one directory, sorted by path.
///
/// A directory's name has a trailing slash. The concatenation of names is therefore the path, and a comparison of
/// names byte by byte is a comparison of paths.
struct Listing: Sendable {
    enum Kind: UInt8 {
        case file, directory
        /// A symbolic link to a file, or standard input. They are read only if the user named them.
        case linkedFile, standardInput
    }

    struct Entry {
        var offset: UInt32
        var length: UInt32
        var kind: Kind

        /// The range of the name in `names`.
        var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
    }

    private(set) var names = Bytes()
    private(set) var entries: [Entry] = []

    /// Returns the name of an entry, with its slash.
    func name(of entry: Entry) -> ArraySlice<UInt8> {
        names[entry.range]
    }

    mutating func append(_ name: UnsafeRawBufferPointer, kind: Kind) {
        let offset = names.count
        names.append(contentsOf: name)
        if kind == .directory, name.last != .slash { names.append(.slash) }
        entries.append(
            Entry(offset: UInt32(offset), length: UInt32(names.count - offset), kind: kind)
        )
    }

    /// Sorts the entries by path.
    mutating func sort() {
        let names = names
        names.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            entries.sort { left, right in
                let common = Int(min(left.length, right.length))
                let order = memcmp(base + Int(left.offset), base + Int(right.offset), common)
                return order == 0 ? left.length < right.length : order < 0
            }
        }
    }

    /// Reads and closes a directory.
    ///
    /// - Returns: The sorted listing, or the error. Symbolic links and special files are left out, as in `find -type
    ///   f`.
    static func read(_ path: Bytes, _ selection: Selection = Selection()) -> Result<Listing, SystemError> {
        let descriptor = Descriptors.open(path, flags: O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .failure(SystemError(number: errno)) }
        defer { Descriptors.noteClosed() }
        guard let stream = fdopendir(descriptor) else {
            let failure = SystemError(number: errno)
            close(descriptor)
            return .failure(failure)
        }
        defer { closedir(stream) }

        var listing = Listing()
        errno = 0
        while let entry = readdir(stream) {
            listing.append(entry, of: descriptor, at: path, selection)
            errno = 0
        }
        if errno != 0 { return .failure(SystemError(number: errno)) }
        listing.sort()
        return .success(listing)
    }

    private mutating func append(
        _ entry: UnsafeMutablePointer<dirent>, of directory: Int32, at path: Bytes, _ selection: Selection
    ) {
        guard let field = entry.pointer(to: \.d_name) else { return }
        let name = UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self)
        let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
        if bytes.first == UInt8(ascii: "."), bytes.count == 1 || bytes.count == 2 && bytes[1] == bytes[0] {
            return
        }

        if !selection.excluded.isEmpty, selection.excludes(Bytes(bytes), in: path) { return }
        let type = Int(entry.pointee.d_type)
        if type == Int(DT_DIR) { return append(bytes, kind: .directory) }
        if type == Int(DT_REG), !selection.hasSizes { return append(bytes, kind: .file) }
        guard type == Int(DT_REG) || type == Int(DT_UNKNOWN) else { return }
        // Some file systems do not report the kind, so stat is needed. A name that no longer exists is left out.
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, let kind = Kind(mode: status.st_mode) else {
            return
        }
        if kind == .file, !selection.takes(size: Int(status.st_size)) { return }
        append(bytes, kind: kind)
    }
}

extension Listing.Kind {
    /// Creates the kind from a file's mode; nil for links and special files.
    init?(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .directory
        default: return nil
        }
    }
}

/// An error number of the system.
struct SystemError: Error, CustomStringConvertible {
    var number: Int32

    var description: String { sentence(forError: number) }

    var isMissing: Bool { number == ENOENT }
}
