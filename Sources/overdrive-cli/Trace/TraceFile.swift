/// The events of a trace that the engine wrote, in the order of the file.
///
/// The numbers of fields are those of `CScheduler/observe/perfetto.c`. A file that breaks off is read as far as it has whole packets.
struct TraceFile {
    enum Kind: UInt64 { case begin = 1, end, instant }

    struct Event {
        var time: UInt64 = 0
        var track: UInt64 = 0
        var kind = Kind.instant
        /// The number of its name in ``names``; -1 for an end.
        var name = -1
        var isScheduler = false
        /// The arrow that begins or ends here; 0 for none.
        var flow: UInt64 = 0
        var endsFlow = false
        var notes: [(name: String, number: UInt64)] = []
    }

    private struct Sequence {
        var track: UInt64 = 0
        var names: [UInt64: Int] = [:]
        var schedulerCategory: UInt64 = 0
    }

    private(set) var names: [String] = []
    private(set) var program = "", process: UInt64 = 0
    /// The names of threads by their tracks.
    private(set) var threads: [UInt64: String] = [:]
    /// The kernel's numbers of threads by their tracks.
    private(set) var threadNumbers: [UInt64: UInt64] = [:]
    private(set) var isTrace = false
    /// Whether the writer says that events are missing before a packet.
    private(set) var hasLoss = false
    private var firstTime: UInt64?
    private var numbers: [String: Int] = [:]
    private var sequences: [UInt64: Sequence] = [:]

    /// Whether the file begins as the engine's traces do.
    static func isTrace(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var file = Fields(bytes), trace = TraceFile()
        guard let field = file.next(), field.number == 1, let packet = field.bytes else { return false }
        _ = trace.read(packet: packet)
        return trace.isTrace
    }

    /// Calls `body` with each event.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (Event, TraceFile) -> Void) {
        var file = Fields(bytes)
        while let field = file.next(), field.number == 1, let packet = field.bytes {
            guard var event = read(packet: packet) else { continue }
            event.time = bounded(event.time)
            body(event, self)
        }
    }

    /// Returns a time that sums and differences may use, also if the file is damaged: at most 52 days after the first one.
    private mutating func bounded(_ time: UInt64) -> UInt64 {
        let first = firstTime ?? min(time, 1 << 62)
        firstTime = first
        return first + min(time - min(first, time), 1 << 52)
    }

    private mutating func read(packet: UnsafeRawBufferPointer) -> Event? {
        var event = Event(), body: UnsafeRawBufferPointer?
        var sequence: UInt64 = 0, isCleared = false
        var fields = Fields(packet), interned: UnsafeRawBufferPointer?, defaults: UnsafeRawBufferPointer?
        while let field = fields.next() {
            switch field.number {
            case 6: isTrace = true
            case 8: event.time = field.value
            case 10: sequence = field.value
            case 11: body = field.bytes
            case 12: interned = field.bytes
            case 13: isCleared = field.value & 1 != 0
            case 42: hasLoss = true
            case 59: defaults = field.bytes
            case 60: if let descriptor = field.bytes { describe(descriptor) }
            default: break
            }
        }
        if isCleared { sequences[sequence] = Sequence() }
        if let defaults, let own = Fields.first(11, in: defaults)?.bytes {
            sequences[sequence]?.track = Fields.first(11, in: own)?.value ?? 0
        }
        if let interned { intern(interned, on: sequence) }
        guard let body, let known = sequences[sequence] else { return nil }
        event.track = known.track
        return fill(event, from: body, known)
    }

    private func fill(_ event: Event, from body: UnsafeRawBufferPointer, _ sequence: Sequence) -> Event? {
        var event = event, fields = Fields(body)
        while let field = fields.next() {
            switch field.number {
            case 3: event.isScheduler = field.value == sequence.schedulerCategory
            case 4:
                if let note = field.bytes, let name = Fields.first(10, in: note)?.bytes {
                    event.notes.append((String(decoding: name, as: UTF8.self), Fields.first(3, in: note)?.value ?? 0))
                }
            case 9:
                guard let kind = Kind(rawValue: field.value) else { return nil }
                event.kind = kind
            case 10: event.name = sequence.names[field.value] ?? -1
            case 47, 48:
                event.flow = field.value
                event.endsFlow = field.number == 48
            default: break
            }
        }
        return event
    }

    private mutating func intern(_ data: UnsafeRawBufferPointer, on sequence: UInt64) {
        var fields = Fields(data)
        while let field = fields.next() {
            guard let entry = field.bytes, let number = Fields.first(1, in: entry)?.value,
                let bytes = Fields.first(2, in: entry)?.bytes
            else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            if field.number == 1, text == "scheduler" { sequences[sequence]?.schedulerCategory = number }
            if field.number == 2 {
                let name = self.number(of: text)
                sequences[sequence]?.names[number] = name
            }
        }
    }

    /// The number of a name, which it keeps.
    mutating func number(of text: String) -> Int {
        if let number = numbers[text] { return number }
        numbers[text] = names.count
        names.append(text)
        return names.count - 1
    }

    private mutating func describe(_ descriptor: UnsafeRawBufferPointer) {
        guard let track = Fields.first(1, in: descriptor)?.value else { return }
        if let process = Fields.first(3, in: descriptor)?.bytes {
            self.process = Fields.first(1, in: process)?.value ?? 0
            program = Fields.first(6, in: process)?.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        if let thread = Fields.first(4, in: descriptor)?.bytes {
            threadNumbers[track] = Fields.first(2, in: thread)?.value ?? 0
            threads[track] = Fields.first(5, in: thread)?.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}

/// The fields of one protobuf message, one after another. A field that breaks off is the end.
private struct Fields {
    struct Field {
        let number: UInt64
        let value: UInt64
        let bytes: UnsafeRawBufferPointer?
    }

    private let message: UnsafeRawBufferPointer
    private var at = 0

    init(_ message: UnsafeRawBufferPointer) { self.message = message }

    static func first(_ number: UInt64, in message: UnsafeRawBufferPointer) -> Field? {
        var fields = Fields(message)
        while let field = fields.next() { if field.number == number { return field } }
        return nil
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0, shift: UInt64 = 0
        while at < message.count, shift < 64 {
            let byte = message[at]
            at += 1
            value |= UInt64(byte & 127) << shift
            if byte < 128 { return value }
            shift += 7
        }
        return nil
    }

    mutating func next() -> Field? {
        guard let key = varint() else { return nil }
        switch key & 7 {
        case 0: return varint().map { Field(number: key >> 3, value: $0, bytes: nil) }
        case 1:
            guard message.count - at >= 8 else { return nil }
            at += 8
            return Field(number: key >> 3, value: message.loadUnaligned(fromByteOffset: at - 8, as: UInt64.self), bytes: nil)
        case 2:
            guard let size = varint(), size <= UInt64(message.count - at) else { return nil }
            let start = at
            at += Int(size)
            return Field(number: key >> 3, value: 0, bytes: UnsafeRawBufferPointer(rebasing: message[start..<at]))
        default: return nil
        }
    }
}
