/// Linux does not guarantee that file names are UTF-8, so names are bytes.
typealias Bytes = [UInt8]

extension UInt8 {
    static var slash: UInt8 { UInt8(ascii: "/") }
}

extension Bytes {
    init(ascii string: String) {
        self = Array(string.utf8)
    }

    /// The bytes for a message: control characters become octal escapes.
    var printable: Bytes {
        guard contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return self }
        var result = Bytes()
        for byte in self {
            if byte >= 0x20 && byte != 0x7f {
                result.append(byte)
            } else {
                let digits = String(byte, radix: 8)
                result += Bytes(ascii: "\\" + String(repeating: "0", count: 3 - digits.count) + digits)
            }
        }
        return result
    }

    /// Calls `body` with these bytes as a C string, which ends at the first zero byte.
    func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        let string = [CChar](unsafeUninitializedCapacity: count + 1) { place, used in
            for index in indices { place.initializeElement(at: index, to: CChar(bitPattern: self[index])) }
            place.initializeElement(at: count, to: 0)
            used = count + 1
        }
        return body(string)
    }
}
