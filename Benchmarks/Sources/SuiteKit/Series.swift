internal import BenchmarkKit

/// A series of measurements under way: rounds of everything, then the counts.
struct Series {
    /// What is measured: a workload, a contender, a number of workers.
    private struct Pair {
        let workload: Workload
        let contender: Contender
        let workers: Int

        var figure: String { "\(workload.id) \(contender.id) \(workers)" }
    }

    private let plan: Protocol
    private let journal: Journal
    private let progress: (String) -> Void
    private let pairs: [[Pair]]
    private(set) var runs: [Run]
    private var known: Set<String>
    private var said = Harness.now
    private var pace: Double?

    init(_ plan: Protocol, _ journal: Journal, _ progress: @escaping (String) -> Void) {
        self.plan = plan
        self.journal = journal
        self.progress = progress
        runs = journal.runs
        known = Set(journal.runs.map(\.key))
        let abilities = Dictionary(uniqueKeysWithValues: plan.contenders.map { ($0.id, plan.programs.words(of: $0)) })
        pairs = plan.workloads.map { workload in
            plan.contenders.filter { abilities[$0.id]?.contains(workload.word) ?? false }.flatMap { contender in
                let alone = plan.alone && contender.id == "overdrive" && workload.showsSpeedUp && !plan.workers.contains(1)
                return (contender.isSerial ? [1] : (alone ? [1] : []) + plan.workers)
                    .map { Pair(workload: workload, contender: contender, workers: $0) }
            }
        }
    }

    /// Everything, in as many rounds as the plan has.
    mutating func takeRounds() {
        let all = pairs.reduce(0) { $0 + $1.count }
        for round in 0..<plan.rounds {
            for (done, group) in zip(starts, pairs) {
                for (index, pair) in turned(group, by: round).enumerated() {
                    take(pair, round)
                    guard isTimeToSpeak() else { continue }
                    let left = Double((plan.rounds - round) * all - done - index - 1) * spent / Double(max(runs.count, 1))
                    progress("round \(round + 1) of \(plan.rounds): \(done + index + 1) of \(all) runs, about \(Series.time(left)) to go")
                }
            }
            progress("round \(round + 1) of \(plan.rounds) done")
        }
    }

    /// One process each of what has an answer with a library that counts, where it was built.
    mutating func takeCounts() {
        guard plan.programs.file("counting.so") != nil else { return }
        let answered = Set(runs.filter { !$0.samples.isEmpty }.map(\.figure))
        for pair in pairs.joined() where answered.contains(pair.figure) { take(pair, Run.counting) }
    }

    private mutating func take(_ pair: Pair, _ round: Int) {
        var run = Run(
            workload: pair.workload.id, contender: pair.contender.id, workers: pair.workers, round: round,
            parameters: pair.workload.parameters(plan.size, for: pair.contender.id), unit: pair.workload.unit.rawValue, units: 0,
            samples: [], facts: [:], others: 0, load: 0, failure: nil)
        guard known.insert(run.key).inserted else { return }
        let before = pace ?? Pace.measure()
        plan.measure(&run, pair.workload, pair.contender)
        let after = Pace.measure()
        run.pace = (before + after) / 2
        pace = after
        if let failure = run.failure { progress("\(run.key): \(failure)") }
        journal.append(run)
        runs.append(run)
    }

    /// Seconds of all measurements, those of an interrupted run too.
    private var spent: Double { runs.reduce(0) { $0 + ($1.seconds ?? 0) } }

    /// Who goes first changes with every round.
    private func turned(_ group: [Pair], by round: Int) -> [Pair] {
        group.isEmpty ? [] : (0..<group.count).map { group[($0 + round) % group.count] }
    }

    /// How many runs of a round come before each group.
    private var starts: [Int] {
        var before = 0
        return pairs.map { group in
            defer { before += group.count }
            return before
        }
    }

    /// Once a minute.
    private mutating func isTimeToSpeak() -> Bool {
        guard Harness.now - said >= 60_000_000_000 else { return false }
        said = Harness.now
        return true
    }

    private static func time(_ seconds: Double) -> String {
        seconds < 90 ? "\(max(0, Int(seconds))) s" : "\(Int((seconds / 60).rounded())) min"
    }
}
