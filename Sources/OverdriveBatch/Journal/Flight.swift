internal import Glibc
internal import Synchronization

/// Which items are under way, in a file that outlives the process: whatever ends it, the next run knows.
///
/// A slot holds the item's index and one more, the thread that runs the item, and the signal that the item died of.
/// Index and signal carry a check in the same word, so one store writes both; the kernel keeps the page.
@safe final class Flight: Sendable {
    struct Leftover: Equatable {
        var index: Int
        /// The signal that this very item was the cause of, or 0.
        var signal: Int
    }

    private static let slotWords = 8  // A cache line each, as every worker has its own.

    private let path: String?
    private let count: Int
    /// Mapped for as long as this lives; each slot is written by who holds it.
    nonisolated(unsafe) private let words: UnsafeMutablePointer<UInt64>

    /// Without a file: for a run that nobody resumes.
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
        // Zeros that are written, not a hole: storing to a hole of a full disk ends the process.
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

    /// Notes that the calling thread begins to run items of `slot`.
    func enter(_ slot: Int) {
        unsafe words[slot * Self.slotWords + 1] = UInt64(UInt(bitPattern: Int(bitPattern: pthread_self())))
    }

    /// Notes that `index` runs in `slot`; -1: that nothing does for now.
    @inline(__always)
    func begin(_ index: Int, slot: Int) {
        unsafe words[slot * Self.slotWords] = index < 0 ? 0 : Self.checked(UInt64(index + 1))
    }

    /// Notes that nothing runs in `slot`.
    @inline(__always)
    func end(slot: Int) {
        unsafe words[slot * Self.slotWords] = 0
        unsafe words[slot * Self.slotWords + 1] = 0
    }

    func remove() {
        if let path { unsafe unlink(path) }
    }

    /// The items that run now.
    var underWay: [Int] {
        (0..<count).compactMap { slot in
            let word = unsafe words[slot * Self.slotWords]
            return word == 0 ? nil : Int(word & Self.valueMask) - 1
        }
    }

    // MARK: - Reading what a process left

    /// The bits of a word that hold its value; the others hold the check.
    private static let valueBits: UInt64 = 40
    private static let valueMask: UInt64 = 1 << valueBits - 1

    /// `value` with its check. Each byte of the value changes one byte of the check, and no checked word is zero.
    @inline(__always)
    static func checked(_ value: UInt64) -> UInt64 {
        (value ^ value >> 24 ^ 0x5a_17c3) << valueBits | value & valueMask
    }

    /// The notes that a process left in the file at `path`; none if there is no file.
    ///
    /// - Parameters:
    ///   - isChecked: Whether the words carry checks: a journal of the first format has none.
    ///   - limit: The number of items.
    /// - Throws: `BatchError.corrupt` for a word that no process wrote. A file that ends early is no damage: a power
    ///   failure may leave it so.
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
                // The first format has no checks: an index or a signal that cannot be says nothing.
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
    /// What was to be done at each signal before, for the handler: it must not allocate.
    nonisolated(unsafe) private static let before = UnsafeMutablePointer<sigaction>.allocate(
        capacity: mostSignals)

    /// Has a crash noted in the slot whose thread it happens on, before it takes its course.
    ///
    /// Where another run of this process is watched already, this one's crashes are told like kills.
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

    /// Puts things back as `watch` found them.
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
        // As before, and once more: a fault comes again by itself, what was sent does not.
        unsafe sigaction(signal, before + Int(signal), nil)
        raise(signal)
    }
}
