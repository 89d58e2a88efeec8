/// The results of a run.
///
///     print(report)                       // job "thumbnails": finished, 98 of 100 items done, 2 given up, in 1.234 s
///     print(report.text)
public struct BatchReport: Sendable, CustomStringConvertible {
    /// How a run came to its end.
    public enum Ending: String, Sendable {
        /// Every item of the shard ended.
        case finished
        /// It was asked to end before.
        case interrupted
    }

    /// An item that took long.
    public struct Slow: Sendable {
        /// The item's name.
        public var name: [UInt8]
        /// How long it took.
        public var seconds: Double
    }

    /// An item that was given up.
    public struct Quarantined: Sendable {
        /// Which of the items it is, from 0.
        public var index: Int
        /// The item's name.
        public var name: [UInt8]
        /// Why it was given up.
        public var failure: BatchFailure
    }

    /// The job's name.
    public var job: String
    /// The part of the items that this run was to do.
    public var shard: Shard
    /// How the run ended.
    public var ending: Ending
    /// How many items the shard has.
    public var items = 0
    /// The items that have an output, those of earlier runs included.
    public var done = 0
    /// The items that an earlier run did.
    public var resumed = 0
    /// Items that were given up, in this run and before.
    public var quarantined: [Quarantined] = []
    /// Attempts beyond the first.
    public var retries = 0
    /// Items that did not end within the deadline after the request to end.
    public var stuck: [[UInt8]] = []
    /// Items whose output came after their time limit (``BatchOptions/timeLimit``). The output counts.
    public var late: [[UInt8]] = []
    /// Bytes at the journal's end that a killed run had not written whole, and that do not count.
    public var cutOff = 0
    /// How long the run took.
    public var seconds = 0.0
    /// How many workers it had.
    public var workers = 0
    /// How much of the workers' time went into items, 0 to 1.
    public var workerUse = 0.0
    /// The time that half of the items, 90 % and 99 % of them stay within, and the longest, in seconds.
    public var percentiles: (p50: Double, p90: Double, p99: Double, longest: Double) = (0, 0, 0, 0)
    /// The slowest items, at most ten, the slowest first.
    public var slowest: [Slow] = []

    /// Items that have not ended.
    public var pending: Int { items - done - quarantined.count }
    /// Items that this run did.
    public var ran: Int { done - resumed }
    /// The items per second of this run.
    public var itemsPerSecond: Double { Double(ran) / max(seconds, 1e-9) }

    init(job: String, shard: Shard, ending: Ending) {
        (self.job, self.shard, self.ending) = (job, shard, ending)
    }

    /// As a JSON object on one line. Names that are not UTF-8 have U+FFFD in the place of what is not.
    public var json: String {
        let gone = quarantined.map {
            "{\"name\":\(JSONText.string($0.name)),\"attempts\":\($0.failure.attempts),\"error\":\(JSONText.string($0.failure.description))}"
        }
        let slow = slowest.map {
            "{\"name\":\(JSONText.string($0.name)),\"seconds\":\(JSONText.number($0.seconds))}"
        }
        let fields = [
            "\"job\":\(JSONText.string(job))", "\"shard\":\"\(shard)\"", "\"ending\":\"\(ending.rawValue)\"",
            "\"items\":\(items)", "\"done\":\(done)", "\"resumed\":\(resumed)", "\"pending\":\(pending)",
            "\"retries\":\(retries)", "\"quarantined\":[\(gone.joined(separator: ","))]",
            "\"stuck\":[\(stuck.map(JSONText.string).joined(separator: ","))]",
            "\"late\":[\(late.map(JSONText.string).joined(separator: ","))]", "\"cut_off_bytes\":\(cutOff)",
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

    /// The report in one line: how the run ended, and what has become of the items.
    public var description: String {
        var facts = ["\(done) of \(items) items done" + (resumed > 0 ? " (\(resumed) in earlier runs)" : "")]
        if !quarantined.isEmpty { facts.append("\(quarantined.count) given up") }
        if !late.isEmpty { facts.append("\(late.count) late") }
        if pending > 0 { facts.append("\(pending) pending") }
        if !stuck.isEmpty { facts.append("\(stuck.count) of them did not end") }
        let part = shard == .whole ? "" : ", shard \(shard)"
        return "job \(JSONText.string(job))\(part): \(ending.rawValue), \(facts.joined(separator: ", ")), in \(JSONText.number(seconds)) s"
    }

    /// For people, one fact to a line.
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

/// The little of JSON that reports need.
package enum JSONText {
    package static func string(_ bytes: [UInt8]) -> String { string(String(decoding: bytes, as: UTF8.self)) }

    package static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// With four digits that count, at most.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        guard abs(value) < 1000 else { return String(Int(value.rounded())) }
        var scale = 1.0
        while abs(value) * scale < 1000, scale < 1e9 { scale *= 10 }
        return "\((value * scale).rounded() / scale)"
    }
}
