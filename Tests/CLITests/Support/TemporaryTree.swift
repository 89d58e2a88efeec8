import Glibc
import Testing

@testable import overdrive_cli

extension Command.Outcome {
    /// Expects one sentence, which has `words`, the code, and nothing else.
    func expectRefusal(
        _ code: Int32, saying words: String = "overdrive: ", of arguments: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let isSentence = errorLines.count == 1 && errors.hasPrefix("overdrive: ") && errors.contains(words)
        let told = "\(arguments) \(status): \(errors)\(text)"
        #expect(status == code && isSentence && output == [], "\(told)", sourceLocation: sourceLocation)
    }
}

/// A directory of files that goes with the test.
final class TemporaryTree {
    let path: String

    init() throws {
        var template = Array("/tmp/overdrive-tree-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        // rm goes as deep as it must, and past the kernel's limit on paths. What lies beside the tree, under names that
        // begin like its own, goes too.
        _ = try? Command("sh", ["-c", "rm -rf \"$0\"*", path]).run()
    }

    /// The command under test, called in the tree; `input` is a file of the tree.
    func overdrive(_ arguments: [String], input: String? = nil) -> Command {
        var command = Command.overdrive(arguments)
        command.directory = path
        if let input { command.input = .file("\(path)/\(input)", flags: O_RDONLY) }
        return command
    }

    /// Runs a shell's commands in the tree.
    func shell(_ script: String) throws -> Command.Outcome {
        var command = Command("bash", ["-c", script])
        command.directory = path
        return try command.run()
    }

    /// Writes a file, and the directories above it.
    func write(_ name: String, _ contents: String = "", mode: mode_t = 0o666) throws {
        try write(Array(name.utf8), Array(contents.utf8), mode: mode)
    }

    func write(_ name: [UInt8], _ contents: [UInt8], mode: mode_t = 0o666) throws {
        let full = Array(path.utf8) + [UInt8(ascii: "/")] + name
        for slash in full.indices.dropFirst() where full[slash] == UInt8(ascii: "/") {
            _ = Bytes(full[..<slash]).withCString { mkdir($0, 0o777) }
        }
        let file = full.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode) }
        try #require(file >= 0)
        defer { close(file) }
        try #require(Glibc.write(file, contents, contents.count) == contents.count)
    }

    func makeDirectory(_ name: String) throws {
        try #require(mkdir("\(path)/\(name)", 0o777) == 0)
    }

    func link(_ name: String, to target: String) throws {
        try #require(symlink(target, "\(path)/\(name)") == 0)
    }

    /// A tree with every kind of thing in it that is hard to list or to order.
    static func odd() throws -> TemporaryTree {
        let tree = try TemporaryTree()
        for name in [
            "plain", "with space", "a/b", "a.txt", "a-b", "a0", "a/b.c/d", "a/b.c/e", "back\\slash",
            "line\nfeed",
            "return\rhere", "\\n", "-dash", "*star", " leading", "trailing ", "ünïcödé", "\t", "'", "\"", "#",
            "deep/er/and/deep/er/still", "empty", "nested/empty",
        ] {
            try tree.write(name, name.contains("empty") ? "" : "contents of \(name)")
        }
        try tree.write([0xff, 0xfe, UInt8(ascii: "/"), 0x80], Array("bytes".utf8))
        try tree.write([0xc3, 0x28], Array("more bytes".utf8))
        for size in [1, 63, 64, 65, 127_999, 128 * 1024, 128 * 1024 + 1, 1_000_003] {
            try tree.write(
                Array("sizes/\(size)".utf8), (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        }
        try tree.makeDirectory("no files")
        try tree.link("link to file", to: "plain")
        try tree.link("link to directory", to: "a")
        try tree.link("loop", to: ".")
        try tree.link("dangling", to: "nowhere")
        try #require(mkfifo("\(tree.path)/pipe", 0o666) == 0)
        return tree
    }
}
