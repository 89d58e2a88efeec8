// Owns the reading of a journal's segments. Runs, `merge` and `status` call it. It never writes.

internal import Glibc

/// The combined content of a journal's segments.
struct JournalContents {
    /// The failures of an item that were recorded.
    struct Tries {
        var crashes = 0
        var suspicions = 0
    }

    var identity: JournalIdentity?
    /// The items that ended with an output or in quarantine.
    var ended: Bitmap
    /// The quarantined ones of these items.
    var quarantined: [Int: (attempts: Int, error: [UInt8])] = [:]
    var tries: [Int: Tries] = [:]
    var doneCount = 0
    /// The items with two output records.
    var doubles: [Int] = []
    /// For each generation: its file, its valid length in bytes, whether it only has a header, and its format.
    var segments: [(generation: Int, path: String, valid: Int, isSilent: Bool, format: Int)] = []
    /// The number of bytes that killed processes had not written completely.
    var cutOff = 0
    /// The last segment's header, and whether its writer ended in order.
    var last: SegmentHeader?
    var endedOrderly = true
    /// The locations of the outputs, if the caller wants outputs.
    private var places = OutputPlaces()
    private var files: [MappedFile] = []

    private init(count: Int) {
        ended = Bitmap(count: count)
    }

    /// Returns the output of an item; nil if it has none.
    func output(of index: Int) -> [UInt8]? {
        places.find(index).map { place in
            let file = files[Int(place.segment)]
            defer { file.noteRead(Int(place.count)) }
            return unsafe file.withBytes { unsafe Array($0[place.offset..<place.offset + Int(place.count)]) }
        }
    }

    /// Reads all segments of the journal in `directory`.
    ///
    /// - Parameters:
    ///   - count: The number of items; nil for the number in the journal.
    ///   - wantsOutputs: Whether `output(of:)` will be called.
    static func read(_ directory: String, count: Int?, wantsOutputs: Bool) throws(BatchError)
        -> JournalContents
    {
        let generations = try JournalDirectory.generations(in: directory)
        var headers: [Int: SegmentHeader] = [:]
        var mapped: [(generation: Int, path: String, file: MappedFile)] = []
        for generation in generations {
            let path = JournalDirectory.segment(generation, in: directory)
            let file = try MappedFile(path)
            mapped.append((generation, path, file))
            headers[generation] = try header(of: file, path)
        }
        // The newest header that mentions a generation decides its length.
        var sealed: [Int: Int] = [:]
        for generation in generations { sealed.merge(headers[generation]?.sealed ?? [:]) { $1 } }

        let identity = generations.compactMap { headers[$0]?.identity }.first
        var contents = JournalContents(count: count ?? identity?.count ?? 0)
        contents.identity = identity
        contents.last = generations.last.flatMap { headers[$0] }
        for (generation, path, file) in mapped {
            try contents.add(
                generation, path, file, sealed: sealed[generation], wantsOutputs: wantsOutputs,
                format: headers[generation]?.format ?? SegmentHeader.currentFormat)
            if let identity, let other = headers[generation]?.identity,
                let difference = other.difference(from: identity)
            {
                throw .foreign(journal: path, difference: difference)
            }
        }
        contents.places.sort()
        return contents
    }

    private static func header(of file: MappedFile, _ path: String) throws(BatchError) -> SegmentHeader? {
        // Only the first record is read here. Later damage is found when the whole segment is read.
        var header: SegmentHeader?
        var format: Int?
        var isFirst = true
        unsafe file.withBytes { bytes in
            let start = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(Segment.lengthOfFirst(bytes)))
            _ = try? unsafe Segment.read(start, of: path, sealed: nil) { (kind, payload) throws(BatchError) in
                if isFirst, kind == .header {
                    header = unsafe SegmentHeader(start[payload])
                    format = unsafe SegmentHeader.format(of: start[payload])
                }
                isFirst = false
            }
        }
        if header == nil, let format {
            throw .foreign(
                journal: path,
                difference: "it has format \(format), and this version reads formats 1 to \(SegmentHeader.currentFormat)")
        }
        return header
    }

    private mutating func add(
        _ generation: Int, _ path: String, _ file: MappedFile, sealed: Int?, wantsOutputs: Bool, format: Int
    ) throws(BatchError) {
        files.append(file)
        let segment = files.count - 1
        var isFirst = true
        var sawEnd = false
        var isSilent = true
        let limit = ended.count
        var copy = self
        // Records are read into a copy, because the closure cannot change `self`.
        self = JournalContents(count: 0)
        let size = unsafe file.withBytes(unsafe \.count)
        let valid = try unsafe file.withBytes { (all) throws(BatchError) in
            try unsafe Segment.read(all, of: path, sealed: sealed, isBehind: file.release(before:)) { (kind, payload) throws(BatchError) in
                func damage() -> BatchError {
                    .corrupt(
                        file: path, byte: payload.lowerBound,
                        remedy: "it was written by another program: name another journal")
                }
                if isFirst != (kind == .header) { throw damage() }
                isFirst = false
                if kind == .end { sawEnd = true }
                if kind != .header { isSilent = false }
                guard kind == .entries else { return }
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: all[payload])
                var reader = unsafe EntryReader(bytes)
                while reader.place < bytes.count {
                    guard let entry = reader.next(), (0..<limit).contains(entry.index) else { throw damage() }
                    unsafe copy.note(
                        entry.index, entry.kind, entry.attempts, bytes[entry.bytes],
                        at: wantsOutputs
                            ? OutputPlaces.Place(
                                index: entry.index, offset: payload.lowerBound + entry.bytes.lowerBound,
                                count: UInt32(entry.bytes.count), segment: UInt32(segment))
                            : nil)
                }
            }
        }
        self = copy
        segments.append((generation, path, valid, isSilent, format))
        if sealed == nil { cutOff += size - valid }
        endedOrderly = sawEnd
    }

    private mutating func note(
        _ index: Int, _ kind: Entry.Kind, _ attempts: Int, _ bytes: Slice<UnsafeRawBufferPointer>,
        at place: OutputPlaces.Place?
    ) {
        switch kind {
        case .output:
            if quarantined.removeValue(forKey: index) == nil, !ended.insert(index) {
                doubles.append(index)
                return
            }
            doneCount += 1
            if let place { places.append(place) }
        case .quarantined:
            // If the item was given up again, the last error counts.
            guard ended.insert(index) || quarantined[index] != nil else { return }
            quarantined[index] = unsafe (attempts, Array(bytes))
        case .crashed: tries[index, default: Tries()].crashes += 1
        case .underWay: tries[index, default: Tries()].suspicions += 1
        }
    }
}

