/// Two results side by side, by their ratios: absolute times do not travel.
public struct Comparison: Sendable {
    public struct Row: Sendable {
        public let workload, contender: String
        public let workers: Int
        let then, now: Pair
        /// The contender's time over Overdrive's, then and now.
        public var before: Double { then.ratio }
        public var after: Double { now.ratio }
        /// How far apart they are: 0 is the same, 0.15 is 15 %.
        public var difference: Double { max(before, after) / min(before, after) - 1 }
    }

    /// What one result says of a contender and of Overdrive beside it.
    struct Pair: Sendable {
        let theirs, ours: Figure
        var ratio: Double { theirs.minimum / ours.minimum }
    }

    public let rows: [Row]

    public init(_ before: Results, _ after: Results) {
        let (old, new) = (Comparison.pairs(before), Comparison.pairs(after))
        rows = new.compactMap { key, pair in
            old[key].map { Row(workload: key.workload, contender: key.contender, workers: key.workers, then: $0, now: pair) }
        }.sorted { ($0.workload, $0.workers, $0.contender) < ($1.workload, $1.workers, $1.contender) }
    }

    private struct Key: Hashable {
        let workload, contender: String
        let workers: Int
    }

    private static func pairs(_ results: Results) -> [Key: Pair] {
        let figures = results.figures
        var own: [Key: Figure] = [:]
        for figure in figures where figure.contender == "overdrive" {
            own[Key(workload: figure.workload, contender: "", workers: figure.workers)] = figure
        }
        var pairs: [Key: Pair] = [:]
        for figure in figures where figure.contender != "overdrive" && figure.minimum.isFinite {
            guard let base = own[Key(workload: figure.workload, contender: "", workers: figure.workers)] else { continue }
            pairs[Key(workload: figure.workload, contender: figure.contender, workers: figure.workers)] = Pair(theirs: figure, ours: base)
        }
        return pairs
    }

    /// Every ratio, and which of them disagree by more than `tolerance`: then also whose time it was that changed, and why, as
    /// far as the processes tell.
    public func text(tolerance: Double) -> String {
        var lines: [String] = []
        let far = rows.filter { $0.difference > tolerance }
        for row in rows {
            let mark = row.difference > tolerance ? "  <- \(Int((row.difference * 100).rounded())) % apart: \(row.changes(tolerance))" : ""
            lines.append("\(row.workload)  \(row.contender)  \(row.workers)  \(Decimals.short(row.before))×  \(Decimals.short(row.after))×\(mark)")
        }
        lines.append("\(rows.count - far.count) of \(rows.count) ratios agree within \(Int(tolerance * 100)) %")
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Comparison.Row {
    /// The sides that moved, the one that moved more first; the other one too, where it did more than half of what is allowed.
    func changes(_ tolerance: Double) -> String {
        let sides = [(contender, then.theirs, now.theirs), ("overdrive", then.ours, now.ours)]
            .map { name, then, now in
                (name: name, then: then, now: now, by: max(then.minimum, now.minimum) / min(then.minimum, now.minimum) - 1)
            }
            .sorted { $0.by > $1.by }
        return sides.enumerated().filter { $0.offset == 0 || $0.element.by > tolerance / 2 }.map { _, side in
            "\(side.name) \(Decimals.short(side.then.minimum)), then \(Decimals.short(side.now.minimum)) "
                + "(\(side.then.processes.change(to: side.now.processes)))"
        }.joined(separator: "; ")
    }
}
