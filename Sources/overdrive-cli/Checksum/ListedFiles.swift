/// Names with their digests, in the order in which they were added.
///
/// They lie in pieces: one array would be copied as it grows, and twice the room would stay in use.
struct PackedFiles {
    private static let namesInPiece = 1 << 12
    /// All digests are of one algorithm.
    private(set) var algorithm: Algorithm?
    private(set) var count = 0
    private var names: [Bytes] = []
    private var digests: [Bytes] = []
    /// Where each name ends in its piece.
    private var ends: [UInt32] = []

    /// Adds a file; false for a digest of another algorithm.
    mutating func append(_ name: some Collection<UInt8>, _ digest: Digest) -> Bool {
        guard algorithm == nil || algorithm == digest.algorithm else { return false }
        algorithm = digest.algorithm
        if count % Self.namesInPiece == 0 {
            names.append([])
            digests.append([])
            digests[digests.count - 1].reserveCapacity(Self.namesInPiece * digest.algorithm.byteCount)
        }
        names[names.count - 1] += name
        ends.append(UInt32(names[names.count - 1].count))
        digest.withBytes { digests[digests.count - 1].append(contentsOf: $0) }
        count += 1
        return true
    }

    func name(_ place: Int) -> ArraySlice<UInt8> {
        let start = place % Self.namesInPiece == 0 ? 0 : Int(ends[place - 1])
        return names[place / Self.namesInPiece][start..<Int(ends[place])]
    }

    func digest(_ place: Int) -> Digest {
        digests[place / Self.namesInPiece].withUnsafeBytes {
            Digest(UnsafeRawBufferPointer(rebasing: $0[range(place)]), algorithm ?? .sha256)
        }
    }

    /// Gives a file another digest, of the same algorithm.
    mutating func setDigest(_ digest: Digest, at place: Int) {
        digest.withBytes { digests[place / Self.namesInPiece].replaceSubrange(range(place), with: $0) }
    }

    private func range(_ place: Int) -> Range<Int> {
        let size = (algorithm ?? .sha256).byteCount
        let start = place % Self.namesInPiece * size
        return start..<start + size
    }
}

/// The names and digests of a list, found by name: about 15 bytes a file beside the name and the digest.
struct ListedFiles {
    private var files = PackedFiles()
    private var isMet: [Bool] = []
    /// File indices plus one, by the hash of the name; 0 is free. At most half of the table is in use.
    private var table = [UInt32](repeating: 0, count: 1024)

    /// All digests are of one algorithm.
    var algorithm: Algorithm? { files.algorithm }
    var count: Int { files.count }

    /// Adds a file; a repeated name gets the new digest. Returns false for a digest of another algorithm.
    mutating func add(_ name: Bytes, _ digest: Digest) -> Bool {
        guard algorithm == nil || algorithm == digest.algorithm else { return false }
        if let place = place(of: name) {
            files.setDigest(digest, at: place)
            return true
        }
        _ = files.append(name, digest)
        isMet.append(false)
        if count * 2 > table.count { grow() } else { table[slot(of: name)] = UInt32(count) }
        return true
    }

    func place(of name: Bytes) -> Int? {
        let found = table[slot(of: name)]
        return found == 0 ? nil : Int(found) - 1
    }

    func name(_ place: Int) -> ArraySlice<UInt8> { files.name(place) }

    func digest(_ place: Int) -> Digest { files.digest(place) }

    mutating func meet(_ place: Int) { isMet[place] = true }

    /// The indices of files that were not found in the tree.
    var unmet: some Sequence<Int> { (0..<count).lazy.filter { !isMet[$0] } }

    /// Returns the slot that contains `name`, or the free slot for it.
    private func slot(of name: some Collection<UInt8>) -> Int {
        var hasher = Hasher()
        _ = name.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        var slot = hasher.finalize() & (table.count - 1)
        while table[slot] != 0, !files.name(Int(table[slot]) - 1).elementsEqual(name) {
            slot = (slot + 1) & (table.count - 1)
        }
        return slot
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: table.count * 2)
        for place in 0..<count { table[slot(of: files.name(place))] = UInt32(place + 1) }
    }
}
