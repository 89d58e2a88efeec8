// Owns the writing of a journal and the exclusion of other writers. `BatchRun` calls it on one thread. It never
// changes an earlier segment.

internal import Glibc

/// The only writer of a journal. It writes a new segment of the next generation.
///
/// One thread at a time uses it. Appended entries are safe once `commit` has returned.
final class JournalWriter {
    let directory: String
    let contents: JournalContents
    let flight: Flight
    /// The items under way when the last run was killed.
    let leftovers: [Flight.Leftover]
    private let path: String
    private let nextPath: String
    private let file: OpenFile
    private var pending: [UInt8] = []
    /// Whether written bytes may not have reached the disk.
    private var isUnsafe = false
    private var isBroken = false

    /// The time in seconds without a change after which a writer on another machine counts as dead.
    static let defaultPatience = 10.0

    /// Opens the journal in `directory`, or creates one.
    ///
    /// - Parameters:
    ///   - identity: The required identity.
    ///   - wantsOutputs: Whether outputs of earlier runs will be read.
    ///   - slots: The largest number of items under way.
    ///   - host: This machine; another one in tests.
    ///   - locks: Whether to use file locks, which some file systems lack.
    ///   - patience: The time in seconds without a change after which a writer on another machine counts as dead.
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
        // The new segment's name fences off the earlier writer. Therefore it is created before the earlier segment is
        // read.
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
                // A segment without a header would look like an unknown writer.
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
        // Bytes of a killed process may not be on the disk yet. They count from here on, so they are synchronised.
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

    /// Returns the items under way when the last run ended without a final record. A run that wrote and ran nothing
    /// is skipped, and the run before it is examined.
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

    /// Appends a heartbeat for observers on other machines.
    func appendHeartbeat() {
        Segment.append(.heartbeat, [], to: &pending)
    }

    /// Writes the appended entries to the kernel. They survive the process, but not yet the machine.
    ///
    /// - Throws: `BatchError` if the write fails.
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

    /// Writes the appended entries to the disk.
    ///
    /// - Throws: `BatchError` if that fails, or if another process took over. Then the entries do not count, and the
    ///   writer cannot be used further.
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

    /// Writes the final record, so that the next run need not check whether this process lives.
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

    /// Ensures that no process writes to the segment at `path`.
    ///
    /// - Returns: The holder of the segment's lock, which the caller keeps until the next segment exists.
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
        // For this machine the lock is conclusive. A machine that has restarted has no earlier processes.
        if header.host == host && locks || header.host.name == host.name && header.host.boot != host.boot {
            return file
        }
        // A writer on another machine writes a heartbeat each second.
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
