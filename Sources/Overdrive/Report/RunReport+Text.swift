// Owns the text forms of a report on a run: a table and JSON. Programs call them. They never change the report.

internal import OverdriveCore

extension RunReport {
    /// The report for people: a table of the nodes, the critical path (*), and the parallelism over time.
    ///
    ///     print(report.table)
    ///     //   node   outcome        ready     start      time     slack   waits for
    ///     // * read   finished        0 µs    4.1 µs    1.2 ms      0 µs   -
    ///     // …
    ///
    /// With more than 200 entries, the table has the 200 slowest ones and the critical path.
    public var table: String {
        let shown = RunTimeline.mostImportant(
            Array(entries.indices), length: { entries[$0].time }, isCritical: { entries[$0].isCritical })
        let names = shown.map { (entries[$0].isCritical ? "* " : "  ") + entries[$0].name }
        let width = max(6, names.map(\.count).max() ?? 0)
        var lines = [ReportText.padded("  node", to: width) + "   outcome        ready     start      time     slack   waits for"]
        for (name, index) in zip(names, shown) {
            let entry = entries[index]
            let times = [entry.started == nil ? nil : entry.ready, entry.started, entry.started == nil ? nil : entry.time, entry.slack]
            let waitsFor = entry.dependencies.prefix(4).map { entries[$0].name }.joined(separator: ", ")
                + (entry.dependencies.count > 4 ? ", and \(entry.dependencies.count - 4) more" : "")
            lines.append(
                ReportText.padded(name, to: width) + "   " + ReportText.padded(entry.outcome.rawValue, to: 10)
                    + times.map { ReportText.filled($0.map(ReportText.time) ?? "-", to: 10) }.joined() + "   "
                    + (waitsFor.isEmpty ? "-" : waitsFor))
        }
        if shown.count < entries.count { lines.append("  and \(entries.count - shown.count) faster ones") }
        lines.append("")
        lines.append(
            "\(ReportText.time(elapsed)) for \(ReportText.time(work)) of work: "
                + "parallelism \(ReportText.tenths(averageParallelism)) on average.")
        let levels = parallelism(slices: 50)
        let most = max(1, levels.max() ?? 0)
        let bars = Array("▁▂▃▄▅▆▇█")
        lines.append(
            "Parallelism over time, up to \(ReportText.tenths(most)): "
                + String(levels.map { $0 <= 0 ? " " : bars[min(7, Int($0 / most * 8))] }))
        if !criticalPath.isEmpty {
            let path = criticalPath.prefix(20).map { "\($0.name) \(ReportText.time($0.time))" }.joined(separator: " -> ")
            lines.append("Critical path (*): \(path)\(criticalPath.count > 20 ? " -> and \(criticalPath.count - 20) more" : "").")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The report for programs, as JSON. Times are in µs; a node that did not run has null.
    public var json: String {
        func time(_ time: Duration?) -> String { time.map(ReportText.microseconds) ?? "null" }
        let nodes = entries.map { entry in
            "{\"name\":\(MarkupText.json(entry.name)),\"outcome\":\"\(entry.outcome.rawValue)\",\"dependencies\":\(entry.dependencies),"
                + "\"ready\":\(time(entry.ready)),\"started\":\(time(entry.started)),\"ended\":\(time(entry.ended)),"
                + "\"slack\":\(time(entry.slack)),\"critical\":\(entry.isCritical)}"
        }
        return "{\"name\":\(MarkupText.json(name)),\"elapsed\":\(time(elapsed)),\"work\":\(time(work)),\"nodes\":[\n"
            + nodes.joined(separator: ",\n") + "\n]}\n"
    }
}
