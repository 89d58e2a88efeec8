/// The threads' activity in equal spans of time: the columns of the page's timeline. Their number is fixed.
struct TraceTimeline {
    enum Activity: Hashable {
        case closure(Int), idle, blocked, branch
    }

    /// Columns that follow each other with one activity.
    struct Bar {
        var from: Int, to: Int
        var activity: Activity
        /// The quarters of the columns that are busy: 1 to 4.
        var share: Int
    }

    fileprivate struct Track {
        var open: [Activity] = []
        var since: UInt64
        var column = 0
        var times: [Activity: UInt64] = [:]
        var bars: [Bar] = []
        var busy: UInt64 = 0
        var columnWidth: UInt64 = 0
    }

    static let columns = 1200

    private let first: UInt64, width: UInt64
    private var tracks: [UInt64: Track] = [:]
    private var names = TraceNames()

    /// Reads the trace from `first` to `last`, the times of its first and last event.
    init(_ bytes: UnsafeRawBufferPointer, first: UInt64, last: UInt64) {
        self.first = first
        width = max(1, (last - first) / UInt64(Self.columns) + 1)
        var file = TraceFile()
        file.read(bytes) { event, file in add(event, file) }
        for track in tracks.keys {
            tracks[track]?.pass(to: last, self.first, width)  // A trace that breaks off has open slices.
            tracks[track]?.flush()
        }
    }

    var labels: [String] { names.labels }

    /// The bars of the threads that ran closures, the busiest first.
    var rows: [(track: UInt64, bars: [Bar])] {
        tracks.sorted { ($0.value.busy, $1.key) > ($1.value.busy, $0.key) }.map { ($0.key, $0.value.bars) }
    }

    private mutating func add(_ event: TraceFile.Event, _ file: TraceFile) {
        switch event.kind {
        case .begin:
            let activity: Activity =
                switch names.slice(event, file) {
                case .branch: .branch
                case .blocked: .blocked
                case .closure(let label): .closure(label)
                default: .idle
                }
            tracks[event.track, default: Track(since: event.time)].pass(to: event.time, first, width)
            tracks[event.track]?.open.append(activity)
        case .end:
            tracks[event.track]?.pass(to: event.time, first, width)
            _ = tracks[event.track]?.open.popLast()
        case .instant: _ = names.instant(event, file)  // A label has the number that it has in the report.
        }
    }

}

extension TraceTimeline.Track {
    /// Adds the time since the last event to its columns.
    fileprivate mutating func pass(to time: UInt64, _ first: UInt64, _ width: UInt64) {
        defer { since = max(since, time) }
        columnWidth = width
        guard let activity = open.last, time > since else { return }
        if case .closure = activity { busy &+= time - since }
        var at = since - min(first, since)
        let end = time - min(first, time)
        while at < end {
            let number = Int(at / width), next = min(end, UInt64(number + 1) * width)
            if number != column {
                flush()
                column = number
            }
            // Columns that the activity fills need no counting.
            if next - at == width, end / width > UInt64(number) + 1 {
                let last = Int(end / width)
                append(TraceTimeline.Bar(from: number, to: last, activity: activity, share: 4))
                at = UInt64(last) * width
            } else {
                times[activity, default: 0] += next - at
                at = next
            }
        }
    }

    /// Ends the column: its bar has the activity that took most of its busy time, and the share of all of them.
    fileprivate mutating func flush() {
        defer { times.removeAll(keepingCapacity: true) }
        times[.idle] = nil
        guard let most = times.max(by: { $0.value < $1.value }), columnWidth > 0 else { return }
        let busy = times.values.reduce(0, +)
        let share = min(4, max(1, Int((busy * 4 + columnWidth / 2) / columnWidth)))
        append(TraceTimeline.Bar(from: column, to: column + 1, activity: most.key, share: share))
    }

    private mutating func append(_ bar: TraceTimeline.Bar) {
        if let last = bars.last, last.to == bar.from, last.activity == bar.activity, last.share == bar.share {
            bars[bars.count - 1].to = bar.to
        } else {
            bars.append(bar)
        }
    }
}
