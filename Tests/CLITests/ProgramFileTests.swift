import Testing

@testable import overdrive_cli

@Suite("A program's file")
struct ProgramFileTests {
    /// A 64-bit file with one program header of that type and, where there is a name, sections.
    private func image(programHeader: UInt32, sections: [(name: String, content: [UInt8])] = []) -> [UInt8] {
        func little<T: FixedWidthInteger>(_ number: T) -> [UInt8] {
            withUnsafeBytes(of: number.littleEndian, Array.init)
        }
        var names: [UInt8] = [0], contents: [UInt8] = [], headers: [UInt8] = []
        let all = sections + [(".shstrtab", [])]
        let namesStart = 64 + 56, contentsStart = namesStart + 256
        for (name, content) in all {
            let isNames = name == ".shstrtab"
            headers += little(UInt32(names.count)) + [UInt8](repeating: 0, count: 20)
            headers += little(UInt64(isNames ? namesStart : contentsStart + contents.count))
            headers += little(UInt64(isNames ? 256 : content.count)) + [UInt8](repeating: 0, count: 24)
            names += Array(name.utf8) + [0]
            contents += content
        }
        var file: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1] + [UInt8](repeating: 0, count: 26)
        file += little(UInt64(64)) + little(UInt64(contentsStart + contents.count))
        file += [UInt8](repeating: 0, count: 6) + little(UInt16(56)) + little(UInt16(1)) + little(UInt16(64))
        file += little(UInt16(all.count)) + little(UInt16(all.count - 1))
        file += little(programHeader) + [UInt8](repeating: 0, count: 52)
        file += names + [UInt8](repeating: 0, count: 256 - names.count) + contents + headers
        return file
    }

    private func judge(_ image: [UInt8]) -> ProgramFile {
        image.withUnsafeBytes { ProgramFile(image: $0) }
    }

    private let interpreter: UInt32 = 3, load: UInt32 = 1
    private let swift = (name: "swift5_protocols", content: [UInt8](repeating: 0, count: 8))
    private let needsSwift = (name: ".dynstr", content: Array("\0libswiftCore.so\0libc.so.6\0".utf8))

    @Test("is told by its headers")
    func kinds() {
        #expect(judge(image(programHeader: interpreter)) == .dynamic)
        #expect(judge(image(programHeader: interpreter, sections: [swift, needsSwift])) == .dynamic)
        #expect(judge(image(programHeader: interpreter, sections: [swift, (".dynstr", Array("\0libc.so.6\0".utf8))])) == .staticRuntime)
        #expect(judge(image(programHeader: load)) == .fullyStatic)
        #expect(judge(Array("#!/bin/sh\n".utf8)) == .other)
        #expect(judge([]) == .other)
    }

    @Test("is this one, with the libraries it needs")
    func ourselves() {
        #expect(ProgramFile(path: Bytes(ascii: "/proc/self/exe")) == .dynamic)
        #expect(ProgramFile(path: Bytes(ascii: "/nowhere/at/all")) == nil)
    }

    @Test("harms nobody, wherever it breaks off or whichever byte is wrong")
    func broken() {
        let whole = image(programHeader: interpreter, sections: [swift, needsSwift])
        for count in whole.indices { _ = judge(Array(whole.prefix(count))) }
        for index in whole.indices {
            for wrong in [0xff, 0x80, 0x01] as [UInt8] {
                var bytes = whole
                bytes[index] = wrong
                _ = judge(bytes)
            }
        }
    }

    @Test("that cannot be started, or without the library, is a sentence")
    func sentences() throws {
        let outcome = try Command.overdrive(["preload", "--library", "/etc/hostname", "--", "/nowhere/at/all"]).run()
        #expect(outcome.errors == "overdrive: /nowhere/at/all cannot be started: No such file or directory\n")
        #expect(outcome.status == 71)
        let missing = try Command.overdrive(["preload", "--library", "/nowhere.so", "--", "ls"]).run()
        #expect(missing.errors == "overdrive: /nowhere.so cannot be read: build it with scripts/build-preload\n")
        let tree = try TemporaryTree()
        try tree.write("a b.so")
        try tree.write("bin/tool", "", mode: 0o644)
        let spaced = try tree.overdrive(["preload", "--library", "a b.so", "--", "ls"]).run()
        #expect(spaced.errors.hasPrefix("overdrive: a b.so has a space or a colon in its path") && spaced.status == 71)
        var unknown = Command.overdrive(["preload", "--library", "/etc/hostname", "--", "tool"])
        unknown.environment = ["PATH=\(tree.path)/bin"]
        #expect(try unknown.run().errors == "overdrive: tool: no such program was found\n")
        var beside = Command.overdrive(["preload", "--library", "/etc/hostname", "--", "sh", "-c", "echo $LD_PRELOAD"])
        beside.environment = ["LD_PRELOAD=/nowhere.so"]
        #expect(try beside.run().text == "/etc/hostname:/nowhere.so\n")
    }
}
