// Owns the creation of folders for journals and outputs. Writers call it. It never deletes anything.

internal import Glibc

/// Creates folders and synchronises their entries, so that files survive a power failure.
package enum Folder {
    /// Creates the folder at `path`, and its parents.
    ///
    /// - Returns: Whether the folder exists; if not, `errno` has the reason.
    package static func make(_ path: String) -> Bool {
        if makeOne(path) { return true }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return false }
        return make(String(path[..<slash])) && makeOne(path)
    }

    private static func makeOne(_ path: String) -> Bool {
        guard unsafe mkdir(path, 0o777) == 0 else { return errno == EEXIST }
        synchronise(above: Array(path.utf8))
        return true
    }

    /// Synchronises the directory entry of the file or folder at `path`, if the system supports it.
    package static func synchronise(above path: [UInt8]) {
        let slash = UInt8(ascii: "/")
        let name = path.lastIndex { $0 != slash }.map { path[...$0] } ?? path[...]
        let above = name.lastIndex(of: slash).map { path[...$0] } ?? [UInt8(ascii: ".")]
        let folder = unsafe open((above + [0]).map { CChar(bitPattern: $0) }, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}

/// A descriptor that is unlocked and closed with its last reference.
///
/// It is unlocked explicitly, because a child process shares the descriptor between its fork and its exec.
final class OpenFile {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
