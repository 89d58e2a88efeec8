/// Passes arguments that are not UTF-8 through a parser that accepts only `String`.
///
/// Each byte outside valid UTF-8 becomes a scalar at the end of the last private-use plane. The same is done for
/// bytes of arguments that already contain these scalars. Every argument can thus be restored.
enum RawArgument {
    private static let base: UInt32 = 0x10_FF00
    private static let escapes = (base + 0x80)...(base + 0xFF)

    /// Returns the string that represents `bytes`.
    static func text(for bytes: Bytes) -> String {
        var scalars = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            if let piece = String(validating: rest.prefix(length), as: UTF8.self),
                let scalar = piece.unicodeScalars.first,
                piece.unicodeScalars.count == 1, !escapes.contains(scalar.value)
            {
                scalars.append(scalar)
                rest = rest.dropFirst(length)
            } else {
                // Bytes below 0x80 are always valid, so the sum is in `escapes`.
                scalars.append(Unicode.Scalar(base + UInt32(first)) ?? "\u{FFFD}")
                rest = rest.dropFirst()
            }
        }
        return String(scalars)
    }

    /// Returns the bytes that were passed to `text(for:)`.
    static func bytes(for text: String) -> Bytes {
        var bytes = Bytes()
        for scalar in text.unicodeScalars {
            if escapes.contains(scalar.value) {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes += Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return bytes
    }

    /// The process's arguments without the program's name.
    static var ofProcess: [String] {
        CommandLine.unsafeArgv.withMemoryRebound(to: UnsafeMutablePointer<CChar>?.self, capacity: 1) { argv in
            (1..<max(1, Int(CommandLine.argc))).compactMap { index in
                argv[index].map { argument in
                    text(
                        for: UnsafePointer(argument).withMemoryRebound(to: UInt8.self, capacity: 1) { first in
                            Array(UnsafeBufferPointer(start: first, count: length(of: first)))
                        })
                }
            }
        }
    }

    private static func length(of string: UnsafePointer<UInt8>) -> Int {
        var length = 0
        while string[length] != 0 { length += 1 }
        return length
    }
}
