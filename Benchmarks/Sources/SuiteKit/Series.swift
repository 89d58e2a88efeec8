internal import BenchmarkKit

/// A series of measurements under way: rounds of everything, then more of what has not settled, then the counts.
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
    private var figures: [String: [Run]]
    private var known: Set<String>
    private var said = Harness.now
    private var pace, goodPace: Double?

    init(_ plan: Protocol, _ journal: Journal, _ progress: @escaping (String) -> Void) {
        self.plan = plan
        self.journal = journal
        self.progress = progress
        runs = journal.runs
        known = Set(journal.runs.map(\.key))
        figures = Dictionary(grouping: journal.runs.filter { !$0.isCounting }, by: \.figure)
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

    /// Again and again whatever minimum, or whatever ratio's two, fewer than three processes came near, and Overdrive beside
    /// it, as a ratio is of the rounds that both have; until all have settled or the time is over.
    mutating func takeWhatHasNotSettled() {
        var round = plan.rounds
        goodPace = Processes.goodPace(of: runs)
        while spent < Double(plan.settle) {
            let open = pairs.map { $0.filter(isOpen) }
            let count = open.reduce(0) { $0 + $1.count }
            guard count > 0 else { break }
            for (group, open) in zip(pairs, open) where !open.isEmpty {
                let wanted = Set(open.map(\.figure) + open.compactMap { own(beside: $0)?.figure })
                for pair in turned(group, by: round) {
                    guard spent < Double(plan.settle) else { break }
                    if wanted.contains(pair.figure) { take(pair, round) }
                    if isTimeToSpeak() {
                        progress("\(count) figures have not settled, at most \(Series.time(Double(plan.settle) - spent)) to go")
                    }
                }
            }
            round += 1
            goodPace = Processes.goodPace(of: runs)
        }
        let open = pairs.joined().filter(isOpen).count
        if plan.settle > 0 { progress(open == 0 ? "all figures have settled" : "\(open) figures have not settled") }
    }

    /// One process each with a library that counts, where it was built.
    mutating func takeCounts() {
        guard plan.programs.file("counting.so") != nil else { return }
        for pair in pairs.joined() where !isWithoutAnswer(pair) { take(pair, Run.counting) }
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
        if !run.isCounting { figures[run.figure, default: []].append(run) }
    }

    /// Seconds of all measurements, those of an interrupted run too.
    private var spent: Double { runs.reduce(0) { $0 + ($1.seconds ?? 0) } }

    private func isOpen(_ pair: Pair) -> Bool {
        guard !isWithoutAnswer(pair) else { return false }
        let processes = processes(of: pair)
        guard let own = own(beside: pair), !isWithoutAnswer(own) else { return !processes.isSettled }
        return !(Ratio(processes, self.processes(of: own))?.isSettled ?? false)
    }

    private func processes(of pair: Pair) -> Processes { Processes(figures[pair.figure] ?? [], goodPace: goodPace) }

    /// Overdrive's, with which a contender's ratio is formed; its own figures have none.
    private func own(beside pair: Pair) -> Pair? {
        guard pair.contender.id != "overdrive" else { return nil }
        let workers = pair.contender.isSerial ? plan.workers.max() ?? 1 : pair.workers
        return pairs.joined().first { $0.workload.id == pair.workload.id && $0.contender.id == "overdrive" && $0.workers == workers }
    }

    /// It does not do that, or fails at it: once more would change nothing.
    private func isWithoutAnswer(_ pair: Pair) -> Bool {
        figures[pair.figure]?.allSatisfy { $0.samples.isEmpty } ?? false
    }

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
