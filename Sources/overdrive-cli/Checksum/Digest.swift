/// A SHA-256 digest.
struct Digest: Equatable, Sendable {
    static let byteCount = 32

    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// - Parameter bytes: 32 bytes; further ones are ignored, missing ones count as zero.
    init(_ bytes: UnsafeRawBufferPointer) {
        words = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words) { place in
            place.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.byteCount)))
        }
    }

    /// Reads 64 hexadecimal digits of either case.
    init?(hexadecimal digits: some Collection<UInt8>) {
        guard digits.count == Self.byteCount * 2 else { return nil }
        var bytes = Bytes()
        bytes.reserveCapacity(Self.byteCount)
        var high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self = bytes.withUnsafeBytes { Digest($0) }
    }

    /// Appends 64 small hexadecimal digits.
    func write(to line: inout Bytes) {
        withUnsafeBytes(of: words) { bytes in
            for byte in bytes {
                line.append(Self.digit(byte >> 4))
                line.append(Self.digit(byte & 15))
            }
        }
    }

    func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeBytes(of: words, body)
    }

    static func == (left: Digest, right: Digest) -> Bool {
        left.words == right.words
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
