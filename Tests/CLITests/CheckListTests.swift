import Glibc
import Testing

@testable import overdrive_cli

@Suite("Reading lines")
struct LineReaderTests {
    private func lines(of text: [UInt8]) throws -> [String] {
        let file = try Scratch.file()
        try #require(write(file, text, text.count) == text.count)
        lseek(file, 0, SEEK_SET)
        let reader = LineReader(descriptor: file)
        var lines: [String] = []
        while case .success(let line?) = reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        return lines
    }

    @Test("ends a line at a line feed, with or without a carriage return, and at the file's end")
    func ends() throws {
        #expect(try lines(of: Array("a\nb\r\n\n\rc\r\r\nd".utf8)) == ["a", "b", "", "\rc\r", "d"])
        #expect(try lines(of: []) == [])
        #expect(try lines(of: Array("\n".utf8)) == [""])
    }

    @Test("takes lines longer than its buffer, and many of them")
    func long() throws {
        let long = String(repeating: "x", count: 200_000)
        #expect(try lines(of: Array("a\n\(long)\nb\n\(long)".utf8)) == ["a", long, "b", long])
        let many = (0..<30_000).map { "line \($0)" }
        #expect(try lines(of: Array(many.joined(separator: "\n").utf8)) == many)
    }

    @Test("says why it cannot read")
    func failure() {
        let reader = LineReader(descriptor: open("/", O_RDONLY))
        guard case .failure(let error) = reader.next() else {
            Issue.record("a directory was read")
            return
        }
        #expect(error.number == EISDIR)
    }
}

@Suite("The verdict on a list")
struct CheckVerdictTests {
    @Test("counts in the words of sha256sum")
    func words() {
        #expect(CheckVerdict().warnings == [])
        #expect(
            CheckVerdict(mismatches: 1, unreadable: 1, malformed: 1).warnings == [
                "1 line is improperly formatted", "1 listed file could not be read",
                "1 computed checksum did NOT match",
            ])
        #expect(
            CheckVerdict(mismatches: 2, unreadable: 3, malformed: 4).warnings == [
                "4 lines are improperly formatted", "3 listed files could not be read",
                "2 computed checksums did NOT match",
            ])
    }
}
