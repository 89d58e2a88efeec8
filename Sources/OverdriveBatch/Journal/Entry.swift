/// A statement of the journal about one item.
struct Entry: Equatable {
    enum Kind: UInt8 {
        /// The item succeeded; the bytes are its output.
        case output
        /// The item has no attempt left; the bytes are its last error.
        case quarantined
        /// The process ended by a fault of this item.
        case crashed
        /// The process was killed while this item ran. The item may not be the cause.
        case underWay
    }

    var index: Int
    var kind: Kind
    var attempts: Int
    var bytes: [UInt8]
}

/// Encodes entries of a record. Each index is stored as the difference from the one before.
struct EntryWriter {
    private(set) var bytes: [UInt8] = []
    private var last = 0
    private(set) var count = 0

    mutating func append(index: Int, kind: Entry.Kind, attempts: Int, bytes output: [UInt8]) {
        let distance = index &- last
        last = index
        count += 1
        append(UInt64(bitPattern: Int64((distance &<< 1) ^ (distance &>> 63))))
        append(UInt64(attempts) << 2 | UInt64(kind.rawValue))
        append(UInt64(output.count))
        bytes += output
    }

    /// Returns the encoded entries and starts again.
    mutating func take() -> [UInt8] {
        defer {
            bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 20)
            last = 0
            count = 0
        }
        return bytes
    }

    private mutating func append(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Decodes the entries of an `EntryWriter`.
@safe struct EntryReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var place = 0
    private var last = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
    }

    /// Returns the next entry and the range of its bytes; nil at the end or for invalid bytes.
    mutating func next() -> (index: Int, kind: Entry.Kind, attempts: Int, bytes: Range<Int>)? {
        guard let distance = number(), let tag = number(), let length = number(),
            let kind = Entry.Kind(rawValue: UInt8(tag & 3)), unsafe length <= UInt64(bytes.count - place)
        else { return nil }
        last = last &+ (Int(truncatingIfNeeded: distance >> 1) ^ -Int(truncatingIfNeeded: distance & 1))
        let range = place..<place + Int(length)
        place = range.upperBound
        return (last, kind, Int(truncatingIfNeeded: tag >> 2), range)
    }

    private mutating func number() -> UInt64? {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while unsafe place < bytes.count, shift < 64 {
            let byte = unsafe bytes[place]
            place += 1
            result |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return result }
            shift += 7
        }
        return nil
    }
}
