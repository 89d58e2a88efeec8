/// What a journal says of one item.
struct Entry: Equatable {
    enum Kind: UInt8 {
        /// It ended; the bytes are its output.
        case output
        /// It failed as often as it may; the bytes are the last error, and it is not tried again.
        case quarantined
        /// The process ended by a fault of this very item.
        case crashed
        /// The process was killed while this item ran, which may be no fault of the item's.
        case underWay
    }

    var index: Int
    var kind: Kind
    var attempts: Int
    var bytes: [UInt8]
}

/// Entries in a row, as a record holds them: each index as its distance to the one before.
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

    /// What was appended so far, which this holds no longer.
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

/// Reads what an `EntryWriter` wrote.
@safe struct EntryReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var place = 0
    private var last = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
    }

    /// The next entry and where its bytes stand; nil at the end, or where it makes no sense.
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
