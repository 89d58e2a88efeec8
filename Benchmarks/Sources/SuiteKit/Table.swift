/// The table of `make bench`: what each contender needs, and how many times as long as Overdrive.
public struct Table: Sendable {
    let results: Results
    let contenders: [Contender]
    let workers: Int
    private let ratios: [Ratio.Key: Ratio]

    /// With the contenders that have anything to say.
    public init(_ results: Results, workers: Int, all: Bool = false) {
        self.results = results
        self.workers = workers
        ratios = results.ratios(most: workers)
        let present = Set(results.runs.map(\.contender))
        contenders = Contender.all.filter { ($0.isHeadline || all) && present.contains($0.id) }
    }

    /// Rows of text: title, unit, and a cell each, with the time and how many times as long as Overdrive's it is; where `brief`,
    /// of these only the latter.
    func rows(brief: Bool = false) -> [[String]] {
        let figures = results.figures
        return Workload.all.compactMap { workload in
            let mine = figures.filter { $0.workload == workload.id && ($0.workers == workers || $0.contender.hasPrefix("serial")) }
            guard !mine.isEmpty else { return nil }
            return [workload.id, workload.unit.rawValue] + contenders.map { contender in
                guard let figure = mine.first(where: { $0.contender == contender.id }), figure.time.isFinite else { return "-" }
                let time = Decimals.short(figure.time)
                let ratio = ratios[Ratio.Key(workload: workload.id, contender: contender.id, workers: figure.workers)]
                return ratio.map { brief ? $0.words : "\(time) · \($0.words)" } ?? time
            }
        }
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

    /// All rows as Markdown: Overdrive's time, and for each other contender how many times as long it takes.
    public var brief: String { markdown(rows(brief: true)) }

    /// The README's rows: the workload's identifier, and a description for readers who do not know the suite.
    public static let headlines = [
        ("spawn-outside", "submit a closure"), ("fib", "fork and join"), ("blocked", "16 closures that each sleep 50 ms, unannounced"),
        ("dag-chain", "a chain of dependent tasks"), ("loop-grain-10", "a loop with a 6 ns body"),
        ("ping-pong", "two queues or actors exchanging messages"),
    ]

    /// The README's table: six rows of ``brief``, wins and losses, beside three contenders.
    public var headline: String {
        let shown = ["libdispatch", "concurrency", "onetbb"].compactMap { id in contenders.firstIndex { $0.id == id } }
        let mine = contenders.firstIndex { $0.id == "overdrive" } ?? 0
        let rows = rows(brief: true)
        var lines = ["| workload | Overdrive | " + shown.map { contenders[$0].title }.joined(separator: " | ") + " |"]
        lines.append("|---|---:|" + shown.map { _ in "---:|" }.joined())
        for (id, words) in Self.headlines {
            guard let row = rows.first(where: { $0[0] == id }) else { continue }
            let unit = row[1].split(separator: " ")[0]
            lines.append("| \(words) (`\(id)`) | \(row[2 + mine]) \(unit) | " + shown.map { row[2 + $0] }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What the numbers are and where they come from.
    var footer: String {
        let print = results.fingerprint
        let counts = results.rounds
        let rounds = counts.lowerBound == counts.upperBound ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
        var text = "\(rounds) interleaved rounds, one process of each contender, \(workers) workers. A time is the median of the processes' fastest "
            + "samples. A ratio (×) is the contender's time divided by Overdrive's in the same round, lowest to highest. **Bold**: faster than "
            + "Overdrive in every round. In brackets: either side is faster in some rounds. " + smaller
            + (workers > print.cpus ? "There are more workers than CPUs, so the figures show no speed-up. " : "")
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
            return theirs.isEmpty ? nil : "\(contender.title) in `" + theirs.joined(separator: ", ") + "`"
        }
        return lists.isEmpty ? "" : "Measured on smaller jobs, per unit: " + lists.joined(separator: "; ") + ". "
    }
}
