/// Writes a trace as JSON in Chrome's format: an object whose `traceEvents` are in the order of the trace.
///
/// A submission with an arrow becomes a slice without length, because an arrow of this format begins in a slice.
struct TraceChrome {
    private let write: (Bytes) -> Void
    private var depths: [UInt64: Int] = [:]
    private var last: UInt64 = 0
    private var isFirst = true

    init(write: @escaping (Bytes) -> Void) { self.write = write }

    mutating func convert(_ bytes: UnsafeRawBufferPointer) {
        var file = TraceFile()
        write(Bytes(ascii: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"))
        file.read(bytes) { event, file in add(event, file) }
        // A trace that breaks off has open slices, which end at its last event.
        for (track, depth) in depths where depth > 0 {
            for _ in 0..<depth { put("E", track, file) }
        }
        write(Bytes(ascii: "\n]}\n"))
    }

    private mutating func add(_ event: TraceFile.Event, _ file: TraceFile) {
        last = max(last, event.time)
        if depths[event.track] == nil { describe(event.track, file) }
        let name = event.name >= 0 ? file.names[event.name] : ""
        let category = event.isScheduler ? "scheduler" : "closure"
        switch event.kind {
        case .begin:
            depths[event.track, default: 0] += 1
            put("B", event.track, file, name, category)
            if event.flow != 0 { put("f", event.track, file, "submission", "arrow", more: ",\"bp\":\"e\"" + Self.arrow(event)) }
        case .end:
            guard depths[event.track, default: 0] > 0 else { return }  // The file is damaged.
            depths[event.track, default: 0] -= 1
            put("E", event.track, file)
        case .instant where event.flow != 0:
            put("X", event.track, file, name, category, more: ",\"dur\":0")
            put("s", event.track, file, "submission", "arrow", more: Self.arrow(event))
        case .instant:
            var notes = ""
            for note in event.notes { notes += (notes.isEmpty ? "" : ",") + Self.quoted(note.name) + ":\(note.number)" }
            put("i", event.track, file, name, category, more: ",\"s\":\"t\",\"args\":{\(notes)}")
        }
    }

    private static func arrow(_ event: TraceFile.Event) -> String { ",\"id\":\"\(String(event.flow, radix: 16))\"" }

    /// Names the thread before its first event, and the process before the first thread.
    private mutating func describe(_ track: UInt64, _ file: TraceFile) {
        depths[track] = 0
        if isFirst { put("M", track, file, "process_name", "", more: ",\"args\":{\"name\":\(Self.quoted(file.program))}") }
        guard let name = file.threads[track] else { return }
        put("M", track, file, "thread_name", "", more: ",\"args\":{\"name\":\(Self.quoted(name))}")
    }

    private mutating func put(
        _ phase: String, _ track: UInt64, _ file: TraceFile, _ name: String? = nil, _ category: String = "", more: String = ""
    ) {
        let thread = file.threadNumbers[track] ?? file.process, rest = String(last % 1000)
        let time = "\(last / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
        var text = "\(isFirst ? "" : ",\n"){\"ph\":\"\(phase)\",\"ts\":\(time),\"pid\":\(file.process),\"tid\":\(thread)"
        if let name { text += ",\"name\":\(Self.quoted(name)),\"cat\":\"\(category)\"" }
        isFirst = false
        write(Bytes((text + more + "}").utf8))
    }

    private static func quoted(_ text: String) -> String {
        var bytes = Bytes()
        JSONLine.quote(Bytes(text.utf8), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
