/// Tells from an event's name what the event means, once for each name.
struct TraceNames {
    enum Meaning {
        case parked, blocked, bench, branch
        case closure(Int), submit(Int), cancel(Int), suspend(Int), resume(Int)
        case timer, ends, other
    }

    /// The labels by their numbers. Control characters are escaped.
    private(set) var labels: [String] = []
    private var numbers: [String: Int] = [:]
    private var slices: [Meaning?] = [], instants: [Meaning?] = []

    mutating func number(of label: String) -> Int {
        if let number = numbers[label] { return number }
        numbers[label] = labels.count
        labels.append(String(decoding: Bytes(label.utf8).printable, as: UTF8.self))
        return labels.count - 1
    }

    /// Returns the meaning of a slice's name.
    mutating func slice(_ event: TraceFile.Event, _ file: TraceFile) -> Meaning {
        guard event.name >= 0 else { return .other }
        if event.isScheduler {
            let name = file.names[event.name]
            if name.hasPrefix("blocked") { return .blocked }
            return name == "parked" ? .parked : name.hasPrefix("spare") ? .bench : name == "stolen branch" ? .branch : .other
        }
        return Self.kept(in: &slices, event.name) ?? {
            let meaning = Meaning.closure(number(of: file.names[event.name]))
            slices[event.name] = meaning
            return meaning
        }()
    }

    /// Returns the meaning of an instant's name.
    mutating func instant(_ event: TraceFile.Event, _ file: TraceFile) -> Meaning {
        guard event.name >= 0 else { return .other }
        return Self.kept(in: &instants, event.name) ?? {
            let meaning = meaning(ofInstant: file.names[event.name])
            instants[event.name] = meaning
            return meaning
        }()
    }

    private static func kept(in meanings: inout [Meaning?], _ name: Int) -> Meaning? {
        if name >= meanings.count { meanings += Array(repeating: nil, count: name + 1 - meanings.count) }
        return meanings[name]
    }

    private mutating func meaning(ofInstant name: String) -> Meaning {
        if name == "timer" { return .timer }
        if name == "trace ends" { return .ends }
        for verb in ["submit", "cancel", "suspend", "resume"] where name == verb || name.hasPrefix(verb + " \"") {
            let label = number(of: name == verb ? "no queue" : String(name.dropFirst(verb.count + 2).dropLast()))
            switch verb {
            case "submit": return .submit(label)
            case "cancel": return .cancel(label)
            case "suspend": return .suspend(label)
            default: return .resume(label)
            }
        }
        return .other
    }
}
