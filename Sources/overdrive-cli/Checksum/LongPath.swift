internal import Glibc

/// Opens paths of any length: the kernel takes 4095 bytes at a time.
enum LongPath {
    /// What the kernel takes in one call, without the zero at the end.
    static let limit = Int(PATH_MAX) - 1

    /// As open(2): a descriptor, or -1 and `errno`.
    static func open(_ path: Bytes, flags: Int32) -> Int32 {
        let direct = path.withCString { Glibc.open($0, flags) }
        guard direct < 0, errno == ENAMETOOLONG, path.count > limit else { return direct }

        var rest = path[...]
        var directory = AT_FDCWD
        defer { if directory >= 0 { keepingErrno { close(directory) } } }
        while rest.count > limit {
            // Down to the last directory that one call can name.
            guard let slash = rest.prefix(limit).lastIndex(of: .slash), slash > rest.startIndex else {
                errno = ENAMETOOLONG
                return -1
            }
            let step = Bytes(rest[..<slash]).withCString {
                openat(directory, $0, __O_PATH | O_DIRECTORY | O_CLOEXEC)
            }
            guard step >= 0 else { return -1 }
            if directory >= 0 { close(directory) }
            directory = step
            rest = rest[rest.index(after: slash)...].drop { $0 == .slash }
        }
        return Bytes(rest.isEmpty ? [UInt8(ascii: ".")] : rest).withCString { openat(directory, $0, flags) }
    }

    private static func keepingErrno(_ body: () -> Int32) {
        let number = errno
        _ = body()
        errno = number
    }
}
