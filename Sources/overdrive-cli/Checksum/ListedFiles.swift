/// The names and digests of a list, in a hash table. A file takes about 20 bytes besides its name and digest.
struct ListedFiles {
    /// The algorithm of all digests.
    private(set) var algorithm: Algorithm?
    private(set) var count = 0
    private var names = Bytes()
    /// The end offset of each name.
    private var ends: [Int] = []
    private var digests = Bytes()
    private var isMet: [Bool] = []
    /// File indices plus one, by the hash of the name; 0 is free. At most half of the table is in use.
    private var table = [UInt32](repeating: 0, count: 1024)

    /// Adds a file; a repeated name gets the new digest. Returns false for a digest of another algorithm.
    mutating func add(_ name: Bytes, _ digest: Digest) -> Bool {
        guard algorithm == nil || algorithm == digest.algorithm else { return false }
        algorithm = digest.algorithm
        if let place = place(of: name) {
            digest.withBytes { bytes in
                digests.replaceSubrange(place * bytes.count..<(place + 1) * bytes.count, with: bytes)
            }
            return true
        }
        names += name
        ends.append(names.count)
        digest.withBytes { digests.append(contentsOf: $0) }
        isMet.append(false)
        count += 1
        if count * 2 > table.count { grow() } else { table[slot(of: name)] = UInt32(count) }
        return true
    }

    func place(of name: Bytes) -> Int? {
        let found = table[slot(of: name)]
        return found == 0 ? nil : Int(found) - 1
    }

    func name(_ place: Int) -> Bytes { Bytes(names[range(place)]) }

    func digest(_ place: Int) -> Digest {
        let algorithm = algorithm ?? .sha256
        let size = algorithm.byteCount
        return digests.withUnsafeBytes {
            Digest(UnsafeRawBufferPointer(rebasing: $0[place * size..<(place + 1) * size]), algorithm)
        }
    }

    mutating func meet(_ place: Int) { isMet[place] = true }

    /// The indices of files that were not found in the tree.
    var unmet: some Sequence<Int> { (0..<count).lazy.filter { !isMet[$0] } }

    private func range(_ place: Int) -> Range<Int> { (place == 0 ? 0 : ends[place - 1])..<ends[place] }

    /// Returns the slot that contains `name`, or the free slot for it.
    private func slot(of name: Bytes) -> Int {
        var hasher = Hasher()
        name.withUnsafeBytes { hasher.combine(bytes: $0) }
        var slot = hasher.finalize() & (table.count - 1)
        while table[slot] != 0, !names[range(Int(table[slot]) - 1)].elementsEqual(name) {
            slot = (slot + 1) & (table.count - 1)
        }
        return slot
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: table.count * 2)
        for place in 0..<count { table[slot(of: name(place))] = UInt32(place + 1) }
    }
}
