internal import CFileReading
internal import Glibc
internal import Synchronization

/// A hash function over a stream of bytes.
protocol StreamingHash: SendableMetatype {
    init()
    mutating func absorb(_ bytes: UnsafeRawBufferPointer)
    consuming func digest() -> Digest
}

/// Reads files piece by piece, for as many threads as like to, and counts what was read.
///
/// A piece that the page cache holds is read as it is. One that a disk has to deliver is read within
/// the engine's `blocking`, so that the CPU does not wait too.
final class FileReader: Sendable {
    /// What a symbolic link at a path's end means.
    enum Links { case refused, followed }

    /// Small enough for a core's own cache, large enough to make the calls cheap.
    static let pieceSize = 128 * 1024

    /// How many reads at a time may have another thread take their place: as deep a queue as a disk makes use
    /// of, and not a thread for each file under way.
    static let mostReplaced = 12

    let stop = StopFlag()
    private let fileTally = Atomic<Int>(0)
    private let byteTally = Atomic<Int>(0)
    private let cache: DigestCache?
    private let damage = Mutex<[Bytes]>([])
    private let engine: any Engine
    private let hash: any StreamingHash.Type
    /// For a list to check, whose lines say themselves what made them.
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

    /// How many files were read to their end so far.
    var files: Int { fileTally.load(ordering: .relaxed) }

    /// How many bytes were read so far.
    var bytes: Int { byteTally.load(ordering: .relaxed) }

    /// The files whose content has changed although nobody wrote to them, by what the cache knows.
    var damaged: [Bytes] { damage.withLock { $0 } }

    /// The digest of a regular file, or why there is none: `ECANCELED` after a stop.
    ///
    /// - Parameters:
    ///   - algorithm: Which one; nil for the one that this reader is for.
    ///   - isOver: Asked before each piece: true is a stop of this file alone.
    func digest(
        _ path: Bytes, links: Links, _ algorithm: Algorithm? = nil, until isOver: () -> Bool = { false }
    ) -> Result<Digest, SystemError> {
        if let cache, links == .refused {
            // Without opening it: a file that has not changed costs a stat. Too long a path is opened step by step below.
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
        // A second name of a file that is in the cache, or a link to one.
        case .current(let known) where known == digest: return
        case .current: before = nil
        case .stale(let entry): before = entry
        }
        if DigestCache.isDamage(status, digest, before: before) {
            // What was known stays known: the damage is no update.
            damage.withLock { $0.append(path) }
        } else {
            cache.add(status, digest)
        }
    }

    /// The digest of what standard input holds up to its end.
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

    /// As read(2).
    private func read(_ descriptor: Int32, into piece: UnsafeMutableRawBufferPointer) -> Int {
        let cached = read_without_waiting(descriptor, piece.baseAddress, piece.count)
        if cached >= 0 { return cached }
        // A container may refuse the call with any error; read(2) has the last word.
        return errno == EAGAIN ? waitingRead(descriptor, into: piece) : Glibc.read(descriptor, piece.baseAddress, piece.count)
    }

    /// As read(2), of what has to be waited for.
    private func waitingRead(_ descriptor: Int32, into piece: UnsafeMutableRawBufferPointer) -> Int {
        var number: Int32 = 0
        func wait() -> Int {
            var count = Glibc.read(descriptor, piece.baseAddress, piece.count)
            // Whoever started this process may have made the pipe one that does not wait.
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

/// Room for a bounded number of holders, for those who can do without.
final class Slots: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) {
        free = Atomic(count)
    }

    /// Takes a slot where there is one. Relaxed: a count, with which nothing is published.
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

/// Asks every worker to stop at the next opportunity. Set once.
final class StopFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Relaxed: a hint that is read again and again; nothing is published with it.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}

/// Room for one piece of a file. Held by one thread at a time, or by nobody in `spare`.
private final class Piece: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(size: Int) {
        bytes = .allocate(byteCount: size, alignment: 4096)
    }

    deinit {
        bytes.deallocate()
    }
}
