internal import Glibc

/// Opens paths of any length, although the kernel accepts at most 4095 bytes in a call.
enum LongPath {
    /// The largest length of a path in one call, without the terminating zero.
    static let limit = Int(PATH_MAX) - 1

    /// Opens a path like open(2): returns a descriptor; or -1, with the reason in `errno`.
    static func open(_ path: Bytes, flags: Int32) -> Int32 {
        let direct = path.withCString { Glibc.open($0, flags) }
        guard direct < 0, errno == ENAMETOOLONG, path.count > limit else { return direct }

        var rest = path[...]
        var directory = AT_FDCWD
        defer { if directory >= 0 { keepingErrno { close(directory) } } }
        while rest.count > limit {
            // Open the deepest directory that one call can name, and continue from there.
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
