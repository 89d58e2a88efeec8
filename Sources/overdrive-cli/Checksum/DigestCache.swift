internal import Glibc
internal import OverdriveBatch
internal import Synchronization

/// Stores digests of earlier runs for files that have not changed.
///
/// A file is identified by device and inode. Its size and both times must be unchanged and older than the run that read
/// it. A change within one clock tick would otherwise not be visible.
final class DigestCache: Sendable {
    /// The stored facts about a file.
    struct Entry: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        /// Times in nanoseconds since 1970.
        var modified: Int64
        var changed: Int64
        /// The start of the run that read the file.
        var read: Int64
        var digest: Digest

        init(_ status: stat, read: Int64, digest: Digest) {
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
            self.read = read
            self.digest = digest
        }

        fileprivate init(_ record: UnsafeRawBufferPointer, _ algorithm: Algorithm) {
            func number(_ place: Int) -> UInt64 {
                UInt64(littleEndian: record.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self))
            }
            (device, inode) = (number(0), number(1))
            (size, modified) = (Int64(bitPattern: number(2)), Int64(bitPattern: number(3)))
            (changed, read) = (Int64(bitPattern: number(4)), Int64(bitPattern: number(5)))
            digest = Digest(UnsafeRawBufferPointer(rebasing: record[48...]), algorithm)
        }

        fileprivate func write(to bytes: inout Bytes) {
            let numbers = [
                device, inode, UInt64(bitPattern: size), UInt64(bitPattern: modified),
                UInt64(bitPattern: changed),
                UInt64(bitPattern: read),
            ]
            for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
            digest.withBytes { bytes += $0 }
        }

        fileprivate func precedes(_ device: UInt64, _ inode: UInt64) -> Bool {
            (self.device, self.inode) < (device, inode)
        }
    }

    /// The result of a lookup.
    enum Finding: Equatable {
        case current(Digest)
        /// The file must be read. The old entry shows whether its content has changed.
        case stale(Entry?)
    }

    /// Returns the first line of a cache. It does not name SHA-256, which was the only algorithm at first.
    private static func mark(_ algorithm: Algorithm) -> Bytes {
        let text = Bytes(ascii: "overdrive cache 1" + (algorithm == .sha256 ? "\n" : " \(algorithm)"))
        return text + Bytes(repeating: 0, count: 24 - text.count)
    }

    private let algorithm: Algorithm
    private let mark: Bytes
    private let recordSize: Int

    private let path: Bytes
    private let text: Bytes
    private let count: Int
    private let start: Int64
    private let added: Mutex<Records>

    /// Opens the cache at `path`; a missing file is an empty cache.
    ///
    /// - Parameter now: The start of the run in nanoseconds since 1970.
    init(_ path: Bytes, _ algorithm: Algorithm = .sha256, now: Int64) throws(BatchRefusal) {
        self.path = path
        self.algorithm = algorithm
        mark = Self.mark(algorithm)
        recordSize = 48 + algorithm.byteCount
        added = Mutex(Records(size: recordSize))
        start = now
        let name = String(decoding: path.printable, as: UTF8.self)
        let file = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard file >= 0 else {
            guard errno == ENOENT else { throw .system(name, "opening") }
            (text, count) = ([], 0)
            return
        }
        defer { close(file) }
        guard let text = Manifest.readAll(file) else { throw .system(name, "reading") }
        if let other = Algorithm.allCases.first(where: { $0 != algorithm && text.starts(with: Self.mark($0)) }) {
            throw BatchRefusal(.data, "\(name): the cache has \(other) digests, not \(algorithm): name another file")
        }
        let records = text.count - mark.count - 4
        let isWhole =
            records >= 0 && records % recordSize == 0 && text.starts(with: mark)
            && text.withUnsafeBytes { bytes in
                let sum = Checksum32.of(UnsafeRawBufferPointer(rebasing: bytes.dropLast(4)))
                return sum
                    == UInt32(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self))
            }
        guard isWhole else {
            throw BatchRefusal(.data, "\(name): not a cache, or damaged: name another file, or remove this one")
        }
        self.text = text
        count = records / recordSize
    }

    /// Looks up the file with the given status.
    func find(_ status: stat) -> Finding {
        let (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        let found: Entry? = text.withUnsafeBytes { bytes in
            func entry(_ place: Int) -> Entry {
                let offset = mark.count + place * recordSize
                return Entry(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + recordSize]), algorithm)
            }
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) / 2
                if entry(middle).precedes(device, inode) { low = middle + 1 } else { high = middle }
            }
            guard low < count else { return nil }
            let candidate = entry(low)
            return candidate.device == device && candidate.inode == inode ? candidate : nil
        }
        guard let found else { return .stale(nil) }
        let asIs = Entry(status, read: found.read, digest: found.digest)
        return asIs == found && found.modified < found.read && found.changed < found.read
            ? .current(found.digest) : .stale(found)
    }

    /// Returns whether a file with the current `digest` is damaged: its content changed without a write.
    static func isDamage(_ status: stat, _ digest: Digest, before: Entry?) -> Bool {
        guard let before, before.modified < before.read else { return false }
        let now = Entry(status, read: 0, digest: digest)
        return now.size == before.size && now.modified == before.modified && digest != before.digest
    }

    /// Adds the digest of a file that was read.
    func add(_ status: stat, _ digest: Digest) {
        added.withLock { $0.append(Entry(status, read: start, digest: digest)) }
    }

    /// Writes the cache if it has new entries. The file is written under another name first, so that it is always
    /// complete.
    func save() throws(BatchRefusal) {
        let added = added.withLock { $0 }
        guard added.count > 0 else { return }
        let order = (0..<Int32(added.count)).sorted { added.key(Int($0)) < added.key(Int($1)) }
        let draft = path + Bytes(ascii: ".\(getpid())")
        let name = String(decoding: path.printable, as: UTF8.self)
        let file = draft.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
        guard file >= 0 else { throw .system(name, "creation", .output) }
        var writer = SummedWriter(file)
        mark.withUnsafeBytes { writer.append($0) }
        merge(added, order, into: &writer)
        let error = writer.finish()
        if error != 0 { errno = error }
        guard error == 0, fsync(file) == 0, close(file) == 0,
            draft.withCString({ from in path.withCString { rename(from, $0) } }) == 0
        else {
            let refusal = BatchRefusal.system(name, "writing", .output)
            _ = draft.withCString { unlink($0) }
            throw refusal
        }
    }

    /// Writes the records of the cache and the added ones, in order. An added record replaces that of the same file.
    private func merge(_ added: Records, _ order: [Int32], into writer: inout SummedWriter) {
        text.withUnsafeBytes { old in
            var place = 0
            func record(_ place: Int) -> UnsafeRawBufferPointer {
                let offset = mark.count + place * recordSize
                return UnsafeRawBufferPointer(rebasing: old[offset..<offset + recordSize])
            }
            for (index, number) in order.enumerated() {
                let key = added.key(Int(number))
                // If a file was read under two names, the last entry is kept.
                if index + 1 < order.count, added.key(Int(order[index + 1])) == key { continue }
                while place < count, Records.key(record(place)) < key {
                    writer.append(record(place))
                    place += 1
                }
                if place < count, Records.key(record(place)) == key { place += 1 }
                added.withRecord(Int(number)) { writer.append($0) }
            }
            while place < count {
                writer.append(record(place))
                place += 1
            }
        }
    }

    /// Records in pieces: one array would be copied as it grows, with both copies in memory.
    private struct Records {
        private static let piece = 1 << 14
        let size: Int
        private(set) var count = 0
        private var pieces: [Bytes] = []

        init(size: Int) { self.size = size }

        mutating func append(_ entry: Entry) {
            if count % Self.piece == 0 {
                pieces.append([])
                pieces[pieces.count - 1].reserveCapacity(Self.piece * size)
            }
            entry.write(to: &pieces[pieces.count - 1])
            count += 1
        }

        func withRecord<R>(_ number: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
            pieces[number / Self.piece].withUnsafeBytes { bytes in
                let offset = number % Self.piece * size
                return body(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size]))
            }
        }

        func key(_ number: Int) -> (UInt64, UInt64) { withRecord(number, Self.key) }

        /// Device and inode.
        static func key(_ record: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
            (
                UInt64(littleEndian: record.loadUnaligned(as: UInt64.self)),
                UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// Writes bytes to a file, and their checksum at the end.
    private struct SummedWriter {
        private static let most = 1 << 20
        private let file: Int32
        private var pending = Bytes()
        private var sum: UInt32 = 0
        private var error: Int32 = 0

        init(_ file: Int32) { self.file = file }

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            pending += bytes
            if pending.count >= Self.most { flush() }
        }

        /// - Returns: The number of the first error, or 0.
        mutating func finish() -> Int32 {
            flush()
            withUnsafeBytes(of: sum.littleEndian) { pending += $0 }
            flush()
            return error
        }

        private mutating func flush() {
            sum = pending.withUnsafeBytes { Checksum32.of($0, after: sum) }
            if error == 0 { error = StandardStreams.write(pending[...], to: file) { false } }
            pending.removeAll(keepingCapacity: true)
        }
    }
}
