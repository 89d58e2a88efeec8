/// Instructions that a program executed, by where they stand: the output of
/// `valgrind --tool=callgrind --dump-instr=yes`.
struct Callgrind {
    /// Executions by object file and address in it.
    private(set) var executions: [String: [UInt64: Int]] = [:]

    var instructions: Int { executions.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// Takes the file's text apart. Lines after `calls=` are what the callee cost, and count nothing here.
    init(_ text: String) {
        var names: [Substring: String] = [:]
        var (object, address, isCall) = ("", UInt64(0), false)
        var own: [UInt64: Int] = [:]
        for line in text.split(separator: "\n") {
            guard let first = line.utf8.first else { continue }
            switch first {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "*"):
                let words = line.split(separator: " ")
                guard let place = words.first else { continue }
                if place.hasPrefix("+") {
                    address &+= UInt64(place.dropFirst()) ?? 0
                } else if place.hasPrefix("-") {
                    address &-= UInt64(place.dropFirst()) ?? 0
                } else if place.hasPrefix("0x") {
                    address = UInt64(place.dropFirst(2), radix: 16) ?? 0
                }
                if !isCall, words.count > 2 { own[address, default: 0] += Int(words[2]) ?? 0 }
                isCall = false
            case UInt8(ascii: "c") where line.hasPrefix("calls="):
                isCall = true
            case UInt8(ascii: "c") where line.hasPrefix("cob="):
                _ = Callgrind.name(line.dropFirst(4), &names)
            case UInt8(ascii: "o") where line.hasPrefix("ob="):
                executions[object, default: [:]].merge(own, uniquingKeysWith: +)
                own = [:]
                object = Callgrind.name(line.dropFirst(3), &names)
            default:
                break
            }
        }
        executions[object, default: [:]].merge(own, uniquingKeysWith: +)
    }

    /// "(3) /usr/lib/…" the first time that an object is named, by whoever names it, then "(3)".
    private static func name(_ text: Substring, _ names: inout [Substring: String]) -> String {
        let number = text.prefix { $0 != " " }
        if number.count < text.count { names[number] = String(text.dropFirst(number.count + 1)) }
        return names[number] ?? ""
    }

    /// Executed instructions that lock the bus or fence: read from the objects' own code.
    func locked(in read: (String) -> [UInt8]) -> Int {
        executions.reduce(0) { sum, object in
            let code = Code(elf: read(object.key))
            return sum + object.value.reduce(0) { $0 + (code.isLocked(at: $1.key) ? $1.value : 0) }
        }
    }
}

/// The loadable bytes of an ELF file for x86-64, by address.
struct Code {
    private struct Segment {
        let address, size, offset: Int
    }

    private let bytes: [UInt8]
    private var segments: [Segment] = []

    init(elf bytes: [UInt8]) {
        self.bytes = bytes
        func number(_ at: Int, _ count: Int) -> Int {
            guard at + count <= bytes.count else { return 0 }
            return (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
        }
        guard bytes.count > 64, bytes.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]) else { return }
        let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2))
        for index in 0..<count {
            let header = start + index * size
            guard number(header, 4) == 1 else { continue }  // PT_LOAD
            segments.append(Segment(address: number(header + 16, 8), size: number(header + 32, 8), offset: number(header + 8, 8)))
        }
    }

    /// Whether the instruction there has a lock prefix, exchanges with memory, or is a full fence.
    func isLocked(at address: UInt64) -> Bool {
        let address = Int(truncatingIfNeeded: address)
        guard let segment = segments.first(where: { $0.address <= address && address < $0.address + $0.size }) else { return false }
        var at = segment.offset + address - segment.address
        func byte(_ distance: Int) -> UInt8 { at + distance < bytes.count ? bytes[at + distance] : 0 }
        while [0x66, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0].contains(byte(0)) {
            if byte(0) == 0xf0 { return true }
            at += 1
        }
        if byte(0) & 0xf0 == 0x40 { at += 1 }  // REX
        if byte(0) == 0x86 || byte(0) == 0x87 { return byte(1) < 0xc0 }  // xchg with memory
        return byte(0) == 0x0f && byte(1) == 0xae && byte(2) & 0xf8 == 0xf0  // mfence
    }
}
