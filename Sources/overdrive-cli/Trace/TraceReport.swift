/// The report of `overdrive trace report`: where time went, by the labels of queues.
struct TraceReport {
    /// The closures of one label. Times are nanoseconds.
    struct Label {
        var name: String
        var count = 0
        var run: UInt64 = 0, blocked: UInt64 = 0, longest: UInt64 = 0
        /// The times from submission to start, of the closures with an arrow.
        var waits: [UInt64] = []
        var pending = 0
        /// The time in which a worker was idle and most pending closures had this label.
        var idle: UInt64 = 0

        var mean: UInt64 { count > 0 ? run / UInt64(count) : 0 }
        func wait(percent: Int) -> UInt64? { waits.isEmpty ? nil : waits[(waits.count - 1) * percent / 100] }
    }

    private struct Open {
        var label: Int?
        var since: UInt64
        var blocked: UInt64 = 0
        var isParked = false, isBlocked = false
    }

    private struct Submission {
        var label: Int
        var time: UInt64
    }

    private(set) var labels: [Label] = []
    private(set) var first: UInt64 = 0, last: UInt64 = 0
    private(set) var parked = 0
    private(set) var workers: Set<UInt64> = []
    private(set) var lateTimers: [UInt64] = []
    private(set) var notes: [String: UInt64] = [:]
    private var open: [UInt64: [Open]] = [:]
    private var numbers: [String: Int] = [:]
    private var submissions: [UInt64: Submission] = [:]
    private(set) var file = TraceFile()

