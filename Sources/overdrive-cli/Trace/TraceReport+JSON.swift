internal import FoundationEssentials

extension TraceReport {
    /// One object. Times are nanoseconds; a percentile is at most 4 % off.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self) + "\n"
    }

    private struct Percentiles: Encodable {
        var count: Int
        var p50, p90, p99: UInt64?

        init(_ times: TimeHistogram) {
            count = times.count
            (p50, p90, p99) = (times.value(percent: 50), times.value(percent: 90), times.value(percent: 99))
        }
    }

    private struct Document: Encodable {
        struct Queue: Encodable {
            var label: String
            var closures, mostAtOnce: Int
            var ran, blocked, longest: UInt64
            var run, wait: Percentiles
            /// The times in which workers were idle and closures of this label waited, by reason.
            var idle: [String: UInt64]
        }
        struct Path: Encodable {
            struct Part: Encodable {
                var label: String
                var closures: Int
                var ran, waited: UInt64
            }
            var closures: Int
            var time: UInt64
            var parts: [Part]
        }
        struct Closure: Encodable {
            var label, thread: String
            var begun, time: UInt64
        }
        struct Timers: Encodable {
            var late: Percentiles
            var latest: UInt64
        }

        var program: String
        var process: UInt64
        var duration: UInt64
        var workers: Int
        /// The sentence with which a recording was written.
        var reason: String?
        var findings: [String]
        var queues: [Queue]
        var criticalPath: Path
        var longestClosures: [Closure]
        var timers: Timers
        var lostEvents, closuresWithoutWait: UInt64?
        var isComplete: Bool

        init(_ report: TraceReport) {
            let path = report.paths.critical, labels = report.labels
            program = report.file.program
            process = report.file.process
            duration = report.duration
            workers = report.workers.count
            reason = report.reason.isEmpty ? nil : report.reason
            findings = report.findings
            queues = labels.filter { $0.count > 0 }.map { label in
                Queue(
                    label: label.name, closures: label.count, mostAtOnce: label.peak, ran: label.run, blocked: label.blocked,
                    longest: label.longest, run: Percentiles(label.runs), wait: Percentiles(label.waits),
                    idle: Dictionary(uniqueKeysWithValues: label.idleTimes.map { ($0.key.rawValue, $0.value) }))
            }
            let parts = path.parts.sorted { $0.key < $1.key }.map { label, part in
                Path.Part(label: labels[label].name, closures: part.steps, ran: part.run, waited: part.wait)
            }
            criticalPath = Path(closures: path.steps, time: path.time, parts: parts)
            longestClosures = report.longest.map { slice in
                Closure(
                    label: labels[slice.label].name, thread: report.file.threads[slice.track] ?? "",
                    begun: slice.begun - min(report.first, slice.begun), time: slice.time)
            }
            timers = Timers(late: Percentiles(report.lateTimers), latest: report.latestTimer)
            lostEvents = report.notes["lost"]
            closuresWithoutWait = report.notes["arrows left out"]
            isComplete = !report.notes.isEmpty
        }
    }
}
