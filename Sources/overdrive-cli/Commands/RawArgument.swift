/// Carries arguments that are not UTF-8 through a parser that knows only `String`.
///
/// Each byte that is no part of valid UTF-8 becomes a scalar of its own at the very end of the last
/// private-use plane, as do the bytes of arguments that hold such scalars to begin with; so every
/// argument comes back as it was.
enum RawArgument {
    private static let base: UInt32 = 0x10_FF00
    private static let escapes = (base + 0x80)...(base + 0xFF)

    /// The string that stands for `bytes`.
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
                // A byte under 0x80 is always valid, so the sum is one of `escapes`.
                scalars.append(Unicode.Scalar(base + UInt32(first)) ?? "\u{FFFD}")
                rest = rest.dropFirst()
            }
        }
        return String(scalars)
    }

    /// The bytes that `text(for:)` was given.
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

    /// This process's arguments without the program's name.
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
