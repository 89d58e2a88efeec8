internal import Glibc

/// Folders whose entries are to outlive a power failure, as the files do.
package enum Folder {
    /// Makes the folder at `path`, and those above it.
    ///
    /// - Returns: Whether it is there; if not, `errno` says why.
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

    /// Brings the entry of the file or folder at `path` to the disk, where the system can.
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

/// A descriptor that is unlocked and closed with the last reference to it.
///
/// Unlocked first: a process that somebody starts just then has the descriptor, too, until its exec.
final class OpenFile {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
