/// CRC-32C for a journal's records. It detects every burst of up to 32 bits, and other errors with a probability of 1
/// - 2⁻³².
package enum Checksum32 {
    /// Eight tables, by which eight bytes are processed at a time.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
            tables[byte] = value
        }
        for byte in 256..<tables.count {
            let before = tables[byte - 256]
            tables[byte] = before >> 8 ^ tables[Int(before & 0xff)]
        }
        return tables
    }()

    /// - Parameter sum: The checksum of the bytes before `bytes`, if there are any.
    package static func of(_ bytes: UnsafeRawBufferPointer, after sum: UInt32 = 0) -> UInt32 {
        unsafe tables.withUnsafeBufferPointer { tables in
            var value = ~sum
            var place = 0
            while bytes.count - place >= 8 {
                let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                let mixed = word ^ UInt64(value)
                value = 0
                for byte in 0..<8 {
                    unsafe value ^= tables[(7 - byte) * 256 + Int(mixed >> UInt64(8 * byte) & 0xff)]
                }
                place += 8
            }
            while place < bytes.count {
                value = unsafe value >> 8 ^ tables[Int((value ^ UInt32(bytes[place])) & 0xff)]
                place += 1
            }
            return ~value
        }
    }
}