/// The locations of outputs in 24 bytes each, because there may be millions.
struct OutputPlaces {
    struct Place {
        var index: Int
        var offset: Int
        var count: UInt32
        var segment: UInt32
    }

    private var places: [Place] = []
    private var isSorted = true

    /// Adds the location of an output. Call it once for each item.
    mutating func append(_ place: Place) {
        if let last = places.last, last.index > place.index { isSorted = false }
        places.append(place)
    }

    /// Call once after the last `append`, before `find`.
    mutating func sort() {
        if !isSorted { places.sort { $0.index < $1.index } }
        isSorted = true
    }

    func find(_ index: Int) -> Place? {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].index < index { low = middle + 1 } else { high = middle }
        }
        return low < places.count && places[low].index == index ? places[low] : nil
    }
}

/// A set of item indices.
struct Bitmap: Sendable {
    let count: Int
    private var words: [UInt64]

    init(count: Int) {
        self.count = count
        words = [UInt64](repeating: 0, count: (count + 63) / 64)
    }

    func contains(_ index: Int) -> Bool {
        words[index >> 6] >> UInt64(index & 63) & 1 == 1
    }

    /// Inserts `index`. Returns whether it was absent.
    mutating func insert(_ index: Int) -> Bool {
        let bit = UInt64(1) << UInt64(index & 63)
        defer { words[index >> 6] |= bit }
        return words[index >> 6] & bit == 0
    }

    mutating func remove(_ index: Int) {
        words[index >> 6] &= ~(1 << UInt64(index & 63))
    }
}

/// The paths of a journal's files.
enum JournalDirectory {
    static func segment(_ generation: Int, in directory: String) -> String {
        "\(directory)/\(name(generation)).journal"
    }

    static func flight(_ generation: Int, in directory: String) -> String {
        "\(directory)/\(name(generation)).flight"
    }

    /// Returns the directory of a shard's journal, inside the job's journal.
    static func shard(_ shard: Shard, in directory: String) -> String {
        shard.count == 1 ? directory : "\(directory)/shard-\(padded(shard.index))-of-\(padded(shard.count))"
    }

    /// Returns the existing generations, the oldest first.
    static func generations(in directory: String) throws(BatchError) -> [Int] {
        try names(in: directory).compactMap { name in
            guard name.hasSuffix(".journal") else { return nil }
            return Int(name.dropLast(".journal".count))
        }.sorted()
    }

    /// Returns the journals of the shards in `directory`, in order.
    static func shards(in directory: String) throws(BatchError) -> [String] {
        try names(in: directory).filter { $0.hasPrefix("shard-") }.sorted().map { "\(directory)/\($0)" }
    }

    /// Returns the total number of shards according to each shard's journal in `directory`.
    static func shardCounts(in directory: String) throws(BatchError) -> [Int] {
        try shards(in: directory).compactMap { path in path.split(separator: "-").last.flatMap { Int($0) } }
    }

    private static func names(in directory: String) throws(BatchError) -> [String] {
        guard let stream = unsafe opendir(directory) else {
            if errno == ENOENT { throw .noJournal(directory) }
            throw .system(path: directory, call: "opening", number: errno)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            guard let field = unsafe entry.pointer(to: \.d_name) else { continue }
            unsafe names.append(String(cString: UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self)))
        }
        return names
    }

    private static func name(_ generation: Int) -> String { padded(generation, 6) }

    private static func padded(_ number: Int, _ width: Int = 5) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
