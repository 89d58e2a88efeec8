/// The table of `make bench`: what each contender needs, and how many times as long as Overdrive.
public struct Table: Sendable {
    let results: Results
    let contenders: [Contender]
    let workers: Int

    /// With the contenders that have anything to say.
    public init(_ results: Results, workers: Int, all: Bool = false) {
        self.results = results
        self.workers = workers
        let present = Set(results.runs.map(\.contender))
        contenders = Contender.all.filter { ($0.isHeadline || all) && present.contains($0.id) }
    }

    /// A figure and its ratio to Overdrive's, in Swift or else in C.
    struct Cell {
        let minimum: Double
        let ratio: Double?
        /// Whether both minima were found by several processes.
        let isSettled: Bool
    }

    func cells(of workload: Workload, _ figures: [String: Figure]) -> [Cell?] {
        let own = figures["overdrive"] ?? figures["overdrive-c"]
        return contenders.map { contender in
            guard let figure = figures[contender.id], figure.minimum.isFinite else { return nil }
            let isOwn = contender.id.hasPrefix("overdrive")
            return Cell(
                minimum: figure.minimum, ratio: isOwn ? nil : own.map { figure.minimum / $0.minimum },
                isSettled: figure.processes.isSettled && (isOwn || own?.processes.isSettled ?? false))
        }
    }

    /// A figure, and in brackets how many times as long as Overdrive's it is.
    private static func words(_ cell: Cell) -> String {
        Decimals.short(cell.minimum) + (cell.ratio.map { " (\(cell.isSettled ? "" : "~")\(Decimals.short($0))×)" } ?? "")
    }

    /// Rows of text: title, unit, and a cell each.
    func rows(_ words: (Cell) -> String = Table.words) -> [[String]] {
        let figures = results.figures
        var rows: [[String]] = []
        for workload in Workload.all {
            let mine = figures.filter { $0.workload == workload.id && ($0.workers == workers || $0.contender.hasPrefix("serial")) }
            guard !mine.isEmpty else { continue }
            let cells = cells(of: workload, Dictionary(mine.map { ($0.contender, $0) }) { first, _ in first })
            rows.append([workload.id, workload.unit.rawValue] + cells.map { cell in
                cell.map(words) ?? "-"
            })
        }
        return rows
    }

    public var text: String {
        let head = ["workload", "unit"] + contenders.map(\.title)
        let rows = [head] + rows()
        let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }
        return lines.joined(separator: "\n") + "\n\n" + footer + "\n"
    }

    public var markdown: String { markdown(rows()) }

    private func markdown(_ rows: [[String]]) -> String {
        let head = ["workload", "unit"] + contenders.map(\.title)
        var lines = ["| " + head.joined(separator: " | ") + " |"]
        lines.append("|---|---|" + contenders.map { _ in "---:|" }.joined())
        lines += rows.map { "| " + $0.joined(separator: " | ") + " |" }
        return lines.joined(separator: "\n") + "\n\n" + footer + "\n"
    }

    /// For the README: Overdrive's figure, and of the others only how many times as long they take; bold is who is faster.
    public var brief: String {
        markdown(rows { cell in
            guard let ratio = cell.ratio else { return Decimals.short(cell.minimum) }
            let words = "\(cell.isSettled ? "" : "~")\(Decimals.short(ratio))×"
            return ratio < 0.995 ? "**\(words)**" : words
        })
    }

    /// What the numbers are and where they come from.
    var footer: String {
        let print = results.fingerprint
        let counts = results.processes
        let processes = counts.lowerBound == counts.upperBound ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
        var text = "Minimum of \(processes) processes in interleaved rounds, \(workers) workers; ×: times as long as Overdrive (below 1 it loses); "
            + "~: fewer than three processes came within 5 % of one of the two minima. "
            + "\(print.cpu), \(print.cpus) CPUs, \(print.os), \(print.kernel), \(print.date), commit \(print.commit). \(results.caveat)"
        let failed = results.runs.filter { $0.failure != nil }
        if !failed.isEmpty {
            text += " \(failed.count) runs failed: "
                + Set(failed.map { "\($0.workload) by \($0.contender) (\($0.failure ?? ""))" }).sorted().joined(separator: ", ") + "."
        }
        return text
    }
}
