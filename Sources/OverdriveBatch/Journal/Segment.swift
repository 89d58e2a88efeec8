// Owns the format of a journal's file and its checks. JournalWriter appends records, and JournalReader reads them. It
// never writes to a file.

internal import Glibc

/// A file of a journal, written by one process. It has a header record and then other records.
///
/// A record has 16 bytes (mark, kind and length, checksums) and a payload. The length detects a truncated record, and
/// the checksums detect changed bytes.
enum Segment {
    enum Kind: UInt8 { case header = 1, entries, heartbeat, end }

    static let headSize = 16
    private static let diskBlock = 512
    private static let mark: UInt32 = 0x4a64_764f  // "OvdJ"

    static func append(_ kind: Kind, _ payload: [UInt8], to bytes: inout [UInt8]) {
        func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let sum = unsafe payload.withUnsafeBytes { unsafe Checksum32.of($0) }
        precondition(payload.count <= mostPayload)
        let head = word(mark) + word(UInt32(payload.count) << 3 | UInt32(kind.rawValue)) + word(sum)
        bytes += head
        unsafe bytes += word(head.withUnsafeBytes { unsafe Checksum32.of($0) })
        bytes += payload
    }

    /// The largest payload in bytes: half of what the length field can express.
    static let mostPayload = 1 << 28

    /// Returns the length of the first record according to its head, which `read` verifies.
    static func lengthOfFirst(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count >= headSize else { return bytes.count }
        return unsafe headSize + Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) >> 3)
    }

    /// Calls `body` for each record up to `sealed` or the end, and then `isBehind` with the record's end.
    ///
    /// - Returns: The end of the last complete record. The rest was truncated during a write, or is a disk block that
    ///   a power failure left unwritten.
    /// - Throws: `BatchError.corrupt` for bytes that no process wrote.
    static func read(
        _ bytes: UnsafeRawBufferPointer, of file: String, sealed: Int?, isBehind: ((Int) -> Void)? = nil,
        _ body: (Kind, Range<Int>) throws(BatchError) -> Void
    ) throws(BatchError) -> Int {
        var place = 0
        let end = min(sealed ?? bytes.count, bytes.count)
        func word(_ offset: Int) -> UInt32 {
            unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + offset, as: UInt32.self))
        }
        func damage() -> BatchError {
            .corrupt(
                file: file, byte: place,
                remedy: sealed == nil
                    ? "to keep the records before that byte: truncate -s \(place) '\(file)', and later items are run again"
                    : Self.remedyByRenaming(file))
        }
        if let sealed, bytes.count < sealed {
            throw .corrupt(
                file: file, byte: bytes.count,
                remedy: "the last \(sealed - bytes.count) bytes are missing; \(Self.remedyByRenaming(file))")
        }
        /// Whether all bytes from `start` on are zeros, which means that no write reached these blocks.
        func isUnwritten(from start: Int) -> Bool { unsafe sealed == nil && bytes[start...].allSatisfy { $0 == 0 } }
        while end - place >= headSize {
            let head = unsafe UnsafeRawBufferPointer(rebasing: bytes[place..<place + 12])
            guard word(0) == mark, unsafe Checksum32.of(head) == word(12),
                let kind = Kind(rawValue: UInt8(word(4) & 7))
            else {
                if isUnwritten(from: place) { break }
                throw damage()
            }
            let payload = place + headSize..<place + headSize + Int(word(4) >> 3)
            guard payload.upperBound <= end else { break }
            guard unsafe Checksum32.of(UnsafeRawBufferPointer(rebasing: bytes[payload])) == word(8) else {
                let block = max(payload.lowerBound, (payload.upperBound - 1) & ~(diskBlock - 1))
                if isUnwritten(from: block) { break }
                throw damage()
            }
            try body(kind, payload)
            place = payload.upperBound
            isBehind?(place)
        }
        return place
    }

    /// Returns the remedy for a file that a later header mentions. It cannot be truncated, because its length is
    /// known.
    private static func remedyByRenaming(_ file: String) -> String {
        "to run all its items again: mv '\(file)' '\(file).damaged'"
    }
}

/// The contents of a file, mapped for the lifetime of this object.
@safe final class MappedFile {
    private let bytes: UnsafeRawBufferPointer
    /// The pages before this offset were released.
    private var released = 0
    private var read = 0
    /// The number of bytes that may remain in memory after a read.
    private static let mostResident = 4 << 20

    init(_ path: String) throws(BatchError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path: path, call: "opening", number: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system(path: path, call: "stat", number: errno) }
        let size = Int(status.st_size)
        guard size > 0 else {
            unsafe bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        let place = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let place = unsafe place, unsafe place != MAP_FAILED else {
            throw .system(path: path, call: "mapping", number: errno)
        }
        unsafe bytes = UnsafeRawBufferPointer(start: place, count: size)
    }

    /// Calls `body` with the contents, which are valid during the call.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try unsafe body(bytes)
    }

    /// Releases the pages before `place` from memory from time to time. The file keeps them.
    func release(before place: Int) {
        guard place - released > Self.mostResident else { return }
        giveBack(released..<place & ~4095)
        released = place & ~4095
    }

    /// Counts `count` read bytes, and releases all pages from memory from time to time.
    func noteRead(_ count: Int) {
        read += count
        guard read > Self.mostResident else { return }
        read = 0
        unsafe giveBack(0..<bytes.count)
    }

    private func giveBack(_ range: Range<Int>) {
        guard let base = unsafe bytes.baseAddress, !range.isEmpty else { return }
        unsafe madvise(UnsafeMutableRawPointer(mutating: base + range.lowerBound), range.count, MADV_DONTNEED)
    }

    deinit {
        if let base = unsafe bytes.baseAddress { unsafe munmap(UnsafeMutableRawPointer(mutating: base), bytes.count) }
    }
}
