internal import Glibc

/// What a program's file says of whether a library can be preloaded into it.
enum ProgramFile: Equatable {
    /// It loads libraries, and Swift's concurrency runtime comes as one of them, or not at all.
    case dynamic
    /// It loads no library.
    case fullyStatic
    /// It loads libraries, but has a Swift runtime of its own inside.
    case staticRuntime
    /// A script, or something else that another program runs.
    case other

    /// Why the preloaded library does not reach the program, in a sentence about it; nil where it may.
    var obstacle: String? {
        switch self {
        case .dynamic, .other: nil
        case .fullyStatic: "is fully static, so nothing can be preloaded: its tasks do not run on Overdrive"
        case .staticRuntime:
            "was linked with -static-stdlib, so its Swift runtime cannot be reached: its tasks do not run on Overdrive"
        }
    }

    /// Reads the file's headers; nil where it cannot be read.
    init?(path: Bytes) {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0,
            let start = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED
        else { return nil }
        defer { munmap(start, Int(status.st_size)) }
        self.init(image: UnsafeRawBufferPointer(start: start, count: Int(status.st_size)))
    }

    /// The same of a file in memory. One that breaks off or contradicts itself is none of ours to judge.
    init(image: UnsafeRawBufferPointer) {
        let elf = ELF(image)
        guard let elf else {
            self = .other
            return
        }
        if !elf.hasInterpreter {
            self = .fullyStatic
        } else if elf.sections.contains(where: { $0.name.hasPrefix("swift5_") })
            && !elf.contains("libswiftCore.so", in: ".dynstr")
        {
            self = .staticRuntime
        } else {
            self = .dynamic
        }
    }
}

/// A 64-bit little-endian ELF file, as far as its headers go.
private struct ELF {
    struct Section {
        let name: String
        let range: Range<Int>
    }

    private let image: UnsafeRawBufferPointer
    let hasInterpreter: Bool
    let sections: [Section]

    init?(_ image: UnsafeRawBufferPointer) {
        guard image.count >= 64, image.prefix(6).elementsEqual([0x7f, 0x45, 0x4c, 0x46, 2, 1]) else { return nil }
        self.image = image
        func number<T: FixedWidthInteger>(at offset: Int, as type: T.Type) -> Int? {
            guard offset >= 0, offset <= image.count - MemoryLayout<T>.size else { return nil }
            return Int(exactly: T(littleEndian: image.loadUnaligned(fromByteOffset: offset, as: T.self)))
        }
        /// Where each of a table's entries begins.
        func table(at place: Int, size: Int, count: Int) -> [Int] {
            guard let start = number(at: place, as: UInt64.self), let size = number(at: size, as: UInt16.self),
                let count = number(at: count, as: UInt16.self), start <= image.count
            else { return [] }
            return (0..<count).map { start + $0 * size }.filter { $0 + size <= image.count }
        }
        let interpreter = 3
        hasInterpreter = table(at: 32, size: 54, count: 56).contains {
            number(at: $0, as: UInt32.self) == interpreter
        }
        let headers = table(at: 40, size: 58, count: 60)
        guard let index = number(at: 62, as: UInt16.self), headers.indices.contains(index),
            let names = number(at: headers[index] + 24, as: UInt64.self)
        else {
            sections = []
            return
        }
        sections = headers.compactMap { header in
            guard let name = number(at: header, as: UInt32.self), let start = number(at: header + 24, as: UInt64.self),
                let size = number(at: header + 32, as: UInt64.self), start <= image.count, size <= image.count - start,
                names + name < image.count
            else { return nil }
            let text = image[(names + name)...].prefix(64).prefix { $0 != 0 }
            return Section(name: String(decoding: text, as: UTF8.self), range: start..<start + size)
        }
    }

    /// Whether a section of that name holds the word, as one of its strings.
    func contains(_ word: String, in name: String) -> Bool {
        guard let section = sections.first(where: { $0.name == name }) else { return false }
        return image[section.range].split(separator: 0).contains { $0.elementsEqual(word.utf8) }
    }
}
