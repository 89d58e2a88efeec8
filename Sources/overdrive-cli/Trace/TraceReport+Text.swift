extension TraceReport {
    /// The findings first, then a table.
    var text: String {
        ([head] + (reason.isEmpty ? [] : [reason]) + findings + [""] + table + [""] + rest).map { $0 + "\n" }.joined()
    }

    var head: String {
        let count = labels.reduce(0) { $0 + $1.count }
        return "\(program) (process \(file.process)): \(count) closures in \(Self.time(duration)), \(workers.count) workers"
    }

    var program: String { String(decoding: Bytes(file.program.utf8).printable, as: UTF8.self) }

    /// The likely causes of lost time, the costliest first, and at most four.
    var findings: [String] {
        var found = labels.flatMap(findings(of:))
        found.sort { $0.cost > $1.cost }
        let sentences = found.prefix(4).map(\.sentence)
        return sentences.isEmpty ? ["No queue kept workers idle or blocked for a tenth of the time."] : sentences
    }

    private func findings(of label: Label) -> [(cost: UInt64, sentence: String)] {
        let most = max(duration, 1) / 10
        var found: [(cost: UInt64, sentence: String)] = []
        if label.idle > most, !hasLoss {
            let sentence = "Workers were idle for \(Self.time(label.idle)) while closures of \"\(label.name)\" waited. " + Self.remedy(label)
            found.append((label.idle, sentence))
        }
        if label.blocked > most {
            let times = "Closures of \"\(label.name)\" blocked their workers for \(Self.time(label.blocked))."
            found.append((label.blocked, times + " Let the next step follow as a closure instead of a wait."))
        }
        // The median: a closure that loses its CPU for a while would raise the mean.
        if label.count >= 1000, let middle = label.runs.value(percent: 50), middle < 1000, label.run > duration / 100 {
            let times = "\(label.count) closures of \"\(label.name)\" are too small: half of them run for \(Self.time(middle)) at most."
            found.append((label.run, times + " Give each closure more work."))
        }
        return found
    }

    private static func remedy(_ label: Label) -> String {
        switch label.reason {
        case .suspended: "The queue was suspended: resume it earlier."
        case .blocked: "The closures that ran were blocked: let the next step follow as a closure instead of a wait."
        case .serial: "The queue is serial: use a concurrent queue, or shorten its closures."
        case .barrier: "One closure ran alone, as a barrier does: use fewer barriers, or shorten them."
        case .limit: "At most \(label.peak) ran at a time: raise the queue's width."
        case .other: "None of them ran: look at the queue's target, and at the wake-ups of workers."
        }
    }

    private var table: [String] {
        let rows = busiest.map { number in
            let label = labels[number]
            return [label.name, "\(label.count)", Self.time(label.run), Self.time(label.blocked)] + label.percentiles + [Self.time(label.longest)]
        }
        return TextTable(titles: Self.titles, rows: rows).lines
    }

    /// The labels with closures, those that used most time first.
    var busiest: [Int] {
        labels.indices.filter { labels[$0].count > 0 }.sorted { labels[$0].run &+ labels[$0].blocked > labels[$1].run &+ labels[$1].blocked }
    }

    static let titles = ["queue", "closures", "ran", "blocked", "run 50 %", "run 99 %", "wait 50 %", "wait 99 %", "longest"]

    /// The lines below the table. The reason of each comes first.
    var rest: [String] {
        var lines: [String] = []
        let idle = labels.filter { $0.idle > 0 }.sorted { $0.idle > $1.idle }.prefix(3)
        if !idle.isEmpty, !hasLoss {
            lines.append("idle while closures waited: " + idle.map(Self.idle(of:)).joined(separator: "; "))
        }
        if let path { lines.append(path) }
        if !longest.isEmpty {
            let slices = longest.map { "\(labels[$0.label].name) \(Self.time($0.time)) at \(Self.time($0.begun - min(first, $0.begun)))" }
            lines.append("longest closures: " + slices.joined(separator: ", "))
        }
        if let middle = lateTimers.value(percent: 50), let most = lateTimers.value(percent: 99) {
            let late = "50 % late by at most \(Self.time(middle)), 99 % by \(Self.time(min(most, latestTimer))), all by \(Self.time(latestTimer))"
            lines.append("timers: \(lateTimers.count) fired, " + late)
        }
        return lines + warnings
    }

    private static func idle(of label: Label) -> String {
        let parts = Reason.allCases.compactMap { reason in
            label.idleTimes[reason].map { "\(time($0)) \(reason.rawValue)" }
        }
        return "\(label.name) \(parts.joined(separator: ", "))"
    }

    /// The chain of closures that submitted each other and ended last.
    private var path: String? {
        let path = paths.critical
        guard path.steps > 0 else { return nil }
        let run = path.parts.values.reduce(0) { $0 + $1.run }, wait = path.parts.values.reduce(0) { $0 + $1.wait }
        let most = path.parts.max { ($0.value.run + $0.value.wait, $1.key) < ($1.value.run + $1.value.wait, $0.key) }
        let name = most.map { "; \"\(labels[$0.key].name)\" ran \(Self.time($0.value.run)), waited \(Self.time($0.value.wait))" } ?? ""
        return "critical path: \(path.steps) closure\(path.steps == 1 ? "" : "s") in \(Self.time(path.time)), ran \(Self.time(run)), waited \(Self.time(wait))" + name
    }

    private var warnings: [String] {
        var lines: [String] = []
        if notes.isEmpty { lines.append("The file breaks off: the process was killed, or still writes it.") }
        if let lost = notes["lost"], lost > 0 { lines.append("\(lost) events were lost, so counts and times are too small.") }
        if let left = notes["arrows left out"], left > 0 {
            lines.append("\(left) closures are without a wait: others were alike, or their submissions are not in the trace.")
        }
        if paths.leftOut > 0 { lines.append("\(paths.leftOut) closures are not in the critical path: the trace has too many.") }
        return lines
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

extension TraceReport.Label {
    /// The cells of the run's and the wait's percentiles.
    var percentiles: [String] {
        [runs.value(percent: 50), runs.value(percent: 99), waits.value(percent: 50), waits.value(percent: 99)].map {
            $0.map(TraceReport.time) ?? "-"
        }
    }
}
