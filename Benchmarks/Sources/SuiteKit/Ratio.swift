/// How many times as long as Overdrive a contender takes: its minimum over Overdrive's, both over the rounds that both have.
///
/// What has not settled is measured more often, and who has more processes finds a lower minimum: over the rounds of both,
/// nobody has more.
public struct Ratio: Sendable {
    /// The processes of those rounds.
    let theirs, ours: Processes

    init?(_ theirs: Processes, _ ours: Processes) {
        let rounds = theirs.rounds.intersection(ours.rounds)
        guard !rounds.isEmpty else { return nil }
        (self.theirs, self.ours) = (theirs.of(rounds), ours.of(rounds))
    }

    public var value: Double { theirs.all[0].minimum / ours.all[0].minimum }

    /// Whether both minima were found often enough to be found again.
    var isSettled: Bool { theirs.isSettled && ours.isSettled }

    /// Why it may not be found again; nothing where it may.
    func doubt(of contender: String) -> String? {
        let words = [theirs.doubt.map { "\(contender): \($0)" }, ours.doubt.map { "overdrive: \($0)" }].compactMap { $0 }
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }
}

extension Ratio {
    /// Whose ratio it is.
    public struct Key: Hashable, Sendable {
        public let workload, contender: String
        /// The contender's.
        public let workers: Int
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
                let ratio = Ratio(figure.processes, ours.processes)
            else { continue }
            ratios[Ratio.Key(workload: figure.workload, contender: figure.contender, workers: figure.workers)] = ratio
        }
        return ratios
    }

    /// The ratios that may not be found again and why, in the order of the suite; `apart` are those that two runs disagree on.
    public func doubts(apart: [Ratio.Key: String]) -> [(key: Ratio.Key, why: String)] {
        let ratios = ratios()
        return figures.compactMap { figure in
            let key = Ratio.Key(workload: figure.workload, contender: figure.contender, workers: figure.workers)
            guard let ratio = ratios[key] else { return nil }
            let words = [ratio.doubt(of: figure.contender), apart[key]].compactMap { $0 }
            return words.isEmpty ? nil : (key, words.joined(separator: "; "))
        }
    }
}
