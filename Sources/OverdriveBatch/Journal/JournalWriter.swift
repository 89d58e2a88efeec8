internal import Glibc

/// The one writer of a journal: a segment of its own, of the generation after the last.
///
/// Used by one thread at a time. What was appended is safe once `commit` has returned, and not before.
final class JournalWriter {
    let directory: String
    let contents: JournalContents
    let flight: Flight
    /// The items that the last run had under way when it was killed.
    let leftovers: [Flight.Leftover]
    private let path: String
    private let nextPath: String
    private let file: OpenFile
    private var pending: [UInt8] = []
    /// Whether something was written that may not have reached the disk.
    private var isUnsafe = false
    private var isBroken = false

    /// How long a journal of another machine must lie still before its writer counts as dead, in seconds.
    static let defaultPatience = 10.0

    /// Opens the journal in `directory`, and makes it where there is none.
    ///
    /// - Parameters:
    ///   - identity: What it must be a journal of.
    ///   - wantsOutputs: Whether outputs of earlier runs will be asked for.
    ///   - slots: How many items may be under way at a time.
    ///   - host: Where this runs; another one in tests.
    ///   - locks: Whether the file system's own locks are asked, which not every one has.
    ///   - patience: Seconds that a segment of another machine must lie still.
    init(
        _ directory: String, identity: JournalIdentity, wantsOutputs: Bool, slots: Int, host: Host = .current,
        locks: Bool = true, patience: Double = JournalWriter.defaultPatience
    ) throws(BatchError) {
        guard Folder.make(directory) else {
            throw .system(path: directory, call: "creation", number: errno)
        }
        let before = try JournalDirectory.generations(in: directory)
        var earlier: OpenFile?
        if let last = before.last {
            earlier = try Self.waitForEnd(
                of: JournalDirectory.segment(last, in: directory), host: host, locks: locks,
                patience: patience)
        }
        defer { withExtendedLifetime(earlier) {} }

        let generation = (before.last ?? 0) + 1
        let path = JournalDirectory.segment(generation, in: directory)
        self.path = path
        nextPath = JournalDirectory.segment(generation + 1, in: directory)
        self.directory = directory
        // The new segment's name is what fences the old one's writer off, so it comes before the old one is read.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw .locked(journal: directory, owner: "which has just started") }
            throw .system(path: path, call: "creation", number: errno)
        }
        file = OpenFile(descriptor)
        let flightPath = JournalDirectory.flight(generation, in: directory)
        var isGood = false
        defer {
            if !isGood {
                // A segment without a header would stand for a writer that nobody can ask.
                unsafe unlink(path)
                unsafe unlink(flightPath)
            }
        }
        if locks { _ = flock(descriptor, LOCK_EX | LOCK_NB) }

