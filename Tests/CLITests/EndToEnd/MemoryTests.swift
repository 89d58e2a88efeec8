#if CLI
import Glibc
import Testing

@testable import overdrive_cli

@Suite("Memory")
struct MemoryTests {
    /// The most memory that a run took, in bytes.
    private func peak(_ engine: String, _ path: String) throws -> Int {
        let outcome = try Command.overdrive(["checksum", "--stats", "--engine", engine, path]).run()
        #expect(outcome.status == 0)
        let line = try #require(outcome.errorLines.first { $0.hasPrefix("peak memory") })
        let words = line.split(separator: " ")
        let number = try #require(Double(words[2]))
        return Int(number * (words[3] == "GB" ? 1e9 : words[3] == "MB" ? 1e6 : 1e3))
    }

    @Test("does not grow with the tree: fifty times the files take 12 MB more at most")
    func bounded() throws {
        let tree = try TemporaryTree()
        try tree.write("one", "x")
        // Links to one file are quick to make, and as many names to list, open and order as files.
        for (size, directories) in [("small", 10), ("large", 500)] {
            try tree.makeDirectory(size)
            for directory in 0..<directories {
                try tree.makeDirectory("\(size)/\(directory)")
                for file in 0..<100 {
                    let name = "\(tree.path)/\(size)/\(directory)/\(file) with a name of ordinary length"
                    try #require(link("\(tree.path)/one", name) == 0)
                }
            }
        }
        for engine in ChecksumTests.engines {
            let small = try peak(engine, "\(tree.path)/small")
            let large = try peak(engine, "\(tree.path)/large")
            #expect(large - small < 12_000_000, "\(engine): \(small) and \(large) bytes")
        }
    }
}
#endif
