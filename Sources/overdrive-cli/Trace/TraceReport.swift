/// The analysis of `overdrive trace report`: where time went, by the labels of queues.
struct TraceReport {
    /// The state of a label while workers were idle and its closures waited.
    enum Reason: String, CaseIterable {
        case suspended, blocked, serial, barrier, limit, other
    }

    /// The closures of one label. Times are nanoseconds.
    struct Label {
        var name: String
        var count = 0
        var run: UInt64 = 0, blocked: UInt64 = 0, longest: UInt64 = 0
        var runs = TimeHistogram()
        /// The times from submission to start, of the closures with an arrow.
        var waits = TimeHistogram()
        var pending = 0
        /// The times in which a worker was idle and most pending closures had this label.
        var idleTimes: [Reason: UInt64] = [:]
        /// The most closures that ran at one time.
        var peak = 0
        fileprivate var running = 0, blockedNow = 0, isSuspended = false

        var idle: UInt64 { idleTimes.values.reduce(0, +) }
        /// The reason for most of the idle time.
        var reason: Reason { Reason.allCases.max { idleTimes[$0, default: 0] < idleTimes[$1, default: 0] } ?? .other }

        /// A label whose closures never ran side by side is serial: this is known at the end.
        fileprivate var state: Reason {
            if isSuspended { return .suspended }
            if running > 0, blockedNow >= running { return .blocked }
            return running == 0 ? .other : running == 1 ? .barrier : .limit
        }

        fileprivate mutating func finish() {
            if peak <= 1, let alone = idleTimes.removeValue(forKey: .barrier) { idleTimes[.serial] = alone }
        }
    }

    struct Slice {
        var label: Int
        var track, time, begun: UInt64
    }

    private struct Open {
        var meaning: TraceNames.Meaning
        var since: UInt64
        var step: Int32 = -1
        var blocked: UInt64 = 0
        /// The label that a blocked slice stops.
        var stops: Int?
    }

    private struct Submission {
        var label: Int
        var time: UInt64
        var by: Int32
    }

    private(set) var labels: [Label] = []
    private(set) var first: UInt64 = 0, last: UInt64 = 0
    private var parked = 0
    private(set) var workers: Set<UInt64> = []
    private(set) var lateTimers = TimeHistogram()
    private(set) var latestTimer: UInt64 = 0
    private(set) var notes: [String: UInt64] = [:]
    /// The longest closures, the longest first.
    private(set) var longest: [Slice] = []
    private(set) var paths = TracePaths()
    private(set) var file = TraceFile()
    /// The sentence with which a recording was written; empty for a trace.
    private(set) var reason = ""
    private var names = TraceNames()
    private var open: [UInt64: [Open]] = [:]
    private var submissions: [UInt64: Submission] = [:]
    private var mostPending: Int?

