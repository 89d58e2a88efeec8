// Owns the note of items under way, which survives a crash. Workers write it around each item; the next run reads it. It
// never counts an item as done.

internal import Glibc
internal import Synchronization

/// Records the items under way in a mapped file that outlives the process. The next run reads it after any kind of
/// end.
///
/// A slot holds the item's index plus one, the thread that runs the item, and the signal that ended the item. Index
/// and signal carry a checksum in the same word, so that one store writes both. The kernel keeps the page after a
/// crash.
@safe final class Flight: Sendable {
    struct Leftover: Equatable {
        var index: Int
        /// The signal that this item caused, or 0.
        var signal: Int
    }

    private static let slotWords = 8  // one cache line for each slot, because each belongs to one worker

    private let path: String?
    private let count: Int
    /// The mapped memory. The holder of a slot writes the slot.
    nonisolated(unsafe) private let words: UnsafeMutablePointer<UInt64>

    /// Creates a record in memory only, for a run without a journal.
    init(slots: Int) {
        path = nil
        count = slots
        let size = slots * Self.slotWords
        unsafe words = .allocate(capacity: size)
        unsafe words.initialize(repeating: 0, count: size)
    }

    init(_ path: String, slots: Int) throws(BatchError) {
        self.path = path
        count = slots
        let size = slots * Self.slotWords * MemoryLayout<UInt64>.size
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw .system(path: path, call: "creation", number: errno) }
        defer { close(descriptor) }
        // Write zeros instead of leaving a hole: on a full disk, a store to a hole would end the process.
        let zeros = [UInt8](repeating: 0, count: size)
        guard unsafe write(descriptor, zeros, size) == size else {
            throw .system(path: path, call: "writing", number: errno)
        }
        let place = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let place = unsafe place, unsafe place != MAP_FAILED else {
            throw .system(path: path, call: "mapping", number: errno)
        }
        unsafe words = place.bindMemory(to: UInt64.self, capacity: size / 8)
    }

    deinit {
        guard path != nil else { return unsafe words.deallocate() }
        unsafe munmap(words, count * Self.slotWords * MemoryLayout<UInt64>.size)
    }

    /// Records that the calling thread runs the items of `slot`.
    func enter(_ slot: Int) {
        unsafe words[slot * Self.slotWords + 1] = UInt64(UInt(bitPattern: Int(bitPattern: pthread_self())))
    }

    /// Records that item `index` runs in `slot`; -1 for none.
    @inline(__always)
    func begin(_ index: Int, slot: Int) {
        unsafe words[slot * Self.slotWords] = index < 0 ? 0 : Self.checked(UInt64(index + 1))
    }

    /// Records that no item runs in `slot`.
    @inline(__always)
    func end(slot: Int) {
        unsafe words[slot * Self.slotWords] = 0
        unsafe words[slot * Self.slotWords + 1] = 0
    }

    func remove() {
        if let path { unsafe unlink(path) }
    }

    /// The items that are running.
    var underWay: [Int] {
        (0..<count).compactMap { slot in
            let word = unsafe words[slot * Self.slotWords]
            return word == 0 ? nil : Int(word & Self.valueMask) - 1
        }
    }

    // MARK: - Reading what a process left

    /// The number of bits for a word's value. The other bits hold the checksum.
    private static let valueBits: UInt64 = 40
    private static let valueMask: UInt64 = 1 << valueBits - 1

    /// Returns `value` with its checksum. Each byte of the value changes one byte of the checksum, and no result is
    /// zero.
    @inline(__always)
    static func checked(_ value: UInt64) -> UInt64 {
        (value ^ value >> 24 ^ 0x5a_17c3) << valueBits | value & valueMask
    }

    /// Returns the records that a process left in a file; none if there is no file.
    ///
    /// - Parameters:
    ///   - isChecked: Whether the words have checksums. Journals of format 1 have none.
    ///   - limit: The number of items.
    /// - Throws: `BatchError.corrupt` for a word that no process wrote. A short file is no error, because a power
    ///   failure may cause it.
    static func read(_ path: String, isChecked: Bool, limit: Int) throws(BatchError) -> [Leftover] {
        guard unsafe access(path, F_OK) == 0 else { return [] }
        let file = try MappedFile(path)
        return try unsafe file.withBytes { (bytes) throws(BatchError) in
            func value(at place: Int) throws(BatchError) -> Int {
                let word = unsafe bytes.load(fromByteOffset: place, as: UInt64.self)
                let value = word & valueMask
                guard word == 0 || word == (isChecked ? checked(value) : value) else {
                    throw .corrupt(
                        file: path, byte: place,
                        remedy: "to continue without the list of unfinished items: mv '\(path)' '\(path).damaged'")
                }
                return Int(value)
            }
            var leftovers: [Leftover] = []
            let stride = slotWords * MemoryLayout<UInt64>.size
            for place in Swift.stride(from: 0, through: bytes.count - stride, by: stride) {
                let index = try value(at: place) - 1
                let signal = try value(at: place + 16)
                // Format 1 has no checksums, so impossible indices and signals are ignored.
                guard (0..<limit).contains(index) else { continue }
                leftovers.append(Leftover(index: index, signal: signal < mostSignals ? signal : 0))
            }
            return leftovers
        }
    }

    // MARK: - The signals of a crash

    private static let crashSignals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP]
    private static let mostSignals = 65
    private static let isWatched = Atomic<Bool>(false)
    private static let watchedWords = Atomic<UInt>(0)
    private static let watchedCount = Atomic<Int>(0)
    /// The previous action of each signal. It is allocated early, because the handler must not allocate.
    nonisolated(unsafe) private static let before = UnsafeMutablePointer<sigaction>.allocate(
        capacity: mostSignals)

    /// Installs handlers that record a crash in the slot of its thread before the crash continues.
    ///
    /// If another run of this process has installed them, crashes of this run count as kills.
    func watch() {
        guard
            Self.isWatched.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
                .exchanged
        else { return }
        Self.watchedCount.store(count, ordering: .relaxed)
        unsafe Self.watchedWords.store(UInt(bitPattern: words), ordering: .releasing)
        for signal in Self.crashSignals {
            var action = sigaction()
            action.sa_flags = Int32(bitPattern: UInt32(SA_NODEFER)) | Int32(SA_ONSTACK)
            unsafe action.__sigaction_handler.sa_handler = { signal in Flight.note(signal) }
            unsafe sigaction(signal, &action, Self.before + Int(signal))
        }
    }

    /// Restores the actions that `watch` found.
    func unwatch() {
        guard unsafe Self.watchedWords.load(ordering: .acquiring) == UInt(bitPattern: words) else { return }
        defer { Self.isWatched.store(false, ordering: .releasing) }
        Self.watchedWords.store(0, ordering: .releasing)
        for signal in Self.crashSignals { unsafe sigaction(signal, Self.before + Int(signal), nil) }
    }

    private static func note(_ signal: Int32) {
        let me = UInt64(UInt(bitPattern: Int(bitPattern: pthread_self())))
        if let words = unsafe UnsafeMutablePointer<UInt64>(bitPattern: watchedWords.load(ordering: .acquiring)) {
            for slot in 0..<watchedCount.load(ordering: .relaxed) where unsafe words[slot * slotWords + 1] == me {
                unsafe words[slot * slotWords + 2] = checked(UInt64(signal))
            }
        }
        // Restores the previous action and raises the signal again, because a signal sent by another process would
        // not repeat.
        unsafe sigaction(signal, before + Int(signal), nil)
        raise(signal)
    }
}
