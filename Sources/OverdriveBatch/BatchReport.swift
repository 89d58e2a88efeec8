// Owns the report of a run, as text and JSON. `BatchRun` fills it; programs and the command print it.

internal import OverdriveCore

/// The results of a run.
///
///     print(report)                       // job "thumbnails": finished, 98 of 100 items done, 2 given up, in 1.234 s
///     print(report.text)
public struct BatchReport: Sendable, CustomStringConvertible {
    /// The way in which a run ended.
    public enum Ending: String, Sendable {
        /// All items of the shard have ended.
        case finished
        /// The run was asked to end before its last item.
        case interrupted
    }

    /// A slow item.
    public struct Slow: Sendable {
        /// The item's name.
        public var name: [UInt8]
        /// The duration of the item in seconds.
        public var seconds: Double
    }

    /// An item that was given up.
    public struct Quarantined: Sendable {
        /// The index of the item, from 0.
        public var index: Int
        /// The item's name.
        public var name: [UInt8]
        /// The reason why the item was given up.
        public var failure: BatchFailure
    }

    /// The job's name.
    public var job: String
    /// The part of the items that this run had to process.
    public var shard: Shard
    /// The way in which the run ended.
    public var ending: Ending
    /// The number of items in the shard.
    public var items = 0
    /// The number of items with an output, including earlier runs.
    public var done = 0
    /// The number of items that earlier runs processed.
    public var resumed = 0
    /// The items that were given up, in this run and earlier ones.
    public var quarantined: [Quarantined] = []
    /// The number of attempts beyond the first ones.
    public var retries = 0
    /// The items that did not end in time after the request to end.
    public var stuck: [[UInt8]] = []
    /// The items whose output came after the time limit (``BatchOptions/timeLimit``). Their outputs are valid.
    public var late: [[UInt8]] = []
    /// The number of bytes at the journal's end that a killed run had not written completely. They are ignored.
    public var cutOff = 0
    /// The duration of the run in seconds.
    public var seconds = 0.0
    /// The number of workers.
    public var workers = 0
    /// The fraction of the workers' time that was spent in items, 0 to 1.
    public var workerUse = 0.0
    /// The 50th, 90th and 99th percentile and the maximum of the items' durations, in seconds.
    public var percentiles: (p50: Double, p90: Double, p99: Double, longest: Double) = (0, 0, 0, 0)
    /// The slowest items, at most 10, the slowest first.
    public var slowest: [Slow] = []

    /// The number of items that have not ended.
    public var pending: Int { items - done - quarantined.count }
    /// The number of items that this run processed.
    public var ran: Int { done - resumed }
    /// The rate of this run in items per second.
    public var itemsPerSecond: Double { Double(ran) / max(seconds, 1e-9) }

    init(job: String, shard: Shard, ending: Ending) {
        (self.job, self.shard, self.ending) = (job, shard, ending)
    }

    /// The report as a JSON object on one line. Bytes of names that are not UTF-8 become U+FFFD.
    public var json: String {
        let gone = quarantined.map {
            "{\"name\":\(MarkupText.json($0.name)),\"attempts\":\($0.failure.attempts),\"error\":\(MarkupText.json($0.failure.description))}"
        }
        let slow = slowest.map {
            "{\"name\":\(MarkupText.json($0.name)),\"seconds\":\(JSONText.number($0.seconds))}"
        }
        let fields = [
            "\"job\":\(MarkupText.json(job))", "\"shard\":\"\(shard)\"", "\"ending\":\"\(ending.rawValue)\"",
            "\"items\":\(items)", "\"done\":\(done)", "\"resumed\":\(resumed)", "\"pending\":\(pending)",
            "\"retries\":\(retries)", "\"quarantined\":[\(gone.joined(separator: ","))]",
            "\"stuck\":[\(stuck.map { MarkupText.json($0) }.joined(separator: ","))]",
            "\"late\":[\(late.map { MarkupText.json($0) }.joined(separator: ","))]", "\"cut_off_bytes\":\(cutOff)",
            "\"seconds\":\(JSONText.number(seconds))",
            "\"items_per_second\":\(JSONText.number(itemsPerSecond))",
            "\"workers\":\(workers)", "\"worker_use\":\(JSONText.number(workerUse))",
            "\"p50\":\(JSONText.number(percentiles.p50))", "\"p90\":\(JSONText.number(percentiles.p90))",
            "\"p99\":\(JSONText.number(percentiles.p99))",
            "\"longest\":\(JSONText.number(percentiles.longest))",
            "\"slowest\":[\(slow.joined(separator: ","))]",
        ]
        return "{\(fields.joined(separator: ","))}"
    }

    /// The report in one line: the way in which the run ended, and the counts of items.
    public var description: String {
        var facts = ["\(done) of \(items) items done" + (resumed > 0 ? " (\(resumed) in earlier runs)" : "")]
        if !quarantined.isEmpty { facts.append("\(quarantined.count) given up") }
        if !late.isEmpty { facts.append("\(late.count) late") }
        if pending > 0 { facts.append("\(pending) pending") }
        if !stuck.isEmpty { facts.append("\(stuck.count) of them did not end") }
        let part = shard == .whole ? "" : ", shard \(shard)"
        return "job \(MarkupText.json(job))\(part): \(ending.rawValue), \(facts.joined(separator: ", ")), in \(JSONText.number(seconds)) s"
    }

    /// The report for people, one fact for each line.
    public var text: String {
        func time(_ seconds: Double) -> String {
            seconds < 1e-3
                ? "\(JSONText.number(seconds * 1e6)) µs"
                : seconds < 1
                    ? "\(JSONText.number(seconds * 1e3)) ms" : "\(JSONText.number(seconds)) s"
        }
        var lines = [
            "job \(job), shard \(shard): \(ending.rawValue)",
            "items \(items): \(done) done (\(resumed) in earlier runs), \(quarantined.count) given up, \(pending) pending",
            "\(JSONText.number(itemsPerSecond)) items/s over \(JSONText.number(seconds)) s, \(retries) retries",
            "\(workers) workers, \(Int((workerUse * 100).rounded())) % in use",
            "half within \(time(percentiles.p50)), 90 % \(time(percentiles.p90)), 99 % \(time(percentiles.p99)), longest \(time(percentiles.longest))",
        ]
        for item in slowest {
            lines.append("slow: \(String(decoding: item.name, as: UTF8.self)): \(time(item.seconds))")
        }
        for item in quarantined {
            lines.append(
                "given up: \(String(decoding: item.name, as: UTF8.self)): \(item.failure) (\(item.failure.attempts) attempts)"
            )
        }
        for name in late { lines.append("late: \(String(decoding: name, as: UTF8.self))") }
        for name in stuck { lines.append("did not end: \(String(decoding: name, as: UTF8.self))") }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The form of numbers in reports.
package enum JSONText {
    /// Returns a number with at most four significant digits.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        guard abs(value) < 1000 else { return String(Int(value.rounded())) }
        var scale = 1.0
        while abs(value) * scale < 1000, scale < 1e9 { scale *= 10 }
        return "\((value * scale).rounded() / scale)"
    }
}