    /// Reads a trace; nil if the bytes are no trace.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var file = TraceFile()
        file.read(bytes) { event, file in add(event, file) }
        guard file.isTrace else { return nil }
        self.file = file
        // A trace that breaks off has open slices, which end at its last event.
        for (track, slices) in open {
            for _ in slices { end(TraceFile.Event(time: last, track: track, kind: .end)) }
        }
        for number in labels.indices { labels[number].finish() }
    }

    /// Whether closures are missing, so that it is unknown which are pending.
    var hasLoss: Bool { file.hasLoss || notes["lost", default: 0] > 0 }
    var duration: UInt64 { last - first }

    private mutating func pass(to time: UInt64) {
        if first == 0 { (first, last) = (time, time) }
        guard time > last else { return }
        if parked > 0, let label = labelThatWaits() { labels[label].idleTimes[labels[label].state, default: 0] &+= time - last }
        last = time
    }

    /// The label with the most pending closures. It is searched only after its closures have begun.
    private mutating func labelThatWaits() -> Int? {
        if mostPending == nil { mostPending = labels.indices.max { labels[$0].pending < labels[$1].pending } }
        return mostPending.flatMap { labels[$0].pending > 0 ? $0 : nil }
    }

    private mutating func submit(_ label: Int) {
        labels[label].pending += 1
        if let most = mostPending, labels[most].pending < labels[label].pending { mostPending = label }
    }

    private mutating func takeOut(_ label: Int) {
        labels[label].pending = max(0, labels[label].pending - 1)
        if mostPending == label { mostPending = nil }
    }

    private mutating func add(_ event: TraceFile.Event, _ file: TraceFile) {
        pass(to: event.time)
        switch event.kind {
        case .begin: begin(event, names.slice(event, file))
        case .end: end(event)
        case .instant:
            if event.flow == 0, event.name >= 0, file.names[event.name].hasPrefix("recorded: ") {
                reason = String(decoding: Bytes(file.names[event.name].utf8).printable, as: UTF8.self)
            }
            note(event, names.instant(event, file))
        }
    }

    /// Adds the labels that the names have since the last event.
    private mutating func addLabels() {
        while labels.count < names.labels.count {
            labels.append(Label(name: names.labels[labels.count]))
            mostPending = nil
        }
    }

    private mutating func begin(_ event: TraceFile.Event, _ meaning: TraceNames.Meaning) {
        var slice = Open(meaning: meaning, since: event.time)
        addLabels()
        if event.isScheduler { workers.insert(event.track) }
        switch meaning {
        case .parked: parked += 1
        case .blocked:
            if case .closure(let label)? = open[event.track]?.last?.meaning {
                slice.stops = label
                labels[label].blockedNow += 1
            }
        case .closure(let label): slice.step = begin(label, event)
        default: break
        }
        open[event.track, default: []].append(slice)
    }

    private mutating func begin(_ label: Int, _ event: TraceFile.Event) -> Int32 {
        labels[label].count += 1
        labels[label].running += 1
        labels[label].peak = max(labels[label].peak, labels[label].running)
        // Of closures that are alike, the first has the start of an arrow, and none has the end.
        let submission = submissions.removeValue(forKey: event.flow)
        takeOut(submission?.label ?? label)
        if let submission { labels[label].waits.add(event.time - min(submission.time, event.time)) }
        return paths.begin(label: label, at: event.time, submitted: submission?.time ?? event.time, by: submission?.by ?? -1)
    }

    private mutating func end(_ event: TraceFile.Event) {
        guard let slice = open[event.track]?.popLast() else { return }
        let time = event.time - min(slice.since, event.time)
        switch slice.meaning {
        case .parked: parked -= 1
        case .blocked:
            if let label = slice.stops { labels[label].blockedNow -= 1 }
            if let around = open[event.track]?.indices.last { open[event.track]?[around].blocked &+= time }
        case .closure(let label):
            let run = time - min(slice.blocked, time)
            labels[label].run &+= run
            labels[label].runs.add(run)
            labels[label].blocked &+= slice.blocked
            labels[label].longest = max(labels[label].longest, time)
            labels[label].running -= 1
            paths.end(slice.step, at: event.time)
            keep(Slice(label: label, track: event.track, time: time, begun: slice.since))
        default: break
        }
    }

    private mutating func keep(_ slice: Slice) {
        guard longest.count < 5 || slice.time > longest[4].time else { return }
        longest.insert(slice, at: longest.firstIndex { $0.time < slice.time } ?? longest.count)
        longest = Array(longest.prefix(5))
    }

    private mutating func note(_ event: TraceFile.Event, _ meaning: TraceNames.Meaning) {
        addLabels()
        switch meaning {
        case .ends: for note in event.notes { notes[note.name] = note.number }
        case .timer:
            let late = event.notes.first?.number ?? 0
            lateTimers.add(late)
            latestTimer = max(latestTimer, late)
        case .cancel(let label): takeOut(label)
        case .suspend(let label): labels[label].isSuspended = true
        case .resume(let label): labels[label].isSuspended = false
        case .submit(let label) where event.flow != 0:
            submit(label)
            let by = open[event.track]?.last { $0.step >= 0 }?.step ?? -1
            submissions[event.flow] = Submission(label: label, time: event.time, by: by)
        default: break
        }
    }
}