    /// Reads a trace; nil if the bytes are no trace.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var file = TraceFile()
        file.read(bytes) { event, file in add(event, file) }
        guard file.isTrace else { return nil }
        self.file = file
        for number in labels.indices { labels[number].waits.sort() }
        lateTimers.sort()
    }

    private mutating func number(of label: String) -> Int {
        if let number = numbers[label] { return number }
        numbers[label] = labels.count
        labels.append(Label(name: label))
        return labels.count - 1
    }

    private mutating func pass(to time: UInt64) {
        if first == 0 { (first, last) = (time, time) }
        guard time > last else { return }
        if parked > 0, let most = labels.indices.max(by: { labels[$0].pending < labels[$1].pending }), labels[most].pending > 0 {
            labels[most].idle += time - last
        }
        last = time
    }

    private mutating func add(_ event: TraceFile.Event, _ file: TraceFile) {
        pass(to: event.time)
        let name = event.name >= 0 ? file.names[event.name] : ""
        switch event.kind {
        case .begin: begin(event, name)
        case .end: end(event)
        case .instant: note(event, name)
        }
    }

    private mutating func begin(_ event: TraceFile.Event, _ name: String) {
        var slice = Open(since: event.time)
        if event.isScheduler {
            slice.isParked = name == "parked"
            slice.isBlocked = name.hasPrefix("blocked")
            parked += slice.isParked ? 1 : 0
            workers.insert(event.track)
        } else {
            let label = number(of: name)
            slice.label = label
            labels[label].count += 1
            // Of closures that are alike, the first has the start of an arrow, and none has the end.
            let submission = submissions.removeValue(forKey: event.flow)
            let waited = submission?.label ?? label
            labels[waited].pending = max(0, labels[waited].pending - 1)
            if let submission { labels[label].waits.append(event.time - min(submission.time, event.time)) }
        }
        open[event.track, default: []].append(slice)
    }

    private mutating func end(_ event: TraceFile.Event) {
        guard let slice = open[event.track]?.popLast() else { return }
        let time = event.time - min(slice.since, event.time)
        if slice.isParked { parked -= 1 }
        if slice.isBlocked, let around = open[event.track]?.indices.last { open[event.track]?[around].blocked += time }
        guard let label = slice.label else { return }
        labels[label].run += time - min(slice.blocked, time)
        labels[label].blocked += slice.blocked
        labels[label].longest = max(labels[label].longest, time)
    }

    private mutating func note(_ event: TraceFile.Event, _ name: String) {
        if name == "trace ends" {
            for note in event.notes { notes[note.name] = note.number }
        } else if name == "timer" {
            lateTimers.append(event.notes.first?.number ?? 0)
        } else if name == "cancel" || name.hasPrefix("cancel \"") {
            let label = number(of: name == "cancel" ? "no queue" : String(name.dropFirst(8).dropLast()))
            labels[label].pending = max(0, labels[label].pending - 1)
        } else if name.hasPrefix("submit"), event.flow != 0 {
            let label = number(of: name == "submit" ? "no queue" : String(name.dropFirst(8).dropLast()))
            labels[label].pending += 1
            submissions[event.flow] = Submission(label: label, time: event.time)
        }
    }

    // MARK: Text

    /// The findings first, then a table.
    var text: String {
        let count = labels.reduce(0) { $0 + $1.count }
        let head = "\(file.program) (process \(file.process)): \(count) closures in \(Self.time(last - first)), \(workers.count) workers"
        return ([head] + findings + [""] + table + rest).map { $0 + "\n" }.joined()
    }

    /// The likely causes of lost time, the costliest first.
    var findings: [String] {
        let whole = max(last - first, 1)
        var found: [(cost: UInt64, sentence: String)] = []
        for label in labels {
            // After a loss it is unknown which closures are pending.
            if label.idle > whole / 10, !file.hasLoss, notes["lost", default: 0] == 0 {
                found.append((
                    label.idle,
                    "Workers were idle for \(Self.time(label.idle)) while closures of \"\(label.name)\" waited. The queue is serial, limited or suspended: raise its width, or shorten its closures."
                ))
            }
            if label.blocked > whole / 10 {
                found.append((
                    label.blocked,
                    "Closures of \"\(label.name)\" blocked their workers for \(Self.time(label.blocked)). Let the next step follow as a closure instead of a wait."
                ))
            }
            if label.count >= 1000, label.mean < 1000, label.run > whole / 100 {
                found.append((
                    label.run,
                    "Closures of \"\(label.name)\" run for \(Self.time(label.mean)) on average. Give each closure more work."
                ))
            }
        }
        return found.isEmpty ? ["No queue kept workers idle or blocked for a tenth of the time."] : found.sorted { $0.cost > $1.cost }.map(\.sentence)
    }

    private var table: [String] {
        let rows = labels.filter { $0.count > 0 }.sorted { $0.run + $0.blocked > $1.run + $1.blocked }.map { label in
            [
                label.name, "\(label.count)", Self.time(label.run), Self.time(label.blocked), Self.time(label.mean),
                Self.time(label.longest), label.wait(percent: 50).map(Self.time) ?? "-", label.wait(percent: 99).map(Self.time) ?? "-",
            ]
        }
        return TextTable(
            titles: ["queue", "closures", "ran", "blocked", "mean", "longest", "wait 50 %", "wait 99 %"], rows: rows
        ).lines
    }

    private var rest: [String] {
        var lines: [String] = []
        if let most = lateTimers.last {
            lines.append("timers: \(lateTimers.count) fired, 50 % late by \(Self.time(lateTimers[lateTimers.count / 2])) or more, at most \(Self.time(most))")
        }
        if notes.isEmpty { lines.append("The file breaks off: the process was killed, or still writes it.") }
        if let lost = notes["lost"], lost > 0 { lines.append("\(lost) events were lost, so counts and times are too small.") }
        if let left = notes["arrows left out"], left > 0 { lines.append("\(left) closures are without a wait: others were alike, or their submissions are not in the trace.") }
        return lines.isEmpty ? [] : [""] + lines
    }

    /// Three digits and a unit.
    static func time(_ ns: UInt64) -> String {
        let units: [(size: Double, name: String)] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")]
        guard let unit = units.first(where: { Double(ns) >= $0.size }) else { return "\(ns) ns" }
        let value = Double(ns) / unit.size
        let digits = value >= 100 ? 1.0 : value >= 10 ? 10 : 100
        let rounded = (value * digits).rounded() / digits
        return (rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)") + " \(unit.name)"
    }
}
