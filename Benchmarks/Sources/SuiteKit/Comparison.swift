/// Two results side by side, by their ratios: absolute times do not travel.
public struct Comparison: Sendable {
    public struct Row: Sendable {
        public let workload, contender: String
        public let workers: Int
        let then, now: Ratio
        /// The contender's time over Overdrive's, then and now.
        public var before: Double { then.value }
        public var after: Double { now.value }
        /// How far apart they are: 0 is the same, 0.15 is 15 %.
        public var difference: Double { max(before, after) / min(before, after) - 1 }
    }

    public let rows: [Row]

    public init(_ before: Results, _ after: Results) {
        let (old, new) = (before.ratios(), after.ratios())
        rows = new.compactMap { key, ratio in
            old[key].map { Row(workload: key.workload, contender: key.contender, workers: key.workers, then: $0, now: ratio) }
        }.sorted { ($0.workload, $0.workers, $0.contender) < ($1.workload, $1.workers, $1.contender) }
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
        let sure = rows.filter { $0.then.isSettled && $0.now.isSettled }
        lines.append("\(rows.count - far.count) of \(rows.count) ratios agree within \(Int(tolerance * 100)) %, "
            + "\(sure.count { $0.difference <= tolerance }) of the \(sure.count) that had settled in both runs")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The ratios that a comparison's text says are apart: by how much, in its words.
    public static func apart(in text: String) -> [Ratio.Key: String] {
        var apart: [Ratio.Key: String] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 6, words[5] == "<-", let workers = Int(words[2]) else { continue }
            apart[Ratio.Key(workload: String(words[0]), contender: String(words[1]), workers: workers)] = "two runs had \(words[3]) and \(words[4])"
        }
        return apart
    }
}

extension Comparison.Row {
    private typealias Side = (name: String, then: Processes, now: Processes, before: Double, after: Double, by: Double)

    /// The sides that moved, the one that moved more first; the other one too, where it did more than half of what is allowed.
    func changes(_ tolerance: Double) -> String {
        let sides = [(contender, then.theirs, now.theirs), ("overdrive", then.ours, now.ours)]
            .map { name, then, now -> Side in
                let (before, after) = (then.all[0].minimum, now.all[0].minimum)
                return (name: name, then: then, now: now, before: before, after: after, by: max(before, after) / min(before, after) - 1)
            }
            .sorted { $0.by > $1.by }
        return sides.enumerated().filter { $0.offset == 0 || $0.element.by > tolerance / 2 }.map { _, side in
            "\(side.name) \(Decimals.short(side.before)), then \(Decimals.short(side.after)) (\(side.then.change(to: side.now)))"
        }.joined(separator: "; ")
    }
}
