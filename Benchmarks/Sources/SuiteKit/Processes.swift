internal import Glibc

/// The processes that measured one figure, by their minima: whether these agree, and how they lie where they do not.
public struct Processes: Sendable {
    /// One process.
    struct One: Sendable {
        let round: Int
        let minimum: Double
        /// CPUs that others kept busy meanwhile.
        let others: Double
        /// What the machine's fixed piece of work took around it; nil in results of former times.
        let pace: Double?
        /// What was counted of it, per sample.
        let facts: [String: Double]
        /// CPUs that it kept busy itself: whether the kernel put its threads on one or on several.
        var cpus: Double? { facts["cpus"] }
    }

    /// From the fastest to the slowest.
    let all: [One]
    /// What the fastest tenth of a whole series had for a pace.
    private let goodPace: Double?

    init(_ runs: [Run], goodPace: Double? = nil) {
        self.init(runs.filter { !$0.isCounting }.compactMap { run in
            run.samples.min().map { One(round: run.round, minimum: $0, others: run.others, pace: run.pace, facts: run.facts) }
        }, goodPace)
    }

    private init(_ processes: [One], _ goodPace: Double?) {
        all = processes.sorted { $0.minimum < $1.minimum }
        self.goodPace = goodPace
    }

    /// The rounds that they are of.
    var rounds: Set<Int> { Set(all.map(\.round)) }

    /// Those of some rounds only.
    func of(_ rounds: Set<Int>) -> Processes { Processes(all.filter { rounds.contains($0.round) }, goodPace) }

    static func + (a: Processes, b: Processes) -> Processes { Processes(a.all + b.all, nil) }

    /// The pace that a tenth of the runs had, or a better one.
    static func goodPace(of runs: [Run]) -> Double? {
        let paces = runs.compactMap(\.pace).sorted()
        return paces.isEmpty ? nil : paces[paces.count / 10]
    }

    /// How close to the minimum a process has to come to confirm it, and how many have to. Were processes lots from one urn,
    /// of which three in n come near, then n more would miss it once in twenty times; but the machine's pace, and where
    /// the kernel puts threads, change from one series to the next.
    static let (close, enough) = (1.05, 3)

    /// The processes that found the minimum, or nearly.
    var near: ArraySlice<One> { all.prefix { $0.minimum <= Processes.close * all[0].minimum } }

    /// Whether the minimum was found often enough to be found again.
    var isSettled: Bool { near.count >= Processes.enough && !wasSlow }

    /// Whether all that came near did so on a machine that was slower than it can be: then they agree on too much.
    private var wasSlow: Bool {
        guard let goodPace, let best = near.compactMap(\.pace).min() else { return false }
        return best > 1.08 * goodPace
    }

    /// Two groups with a gap between them that is much wider than either: something has two ways to go, and a process
    /// keeps to one of them. At least a fifth, and two processes on each side.
    var modes: (low: ArraySlice<One>, high: ArraySlice<One>)? {
        guard all.count >= 4 else { return nil }
        func gap(_ at: Int) -> Double { all[at].minimum / all[at - 1].minimum }
        guard let widest = (2...all.count - 2).max(by: { gap($0) < gap($1) }), gap(widest) >= 1.2 else { return nil }
        let (low, high) = (all[..<widest], all[widest...])
        let least = gap(widest).squareRoot()
        return Processes.width(low) <= least && Processes.width(high) <= least ? (low, high) : nil
    }

    private static func width(_ group: ArraySlice<One>) -> Double {
        guard let first = group.first, let last = group.last else { return 1 }
        return last.minimum / first.minimum
    }

    var median: One? { all.isEmpty ? nil : all[all.count / 2] }

    var medianPace: Double? { Processes.middle(all.compactMap(\.pace)) }

    var others: Double { all.isEmpty ? 0 : all.map(\.others).reduce(0, +) / Double(all.count) }

    private static func middle(_ values: [Double]) -> Double? { values.isEmpty ? nil : values.sorted()[values.count / 2] }

    // MARK: In words

    /// Why the minimum may not be found again; nothing where it may.
    public var doubt: String? {
        guard !all.isEmpty, !isSettled else { return nil }
        if near.count >= Processes.enough, let goodPace, let best = near.compactMap(\.pace).min() {
            return "all of its processes ran while the machine was \(Decimals.short(best / goodPace)) times as slow as at its best"
        }
        return how + pacing
    }

    /// How the processes lie.
    private var how: String {
        if let (low, high) = modes {
            return "two modes, \(Processes.span(low)) (\(low.count) of \(all.count) processes) and \(Processes.span(high))" + Processes.placing(low, high)
        }
        let middle = median.map { ", the middle one took \(Decimals.short($0.minimum))" } ?? ""
        return "\(near.count) of \(all.count) processes came near \(Decimals.short(all[0].minimum))" + middle
            + Processes.placing(near, all[near.endIndex...])
    }

