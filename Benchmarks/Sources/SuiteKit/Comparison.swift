/// Two results side by side, by their ratios: absolute times do not travel.
public struct Comparison: Sendable {
    typealias Row = (key: Ratio.Key, before: Ratio, after: Ratio)

    let rows: [Row]

    public init(_ before: Results, _ after: Results) {
        let old = before.ratios()
        rows = after.ratios().compactMap { key, after in old[key].map { (key, $0, after) } }
            .sorted { ($0.key.workload, $0.key.workers, $0.key.contender) < ($1.key.workload, $1.key.workers, $1.key.contender) }
    }

    public var agree: Bool { rows.allSatisfy { $0.before.agrees(with: $0.after) } }

    /// Every ratio of both with its interval, those that disagree marked, and how many agree how closely.
    public var text: String {
        func words(_ ratio: Ratio) -> String {
            "\(Decimals.short(ratio.median))× (\(Decimals.short(ratio.lowest))–\(Decimals.short(ratio.highest)))"
        }
        var lines = rows.map { key, before, after in
            "\(key.workload)  \(key.contender)  \(key.workers)  \(words(before))  \(words(after))\(before.agrees(with: after) ? "" : "  <- apart")"
        }
        let sides = rows.map { ($0.before.side, $0.after.side) }
        let widths = rows.flatMap { [$0.before, $0.after] }.map { $0.highest / $0.lowest }
        lines += [
            "\(rows.count { $0.before.agrees(with: $0.after) }) of \(rows.count) ratios agree: the median of each run lies in the interval of the other, or "
                + "within 2 % of it; half of the intervals are narrower than 1 to \(Decimals.short(Decimals.median(widths)))",
            "\(sides.count { $0 == $1 && $0 != 0 }) of \(rows.count) are on the same side of 1 in every round of both runs, "
                + "\(sides.count { $0 * $1 < 0 }) on one in every round of the first and on the other in every round of the second",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}