        var found = try JournalContents.read(directory, count: nil, wantsOutputs: false)
        if let other = found.identity, let difference = other.difference(from: identity) {
            throw .foreign(journal: directory, difference: difference)
        }
        found = try JournalContents.read(directory, count: identity.count, wantsOutputs: wantsOutputs)
        found.segments.removeAll { $0.generation == generation }
        found.endedOrderly = found.segments.isEmpty ? true : try Self.endedOrderly(directory, before)
        // What a killed process wrote may not be on the disk yet, and counts from here on.
        for segment in found.segments {
            try Self.synchronise(segment: JournalDirectory.segment(segment.generation, in: directory))
        }
        contents = found
        leftovers = try Self.leftovers(found, in: directory)
        flight = try Flight(flightPath, slots: slots)
        let header = SegmentHeader(
            identity: identity, host: host, process: Int(getpid()),
            sealed: Dictionary(uniqueKeysWithValues: found.segments.map { ($0.generation, $0.valid) }))
        Segment.append(.header, header.text, to: &pending)
        try commit()
        Folder.synchronise(above: Array(path.utf8))
        isGood = true
    }

    /// What the last run had under way when it ended without an orderly end. One that ended before it wrote anything, and
    /// ran nothing, has said nothing of the one before it.
    private static func leftovers(_ contents: JournalContents, in directory: String) throws(BatchError)
        -> [Flight.Leftover]
    {
        guard !contents.endedOrderly else { return [] }
        for segment in contents.segments.reversed() {
            let path = JournalDirectory.flight(segment.generation, in: directory)
            let found = try Flight.read(path, isChecked: segment.format > 1, limit: contents.ended.count)
                .filter { !contents.ended.contains($0.index) }
            if !found.isEmpty || !segment.isSilent { return found }
        }
        return []
    }

    func append(_ entries: [UInt8]) {
        guard !entries.isEmpty else { return }
        Segment.append(.entries, entries, to: &pending)
    }

    /// Says that this process lives, for those who watch the file from another machine.
    func appendHeartbeat() {
        Segment.append(.heartbeat, [], to: &pending)
    }

    /// Hands all that was appended to the kernel: it outlives this process, though not yet the machine.
    ///
    /// - Throws: When that failed.
    func write() throws(BatchError) {
        guard !isBroken else { throw .fenced(journal: directory) }
        guard !pending.isEmpty else { return }
        isUnsafe = true
        var rest = pending[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file.descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                isBroken = true
                throw .system(path: path, call: "writing", number: errno)
            }
            rest = rest.dropFirst(count)
        }
        pending.removeAll(keepingCapacity: pending.capacity < 4 << 20)
    }

    /// Puts all that was appended on the disk.
    ///
    /// - Throws: When that failed or another process took over: then none of it counts, and there is no way on.
    func commit() throws(BatchError) {
        try write()
        guard isUnsafe else { return }
        guard fdatasync(file.descriptor) == 0 else {
            isBroken = true
            throw .system(path: path, call: "writing to the disk", number: errno)
        }
        isUnsafe = false
        guard unsafe access(nextPath, F_OK) != 0 else {
            isBroken = true
            throw .fenced(journal: directory)
        }
    }

    /// The last record: who comes next need not ask whether this process lives.
    func end() throws(BatchError) {
        Segment.append(.end, [], to: &pending)
        try commit()
        flight.remove()
    }

    // MARK: - The writer before

    private static func endedOrderly(_ directory: String, _ generations: [Int]) throws(BatchError) -> Bool {
        guard let last = generations.last else { return true }
        let path = JournalDirectory.segment(last, in: directory)
        return try owner(of: path).ended
    }

    /// Makes sure that nobody writes to the segment at `path` any more.
    ///
    /// - Returns: What holds the segment's lock, for as long as the next one is not made.
    private static func waitForEnd(
        of path: String, host: Host, locks: Bool, patience: Double
    ) throws(BatchError) -> OpenFile {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path: path, call: "opening", number: errno) }
        let file = OpenFile(descriptor)
        let owner = try owner(of: path)
        if locks, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            let name =
                owner.header.map { "process \($0.process) on \($0.host.name)" } ?? "which has just started"
            throw .locked(journal: path, owner: name)
        }
        guard !owner.ended, let header = owner.header else { return file }
        // Of this machine the lock tells; a machine that was started anew has no process of before.
        if header.host == host && locks || header.host.name == host.name && header.host.boot != host.boot {
            return file
        }
        // Of another machine: its writer leaves a sign of life each second.
        func size() -> Int {
            var status = stat()
            return unsafe stat(path, &status) == 0 ? Int(status.st_size) : -1
        }
        let first = size()
        var waited = 0.0
        while waited < patience {
            usleep(200_000)
            waited += 0.2
            if size() != first {
                throw .locked(journal: path, owner: "process \(header.process) on \(header.host.name)")
            }
        }
        return file
    }

    private static func owner(of path: String) throws(BatchError) -> (header: SegmentHeader?, ended: Bool) {
        let file = try MappedFile(path)
        var header: SegmentHeader?
        var ended = false
        try unsafe file.withBytes { (bytes) throws(BatchError) in
            _ = try unsafe Segment.read(bytes, of: path, sealed: nil, isBehind: file.release(before:)) { (kind, payload) throws(BatchError) in
                if kind == .header { header = unsafe SegmentHeader(bytes[payload]) }
                ended = kind == .end
            }
        }
        return (header, ended)
    }

    private static func synchronise(segment path: String) throws(BatchError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path: path, call: "opening", number: errno) }
        defer { close(descriptor) }
        guard fdatasync(descriptor) == 0 else { throw .system(path: path, call: "writing to the disk", number: errno) }
    }
}
