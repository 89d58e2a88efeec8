/// The table of `make bench`: what each contender needs, and how many times as long as Overdrive.
public struct Table: Sendable {
    let results: Results
    let contenders: [Contender]
    let workers: Int
    private let ratios: [Ratio.Key: Ratio]
    /// Ratios that another run contradicts.
    private let apart: Set<Ratio.Key>

    /// With the contenders that have anything to say.
    public init(_ results: Results, workers: Int, all: Bool = false, apart: Set<Ratio.Key> = []) {
        self.results = results
        self.workers = workers
        self.apart = apart
        ratios = results.ratios(most: workers)
        let present = Set(results.runs.map(\.contender))
        contenders = Contender.all.filter { ($0.isHeadline || all) && present.contains($0.id) }
    }

    /// A figure, and its ratio to Overdrive's over the rounds of both.
    struct Cell {
        let minimum: Double
        let ratio: Double?
        /// Whether both of the ratio's minima were found by several processes, and no other run has another ratio.
        let isSettled: Bool
    }

    func cells(of workload: Workload, _ figures: [String: Figure]) -> [Cell?] {
        contenders.map { contender in
            guard let figure = figures[contender.id], figure.minimum.isFinite else { return nil }
            let key = Ratio.Key(workload: workload.id, contender: contender.id, workers: figure.workers)
            let ratio = contender.id == "overdrive-c" ? nil : ratios[key]
            return Cell(minimum: figure.minimum, ratio: ratio?.value, isSettled: ratio?.isSettled ?? false && !apart.contains(key))
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
        var text = "Times are minima of all processes, \(processes) for each, in interleaved rounds, \(workers) workers; ×: times as long as "
            + "Overdrive (below 1 it loses), both minima over the rounds that both have; ~: may not be found again: fewer than three processes came "
            + "within 5 % of one of these two minima, or they did so only while the machine was slower than it can be"
            + (apart.isEmpty ? ". " : ", or a second run was more than 15 % away. ") + smaller
            + (workers > print.cpus ? "These are more workers than CPUs: no speed-up can be read from them. " : "")
            + "\(print.cpu), \(print.cpus) CPUs, \(print.os), \(print.kernel), \(print.date), commit \(print.commit). \(results.caveat)"
        let failed = results.runs.filter { $0.failure != nil }
        if !failed.isEmpty {
            text += " \(failed.count) runs failed: "
                + Set(failed.map { "\($0.workload) by \($0.contender) (\($0.failure ?? ""))" }).sorted().joined(separator: ", ") + "."
        }
        return text
    }

    /// Which contenders had smaller jobs than Overdrive.
    private var smaller: String {
        let parameters = Dictionary(
            results.runs.map { ("\($0.workload) \($0.contender)", $0.parameters) }, uniquingKeysWith: { first, _ in first })
        let lists = contenders.compactMap { contender -> String? in
            let theirs = Workload.all.map(\.id).filter { workload in
                guard let own = parameters["\(workload) overdrive"], let other = parameters["\(workload) \(contender.id)"] else { return false }
                return own != other
            }
            return theirs.isEmpty ? nil : "\(contender.title) in " + theirs.joined(separator: ", ")
        }
        return lists.isEmpty ? "" : "Smaller jobs, as their costs are per unit, had " + lists.joined(separator: "; ") + ". "
    }
}
