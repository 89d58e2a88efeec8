internal import Glibc

/// Whether a library can be preloaded into a program, according to its file.
enum ProgramFile: Equatable {
    /// The program loads libraries, and contains no Swift runtime.
    case dynamic
    /// The program loads no library.
    case fullyStatic
    /// The program loads libraries, but contains a Swift runtime.
    case staticRuntime
    /// The file is a script or another file that another program runs.
    case other

    /// The reason why the preloaded library has no effect on the program; nil if it may have one.
    var obstacle: String? {
        switch self {
        case .dynamic, .other: nil
        case .fullyStatic: "is fully static, so nothing can be preloaded: its tasks do not run on Overdrive"
        case .staticRuntime:
            "was linked with -static-stdlib, so its Swift runtime cannot be reached: its tasks do not run on Overdrive"
        }
    }

    /// Reads the file's headers; nil if the file cannot be read.
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

    /// Examines a file in memory. A truncated or inconsistent file is not judged.
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

/// The headers of a 64-bit little-endian ELF file.
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
        /// Returns the offsets of a table's entries.
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

    /// Returns whether a section with that name contains the word as one of its strings.
    func contains(_ word: String, in name: String) -> Bool {
        guard let section = sections.first(where: { $0.name == name }) else { return false }
        return image[section.range].split(separator: 0).contains { $0.elementsEqual(word.utf8) }
    }
}
