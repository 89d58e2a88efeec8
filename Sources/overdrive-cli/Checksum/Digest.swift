/// The algorithm of a digest.
enum Algorithm: String, CaseIterable, Sendable {
    case sha256, sha512, xxh3
    /// Older algorithms, which are checked but not used for new lists.
    case md5, sha1

    /// The algorithms for new lists.
    static let made: [Algorithm] = [.sha256, .sha512, .xxh3]

    /// The length of a digest in bytes.
    var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha512: 64
        case .xxh3: 8
        case .md5: 16
        case .sha1: 20
        }
    }

    /// The name in a line of BSD's form.
    var tag: Bytes { Bytes(ascii: rawValue.uppercased()) }
}

/// A digest and its algorithm.
struct Digest: Hashable, Sendable {
    let algorithm: Algorithm
    private var bytes = SIMD64<UInt8>()

    /// - Parameter bytes: The digest. Bytes beyond the algorithm's length are ignored, and missing ones are zero.
    init(_ bytes: UnsafeRawBufferPointer, _ algorithm: Algorithm = .sha256) {
        self.algorithm = algorithm
        withUnsafeMutableBytes(of: &self.bytes) { place in
            place.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(algorithm.byteCount)))
        }
    }

    /// Parses hexadecimal digits in upper or lower case.
    init?(hexadecimal digits: some Collection<UInt8>, _ algorithm: Algorithm = .sha256) {
        guard digits.count == algorithm.byteCount * 2 else { return nil }
        var bytes = Bytes()
        bytes.reserveCapacity(algorithm.byteCount)
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
        self = bytes.withUnsafeBytes { Digest($0, algorithm) }
    }

    /// Appends lower-case hexadecimal digits.
    func write(to line: inout Bytes) {
        withBytes { bytes in
            for byte in bytes {
                line.append(Self.digit(byte >> 4))
                line.append(Self.digit(byte & 15))
            }
        }
    }

    /// The order of digests of one algorithm, by their bytes.
    func precedes(_ other: Digest) -> Bool {
        withBytes { ours in other.withBytes { ours.lexicographicallyPrecedes($0) } }
    }

    func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeBytes(of: bytes) { body(UnsafeRawBufferPointer(rebasing: $0.prefix(algorithm.byteCount))) }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
