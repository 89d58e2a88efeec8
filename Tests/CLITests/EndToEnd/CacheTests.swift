#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("overdrive checksum --cache")
struct CacheTests {
    private func checksum(_ tree: TemporaryTree, _ arguments: [String] = []) throws -> Command.Outcome {
        try Command.overdrive(
            ["checksum", "--stats", "--cache", "\(tree.path).cache", tree.path] + arguments
        ).run()
    }

    private func bytesRead(_ outcome: Command.Outcome) -> String? {
        outcome.errorLines.first { $0.hasPrefix("bytes ") }?.split(separator: " ").last.map(String.init)
    }

    /// Lets the files become older than the run that reads them: until the file system's clock has gone on.
    private func age(_ tree: TemporaryTree) throws {
        func changedNow() throws -> timespec {
            let probe = "\(tree.path).probe"
            let file = open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(file >= 0)
            defer {
                close(file)
                unlink(probe)
            }
            var status = stat()
            try #require(fstat(file, &status) == 0)
            return status.st_ctim
        }
        let before = try changedNow()
        var now = before
        while now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec {
            usleep(500)
            now = try changedNow()
        }
    }

    @Test("reads nothing of a tree that has not changed, and prints the same")
    func unchanged() throws {
        let tree = try TemporaryTree.odd()
        try age(tree)
        let first = try checksum(tree)
        let second = try checksum(tree)
        #expect(first.output == (try Command.overdrive(["checksum", tree.path]).run().output))
        #expect(second.output == first.output)
        #expect(bytesRead(first) != "0")
        #expect(bytesRead(second) == "0")
        #expect(second.status == 0)
    }

    @Test("reads what was written, replaced or touched since")
    func changed() throws {
        let tree = try TemporaryTree()
        for name in ["a", "b", "c", "d"] { try tree.write(name, "1234567890") }
        try age(tree)
        _ = try checksum(tree)
        try tree.write("b", "0987654321")
        try tree.write("new", "1234567890")
        rename("\(tree.path)/new", "\(tree.path)/c")
        let outcome = try checksum(tree, ["\(tree.path)/gone"])
        #expect(bytesRead(outcome) == "20" && outcome.status == 1)
        #expect(outcome.output == (try Command.overdrive(["checksum", tree.path]).run().output))
        try age(tree)
        _ = try checksum(tree, ["\(tree.path)/gone"])
        #expect(bytesRead(try checksum(tree)) == "0")  // Also what a run has read that could not read all.
    }

    @Test("reads a file again that is not older than the run that read it")
    func racy() throws {
        let tree = try TemporaryTree()
        try tree.write("future", "1234567890")
        let touch = Command("touch", ["-d", "2100-01-01", "\(tree.path)/future"])
        _ = try touch.run()
        try age(tree)
        _ = try checksum(tree)
        #expect(bytesRead(try checksum(tree)) == "10")
        // Nor does its time tell that nobody has written to it since.
        try tree.write("future", "0987654321")
        _ = try touch.run()
        #expect(try checksum(tree).status == 0)
        // Nor is a file known whose status has changed since, though its content is older.
        var status = stat()
        try #require(stat("\(tree.path)/future", &status) == 0)
        (status.st_mtim.tv_sec, status.st_ctim.tv_sec) = (1000, 3000)
        let path = Bytes(ascii: "\(tree.path).other")
        for (now, isCurrent) in [(2000, false), (4000, true)] as [(Int64, Bool)] {
            let cache = try DigestCache(path, now: now * 1_000_000_000)
            cache.add(status, [].withUnsafeBytes { Digest($0) })
            try cache.save()
            #expect((try DigestCache(path, now: 0).find(status) == .current([].withUnsafeBytes { Digest($0) })) == isCurrent)
        }
    }

    @Test(
        "names content that has changed under an unchanged time as damage, again and again, and never takes it over"
    )
    func damage() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "1234567890")
        _ = try Command("touch", ["-d", "2020-01-01", "\(tree.path)/file"]).run()
        try age(tree)
        #expect(try checksum(tree).status == 0)
        try tree.write("file", "1234567891")
        _ = try Command("touch", ["-d", "2020-01-01", "\(tree.path)/file"]).run()
        for _ in 0..<2 {
            let outcome = try checksum(tree)
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("overdrive: \(tree.path)/file: damaged: "))
        }
        // Of another size it was written to, whatever its time says.
        try tree.write("file", "12345678")
        _ = try Command("touch", ["-d", "2020-01-01", "\(tree.path)/file"]).run()
        #expect(try checksum(tree).status == 0)
        // Written anew, it is an update.
        try tree.write("file", "1234567892")
        #expect(try checksum(tree).status == 0)
    }

    @Test("a cache that is none or damaged, or cannot be written, is one sentence")
    func refusals() throws {
        let tree = try TemporaryTree.odd()
        try Command.overdrive(["checksum", "--cache", "\(tree.path)/plain", tree.path]).run().expectRefusal(65)
        let nowhere = try Command.overdrive(["checksum", "--cache", "/proc/cache", "\(tree.path)/plain"]).run()
        #expect(nowhere.status == 74)
        #expect(nowhere.errorLines.count == 1)
        try Command.overdrive(["checksum", "--cache", "x", "--journal", "y", "."]).run().expectRefusal(64)
    }
}
#endif
