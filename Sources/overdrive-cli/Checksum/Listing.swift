internal import Glibc

/// The regular files and directories in one directory, in the order of their paths.
///
/// A directory's name carries a slash at its end. So the names of a path, one after another, are the
/// path; and comparing names byte by byte compares whole paths, as the slash takes part.
struct Listing: Sendable {
    enum Kind: UInt8 {
        case file, directory
        /// A symbolic link to a file, or standard input, which are read only where the user named them.
        case linkedFile, standardInput
    }

    struct Entry {
        var offset: UInt32
        var length: UInt32
        var kind: Kind

        /// Where the name stands in `names`.
        var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
    }

    private(set) var names = Bytes()
    private(set) var entries: [Entry] = []

    /// The name of an entry, with its slash.
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

    /// Brings the entries into the order of their paths.
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
    /// - Returns: The sorted listing, or the `errno` that says why there is none. Symbolic links and special
    ///   files are left out, as `find -type f` leaves them out.
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
        // Some file systems leave the kind to stat. A name that is gone by now was never there.
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, let kind = Kind(mode: status.st_mode) else {
            return
        }
        if kind == .file, !selection.takes(size: Int(status.st_size)) { return }
        append(bytes, kind: kind)
    }
}

extension Listing.Kind {
    /// The kind that a file's mode tells, nil for links and special files.
    init?(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .directory
        default: return nil
        }
    }
}

/// An error number of the system's.
struct SystemError: Error, CustomStringConvertible {
    var number: Int32

    var description: String { sentence(forError: number) }

    var isMissing: Bool { number == ENOENT }
}
