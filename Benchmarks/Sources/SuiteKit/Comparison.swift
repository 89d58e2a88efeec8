/// Two results side by side, by their ratios: absolute times do not travel.
public struct Comparison: Sendable {
    public struct Row: Sendable {
        public let workload, contender: String
        public let workers: Int
        /// The contender's time over Overdrive's, then and now.
        public let before, after: Double
        /// How far apart they are: 0 is the same, 0.15 is 15 %.
        public var difference: Double { max(before, after) / min(before, after) - 1 }
    }

    public let rows: [Row]

    public init(_ before: Results, _ after: Results) {
        let (old, new) = (Comparison.ratios(before), Comparison.ratios(after))
        rows = new.compactMap { key, ratio in
            old[key].map { Row(workload: key.workload, contender: key.contender, workers: key.workers, before: $0, after: ratio) }
        }.sorted { ($0.workload, $0.workers, $0.contender) < ($1.workload, $1.workers, $1.contender) }
    }

    private struct Key: Hashable {
        let workload, contender: String
        let workers: Int
    }

    private static func ratios(_ results: Results) -> [Key: Double] {
        let figures = results.figures
        var own: [Key: Double] = [:]
        for figure in figures where figure.contender == "overdrive" {
            own[Key(workload: figure.workload, contender: "", workers: figure.workers)] = figure.minimum
        }
        var ratios: [Key: Double] = [:]
        for figure in figures where figure.contender != "overdrive" && figure.minimum.isFinite {
            guard let base = own[Key(workload: figure.workload, contender: "", workers: figure.workers)] else { continue }
            ratios[Key(workload: figure.workload, contender: figure.contender, workers: figure.workers)] = figure.minimum / base
        }
        return ratios
    }

    /// Every ratio, and which of them disagree by more than `tolerance`.
    public func text(tolerance: Double) -> String {
        var lines: [String] = []
        let far = rows.filter { $0.difference > tolerance }
        for row in rows {
            let mark = row.difference > tolerance ? "  <- \(Int((row.difference * 100).rounded())) % apart" : ""
            lines.append("\(row.workload)  \(row.contender)  \(row.workers)  \(Decimals.short(row.before))×  \(Decimals.short(row.after))×\(mark)")
        }
        lines.append("\(rows.count - far.count) of \(rows.count) ratios agree within \(Int(tolerance * 100)) %")
        return lines.joined(separator: "\n") + "\n"
    }
}
