import Testing

@testable import overdrive_cli

@Suite("A line of a checksum list")
struct ChecksumLineTests {
    static let hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

    private func parse(_ line: String) -> ChecksumLine? { ChecksumLine(Array(line.utf8)) }

    private func written(_ name: String) throws -> String {
        var output = Bytes()
        let digest = try #require(Digest(hexadecimal: Array(Self.hex.utf8)))
        ChecksumLine(digest: digest, name: Array(name.utf8)).write(to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test("is the digest, two spaces and the name")
    func plain() throws {
        #expect(try written("some/file") == "\(Self.hex)  some/file\n")
    }

    @Test("escapes backslash, line feed and carriage return, and says so with a backslash")
    func escaped() throws {
        #expect(try written("a\\b\nc\rd") == "\\\(Self.hex)  a\\\\b\\nc\\rd\n")
    }

    @Test(
        "comes back as it was written", arguments: ["x", "a\\b", "\n", "\r\n", "\\n", " x", "*x", "x ", "\\"])
    func roundTrip(name: String) throws {
        let line = try #require(parse(String(try written(name).dropLast())))
        #expect(line.name == Array(name.utf8))
    }

    @Test("is read in every form that sha256sum reads")
    func forms() {
        let upper = Self.hex.uppercased()
        for line in [
            "\(Self.hex)  name", "\(Self.hex) *name", "\(upper)  name", "\(Self.hex) name",
            "  \(Self.hex)  name",
            "SHA256 (name) = \(Self.hex)", "SHA256(name)= \(Self.hex)",
        ] {
            #expect(parse(line)?.name == Array("name".utf8), "\(line)")
        }
        #expect(parse("SHA256 (a) b) = \(Self.hex)")?.name == Array("a) b".utf8))
    }

    @Test("is refused when it is something else")
    func malformed() {
        for line in [
            "", " ", "name", Self.hex, "\(Self.hex) ", "\(Self.hex)name", "\(Self.hex.dropLast())  name",
            "\(Self.hex)0  name", "g\(Self.hex.dropFirst())  name", "\\\(Self.hex)  a\\",
            "\\\(Self.hex)  a\\x",
            "SHA256 (name) = 00", "SHA256 name = \(Self.hex)", "SHA512 (name) = \(Self.hex)", "SHA256 (",
            "XXH3 (name) = \(Self.hex)", "XXH3 (name) = ", "\(Self.hex.prefix(16))  name",
            "\\",
        ] {
            #expect(parse(line) == nil, "\(line)")
        }
    }

    @Test("a verdict escapes a name only for a line feed, as sha256sum does")
    func verdict() {
        var output = Bytes()
        ChecksumLine.writeVerdict("OK", of: Array("a\\b".utf8), to: &output)
        ChecksumLine.writeVerdict("FAILED", of: Array("a\\b\n".utf8), to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "a\\b: OK\n\\a\\\\b\\n: FAILED\n")
    }
}
