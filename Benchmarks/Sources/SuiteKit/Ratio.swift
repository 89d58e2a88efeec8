/// How many times as long as Overdrive a contender takes: in each round that both ran, its process's fastest sample over that of
/// Overdrive's process. The rounds' median is the figure, the lowest to the highest of them its interval.
public struct Ratio: Sendable {
    /// From the lowest to the highest.
    let rounds: [Double]

    /// Both sides' fastest samples by round; where fewer than three rounds have both there is no ratio.
    init?(_ theirs: [Int: Double], _ ours: [Int: Double]) {
        rounds = theirs.compactMap { round, time in ours[round].map { time / $0 } }.sorted()
        guard rounds.count >= 3 else { return nil }
    }

    var lowest: Double { rounds[0] }
    var highest: Double { rounds[rounds.count - 1] }
    var median: Double { Decimals.median(rounds) }

    /// -1 where the contender was faster in every round, 1 where Overdrive was, 0 where neither: by the ends as they are written.
    var side: Int { (100 * highest).rounded() < 100 ? -1 : (100 * lowest).rounded() > 100 ? 1 : 0 }

    /// How far outside of an interval another run's median may lie: 2 %, as some intervals are narrower than 1 %.
    static let slack = 1.02

    /// Whether the median of each run lies in the interval of the other.
    func agrees(with other: Ratio) -> Bool { contains(other.median) && other.contains(median) }

    private func contains(_ value: Double) -> Bool { lowest <= value * Ratio.slack && value <= highest * Ratio.slack }

    /// The interval: bold where the contender is faster, in brackets where neither is.
    var words: String {
        let (low, high) = (Ratio.short(lowest), Ratio.short(highest))
        let words = (low == high ? low : "\(low)–\(high)") + "×"
        return side < 0 ? "**\(words)**" : side == 0 ? "(\(words))" : words
    }

    /// Two digits; hundredths below 2, and no less than whole ones from 10.
    private static func short(_ value: Double) -> String {
        Decimals.short(value >= 10 ? value.rounded() : value >= 2 ? (10 * value).rounded() / 10 : value)
    }
}

extension Ratio {
    /// Whose ratio it is.
    struct Key: Hashable, Sendable {
        let workload, contender: String
        /// The contender's.
        let workers: Int
    }
}

extension Results {
    /// Every contender's ratio to Overdrive in Swift, or else in C: what tables, pictures and comparisons have. One thread stands
    /// beside Overdrive with `most` workers, or with as many as the result has.
    func ratios(most: Int? = nil) -> [Ratio.Key: Ratio] {
        let figures = figures
        let most = most ?? fingerprint.workers.max() ?? 1
        var own: [String: Figure] = [:]
        for figure in figures.filter({ $0.contender == "overdrive" }) + figures.filter({ $0.contender == "overdrive-c" }) {
            let place = "\(figure.workload) \(figure.workers)"
            own[place] = own[place] ?? figure
        }
        var ratios: [Ratio.Key: Ratio] = [:]
        for figure in figures {
            let workers = figure.contender.hasPrefix("serial") ? most : figure.workers
            guard let ours = own["\(figure.workload) \(workers)"], ours.contender != figure.contender, figure.contender != "overdrive",
                let ratio = Ratio(figure.rounds, ours.rounds)
            else { continue }
            ratios[Ratio.Key(workload: figure.workload, contender: figure.contender, workers: figure.workers)] = ratio
        }
        return ratios
    }
}