    /// Whether the kernel had put the threads of one group on more CPUs than those of the other.
    private static func placing(_ a: ArraySlice<One>, _ b: ArraySlice<One>) -> String {
        guard let few = middle(a.compactMap(\.cpus)), let many = middle(b.compactMap(\.cpus)), abs(few - many) > 0.25 else { return "" }
        return "; these with \(Decimals.short(few)) CPUs busy, those with \(Decimals.short(many))"
    }

    /// Whether those that came near had a faster machine, or fewer neighbours.
    private var pacing: String {
        let rest = all[near.endIndex...]
        guard !rest.isEmpty else { return "" }
        var words = ""
        if let fast = Processes.middle(near.compactMap(\.pace)), let slow = Processes.middle(rest.compactMap(\.pace)), slow > 1.05 * fast {
            words += "; the machine was \(Decimals.short(slow / fast)) times as slow during the others"
        }
        let busy = rest.map(\.others).reduce(0, +) / Double(rest.count)
        if busy > 0.2 { words += "; neighbours kept \(Decimals.short(busy)) CPUs busy during the others" }
        return words
    }

    static func span(_ group: ArraySlice<One>) -> String {
        let ends = [group.first, group.last].compactMap { $0.map { Decimals.short($0.minimum) } }
        return ends.first == ends.last ? ends[0] : ends.joined(separator: " to ")
    }

    /// Why the minimum of this series and of one after it are apart.
    func change(to later: Processes) -> String {
        guard let then = all.first, let now = later.all.first else { return "one of the two has no answer" }
        let isFirstLower = then.minimum <= now.minimum
        let (low, high) = isFirstLower ? (self, later) : (later, self)
        let (lower, higher) = isFirstLower ? ("first", "second") : ("second", "first")
        var words: String
        // One run knew both, the other only the slow one.
        if let modes = (self + later).modes, let end = modes.low.last?.minimum, high.all[0].minimum > end,
            low.all.contains(where: { $0.minimum > end }) {
            func among(_ processes: Processes) -> String {
                "\(processes.all.count { $0.minimum <= end }) of \(processes.all.count)"
            }
            words = "two modes, \(Processes.span(modes.low)) (\(among(self)) processes of the first run, \(among(later)) of the second) "
                + "and \(Processes.span(modes.high))" + Processes.placing(modes.low, modes.high)
        } else if !low.isSettled {
            words = "only \(low.near.count) of \(low.all.count) processes of the \(lower) run came near \(Decimals.short(low.all[0].minimum))"
                + (low.median.map { ", the middle one took \(Decimals.short($0.minimum))" } ?? "") + Processes.placing(low.near, high.near)
        } else if !high.isSettled {
            words = "the \(higher) run had not settled: \(high.near.count) of \(high.all.count) processes came near \(Decimals.short(high.all[0].minimum))"
        } else {
            words = "each of the two settled" + Processes.placing(low.near, high.near) + Processes.counting(low.near, high.near, lower, higher)
        }
        if let fast = low.medianPace, let slow = high.medianPace, slow > 1.05 * fast {
            words += "; the machine was \(Decimals.short(slow / fast)) times as slow in the \(higher)"
        }
        if max(low.others, high.others) > 0.2 {
            words += "; neighbours kept \(Decimals.short(others)) CPUs busy in the first, \(Decimals.short(later.others)) in the second"
        }
        if words == "each of the two settled" { words += ", and nothing that was recorded differs: pace, CPUs, neighbours, switches, memory" }
        return words
    }

    /// What is counted of a process and may tell why it took longer.
    private static let telling = [
        ("switches", "times fell asleep"), ("preemptions", "times preempted"), ("steals", "steals"), ("stolen_forks", "stolen forks"), ("parks", "parks"),
        ("useful_wakes", "useful wakes"), ("spurious_wakes", "spurious wakes"), ("rss_kib", "KiB of memory"),
    ]

    /// What one group did half as often again as the other, a sample: at most the three that differ most.
    private static func counting(_ low: ArraySlice<One>, _ high: ArraySlice<One>, _ lower: String, _ higher: String) -> String {
        let differing = telling.compactMap { name, words -> (by: Double, text: String)? in
            guard let a = middle(low.compactMap { $0.facts[name] }), let b = middle(high.compactMap { $0.facts[name] }), max(a, b) >= 1 else { return nil }
            let by = max(a, b) / max(min(a, b), 0.1)
            return by < 1.5 ? nil : (by, "\(Decimals.short(a)) \(words) a sample in the \(lower), \(Decimals.short(b)) in the \(higher)")
        }
        return differing.sorted { $0.by > $1.by }.prefix(3).map { "; \($0.text)" }.joined()
    }
}
