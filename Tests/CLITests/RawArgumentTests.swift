import Testing

@testable import overdrive_cli

@Suite("Arguments")
struct RawArgumentTests {
    @Test("come back byte for byte, whatever the bytes are")
    func roundTrip() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...12)).map { _ in UInt8.random(in: 1...255, using: &generator) }
            #expect(RawArgument.bytes(for: RawArgument.text(for: bytes)) == bytes, "\(bytes)")
        }
    }

    @Test("that are UTF-8 stay as they are", arguments: ["", "a", "--jobs=3", "ünïcödé", "👩‍👩‍👧", "e\u{301}"])
    func utf8(text: String) {
        #expect(Array(RawArgument.text(for: Array(text.utf8)).utf8) == Array(text.utf8))
    }

    @Test("with the scalars that carry odd bytes come back too")
    func escapes() {
        for scalar in ["\u{10FF80}", "\u{10FFFF}", "\u{10FF7F}", "a\u{10FFFE}b"] {
            let bytes = Array(scalar.utf8)
            #expect(RawArgument.bytes(for: RawArgument.text(for: bytes)) == bytes)
        }
    }
}

@Suite("Names in messages")
struct PrintableTests {
    @Test("cannot control the terminal")
    func controls() {
        let name = Bytes(ascii: "a\u{1B}[2Jb\nc\u{7F}")
        #expect(name.printable == Bytes(ascii: "a\\033[2Jb\\012c\\177"))
        #expect(Bytes(ascii: "plain ü").printable == Bytes(ascii: "plain ü"))
    }
}
