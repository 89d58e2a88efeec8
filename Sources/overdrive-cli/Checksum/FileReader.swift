// Owns the reading and hashing of files. Workers call it from any number of threads. It never prints a result.

internal import CFileReading
internal import Glibc
internal import Synchronization

/// A hash function over a stream of bytes.
protocol StreamingHash: SendableMetatype {
    init()
    mutating func absorb(_ bytes: UnsafeRawBufferPointer)
    consuming func digest() -> Digest
}

/// Reads and hashes files piece by piece on any number of threads, and counts them.
///
/// A piece in the page cache is read directly. A piece that must come from the disk is read inside the engine's
/// `blocking`, so that the CPU can do other work.
final class FileReader: Sendable {
    /// The treatment of a symbolic link at the end of a path.
    enum Links { case refused, followed }

    /// The size of a piece: it fits into a core's cache, and system calls remain cheap.
    static let pieceSize = 128 * 1024

    /// The largest number of blocking reads that a spare may replace: the useful queue depth of a disk.
    static let mostReplaced = 12

    let stop = StopFlag()
    private let fileTally = Atomic<Int>(0)
    private let byteTally = Atomic<Int>(0)
    private let cache: DigestCache?
    private let damage = Mutex<[Bytes]>([])
    private let engine: any Engine
    private let hash: any StreamingHash.Type
    /// The hashes for checking a list, whose lines name their algorithm.
    private let others: [Algorithm: any StreamingHash.Type]
    /// The files under a path that are read.
    let selection: Selection
    private let spare = Mutex<[Piece]>([])
    private let replaced = Slots(FileReader.mostReplaced)

    init(
        engine: any Engine, hash: any StreamingHash.Type, others: [Algorithm: any StreamingHash.Type] = [:],
        cache: DigestCache? = nil, selection: Selection = Selection()
    ) {
        self.selection = selection
        self.others = others
        self.cache = cache
        self.engine = engine
        self.hash = hash
    }

    /// The number of files that were read completely.
    var files: Int { fileTally.load(ordering: .relaxed) }

    /// The number of bytes that were read.
    var bytes: Int { byteTally.load(ordering: .relaxed) }

    /// The files whose content has changed without a write, according to the cache.
    var damaged: [Bytes] { damage.withLock { $0 } }

    /// Returns the digest of a regular file, or an error: `ECANCELED` after a stop.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm; nil for that of the reader.
    ///   - isOver: Asked before each piece. True stops the reading of this file.
    func digest(
        _ path: Bytes, links: Links, _ algorithm: Algorithm? = nil, until isOver: () -> Bool = { false }
    ) -> Result<Digest, SystemError> {
        if let cache, links == .refused {
            // The file is not opened: an unchanged file costs one stat. Paths that are too long are opened step by
            // step below.
            var status = stat()
            if path.withCString({ lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFREG,
                case .current(let digest) = cache.find(status)
            {
                fileTally.add(1, ordering: .relaxed)
                return .success(digest)
            }
        }
        var flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        if links == .refused { flags |= O_NOFOLLOW }
        let descriptor = Descriptors.open(path, flags: flags)
        guard descriptor >= 0 else { return .failure(SystemError(number: errno)) }
        defer {
            close(descriptor)
            Descriptors.noteClosed()
        }

        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .failure(SystemError(number: errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return .failure(SystemError(number: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL))
        }

        let result = digest(of: descriptor, algorithm, until: isOver)
        if let cache, case .success(let digest) = result { note(digest, of: path, status, in: cache) }
        return result
    }

    private func note(_ digest: Digest, of path: Bytes, _ status: stat, in cache: DigestCache) {
        var before: DigestCache.Entry?
        switch cache.find(status) {
        // The file is in the cache under another name or through a link.
        case .current(let known) where known == digest: return
        case .current: before = nil
        case .stale(let entry): before = entry
        }
        if DigestCache.isDamage(status, digest, before: before) {
            // The old entry stays in the cache, because the damage is no valid change.
            damage.withLock { $0.append(path) }
        } else {
            cache.add(status, digest)
        }
    }

    /// Returns the digest of standard input up to its end.
    func digestOfStandardInput(_ algorithm: Algorithm? = nil) -> Result<Digest, SystemError> {
        digest(of: STDIN_FILENO, algorithm) { false }
    }

    private func digest(
        of descriptor: Int32, _ algorithm: Algorithm?, until isOver: () -> Bool
    ) -> Result<Digest, SystemError> {
        let piece = spare.withLock { $0.popLast() } ?? Piece(size: Self.pieceSize)
        defer { spare.withLock { $0.append(piece) } }
        let hash = algorithm.flatMap { others[$0] } ?? hash
        return digest(of: descriptor, through: piece.bytes, by: hash, until: isOver)
    }

    private func digest<Hash: StreamingHash>(
        of descriptor: Int32, through piece: UnsafeMutableRawBufferPointer, by: Hash.Type, until isOver: () -> Bool
    ) -> Result<Digest, SystemError> {
        var hash = Hash()
        while !stop.isSet, !isOver() {
            let count = read(descriptor, into: piece)
            if count == 0 {
                fileTally.add(1, ordering: .relaxed)
                return .success(hash.digest())
            }
            if count > 0 {
                let read = UnsafeRawBufferPointer(rebasing: piece[..<count])
                hash.absorb(read)
                byteTally.add(count, ordering: .relaxed)
            } else if errno != EINTR {
                return .failure(SystemError(number: errno))
            }
        }
        return .failure(SystemError(number: ECANCELED))
    }

    /// Reads like read(2).
    private func read(_ descriptor: Int32, into piece: UnsafeMutableRawBufferPointer) -> Int {
        let cached = read_without_waiting(descriptor, piece.baseAddress, piece.count)
        if cached >= 0 { return cached }
        // A container may reject the call with any error, so read(2) decides.
        return errno == EAGAIN ? waitingRead(descriptor, into: piece) : Glibc.read(descriptor, piece.baseAddress, piece.count)
    }

    /// Reads like read(2) when the data is not available yet.
    private func waitingRead(_ descriptor: Int32, into piece: UnsafeMutableRawBufferPointer) -> Int {
        var number: Int32 = 0
        func wait() -> Int {
            var count = Glibc.read(descriptor, piece.baseAddress, piece.count)
            // The parent process may have made the pipe non-blocking.
            while count < 0, errno == EAGAIN, !stop.isSet {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, 50)
                count = Glibc.read(descriptor, piece.baseAddress, piece.count)
            }
            number = errno
            return count
        }
        let isReplaced = replaced.take()
        let count = isReplaced ? engine.blocking(wait) : wait()
        if isReplaced { replaced.giveBack() }
        errno = number
        return count
    }
}

/// A bounded number of slots, which callers take if one is free.
final class Slots: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) {
        free = Atomic(count)
    }

    /// Takes a slot if one is free. Relaxed: a count that publishes no data.
    func take() -> Bool {
        var seen = free.load(ordering: .relaxed)
        while seen > 0 {
            let (isTaken, now) = free.weakCompareExchange(
                expected: seen, desired: seen - 1, ordering: .relaxed)
            if isTaken { return true }
            seen = now
        }
        return false
    }

    func giveBack() { free.add(1, ordering: .relaxed) }
}

/// A request to all workers to stop soon. It is set once.
final class StopFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Relaxed: a hint that is read repeatedly and publishes no data.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}

/// The buffer for a piece of a file. One thread at a time holds it, or it is in `spare`.
private final class Piece: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(size: Int) {
        bytes = .allocate(byteCount: size, alignment: 4096)
    }

    deinit {
        bytes.deallocate()
    }
}
