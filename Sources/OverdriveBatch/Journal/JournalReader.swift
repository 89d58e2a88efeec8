internal import Glibc

/// What the segments of a journal say, taken together.
struct JournalContents {
    /// What is known of an item that was tried.
    struct Tries {
        var crashes = 0
        var suspicions = 0
    }

    var identity: JournalIdentity?
    /// Items that ended, whether well or in quarantine, by their indices.
    var ended: Bitmap
    /// Of those, the ones in quarantine.
    var quarantined: [Int: (attempts: Int, error: [UInt8])] = [:]
    var tries: [Int: Tries] = [:]
    var doneCount = 0
    /// Items that two records say are done.
    var doubles: [Int] = []
    /// Each generation, its file, how many of its bytes count, whether it has no record but its header, and its format.
    var segments: [(generation: Int, path: String, valid: Int, isSilent: Bool, format: Int)] = []
    /// Bytes that a killed process had not written to their end.
    var cutOff = 0
    /// The last segment's header, and whether its writer came to an end.
    var last: SegmentHeader?
    var endedOrderly = true
    /// Where each output stands, when that was asked for.
    private var places = OutputPlaces()
    private var files: [MappedFile] = []

    private init(count: Int) {
        ended = Bitmap(count: count)
    }

    /// The output of an item that is done; nil for one that is not.
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
    ///   - count: How many items there are; nil takes the number that the journal says.
    ///   - wantsOutputs: Whether `output(of:)` will be asked.
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
        // The newest header that speaks of a generation has the last word on it.
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
        // Only the first record is looked at; damage further on is found when all is read.
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
        // The records are read into a copy, which is this value again: a closure cannot change `self`.
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
            // Given up once more: what its last attempt threw counts.
            guard ended.insert(index) || quarantined[index] != nil else { return }
            quarantined[index] = unsafe (attempts, Array(bytes))
        case .crashed: tries[index, default: Tries()].crashes += 1
        case .underWay: tries[index, default: Tries()].suspicions += 1
        }
    }
}

/// Where outputs stand: 24 bytes an item, as there may be millions.
struct OutputPlaces {
    struct Place {
        var index: Int
        var offset: Int
        var count: UInt32
        var segment: UInt32
    }

    private var places: [Place] = []
    private var isSorted = true

    /// Adds the place of an output. Each item is added once.
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

/// Whether each of a number of items is in a set.
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

    /// Puts `index` in; whether it was not in there.
    mutating func insert(_ index: Int) -> Bool {
        let bit = UInt64(1) << UInt64(index & 63)
        defer { words[index >> 6] |= bit }
        return words[index >> 6] & bit == 0
    }

    mutating func remove(_ index: Int) {
        words[index >> 6] &= ~(1 << UInt64(index & 63))
    }
}

/// Where the files of a journal are.
enum JournalDirectory {
    static func segment(_ generation: Int, in directory: String) -> String {
        "\(directory)/\(name(generation)).journal"
    }

    static func flight(_ generation: Int, in directory: String) -> String {
        "\(directory)/\(name(generation)).flight"
    }

    /// A journal of a shard stands within that of the job.
    static func shard(_ shard: Shard, in directory: String) -> String {
        shard.count == 1 ? directory : "\(directory)/shard-\(padded(shard.index))-of-\(padded(shard.count))"
    }

    /// The generations that there are, the oldest first.
    static func generations(in directory: String) throws(BatchError) -> [Int] {
        try names(in: directory).compactMap { name in
            guard name.hasSuffix(".journal") else { return nil }
            return Int(name.dropLast(".journal".count))
        }.sorted()
    }

    /// The journals of shards in `directory`, in order.
    static func shards(in directory: String) throws(BatchError) -> [String] {
        try names(in: directory).filter { $0.hasPrefix("shard-") }.sorted().map { "\(directory)/\($0)" }
    }

    /// How many parts the job has, once for each part that has a journal in `directory`.
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
