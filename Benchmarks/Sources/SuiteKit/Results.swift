internal import Glibc

/// One process: a workload, a contender, a number of workers.
public struct Run: Codable, Sendable {
    public var workload, contender: String
    public var workers, round: Int
    public var parameters: [String: Int]
    /// The unit and how many of them one sample is.
    public var unit: String
    public var units: Double
    /// Nanoseconds (or bytes) per unit, in the order they were measured.
    public var samples: [Double]
    public var facts: [String: Double]
    /// CPUs that other processes kept busy meanwhile, and the load average before.
    public var others, load: Double
    /// Why the samples do not count: a wrong answer, a crash, a time-out.
    public var failure: String?
    /// How long the process took, from its start to its end, in seconds.
    public var seconds: Double?
    /// What a fixed piece of work took before and after, in nanoseconds: the machine's own pace.
    public var pace: Double?

    /// The round in which nothing is timed: a library is preloaded that counts.
    static let counting = -1

    var isCounting: Bool { round == Run.counting }
    /// The figure that it belongs to.
    var figure: String { "\(workload) \(contender) \(workers)" }
    var key: String { "\(figure) \(round)" }

    /// How many of what is counted one sample is. (Units are also what turns nanoseconds into other units of time.)
    var counted: Double {
        switch Workload.Unit(rawValue: unit) {
        case .trip: units / 1000
        case .whole, .cpuShare: Double(parameters["n", default: 1])
        default: units
        }
    }
}

/// What a result was obtained on and how.
public struct Fingerprint: Codable, Sendable, Equatable {
    public var date, commit, cpu, kernel, memory, os: String
    public var cpus: Int
    public var swift, gcc, clang, tbb, glibc: String
    public var allocator: String
    public var size: String
    public var rounds, budget: Int
    /// How all contenders went before their neighbours or behind them, such as "nice -5"; empty: as everybody.
    public var priority: String
    public var workers: [Int]
    /// Absent in results of former times, or where the machine does not tell: the CPU's family, model and stepping, its caches,
    /// what its clock does, whether memory comes in large pages.
    public var family, caches, governor, hugePages: String?
    /// What other peers were made with.
    public var go, rustc, rayon, nio: String?
    /// A hash of the contenders' programs: whoever builds them from edited sources measures something else.
    public var programs: String?
}

/// A result: what `suite run` leaves behind.
public struct Results: Codable, Sendable {
    public var format = 1
    public var fingerprint: Fingerprint
    public var runs: [Run]

    public init(fingerprint: Fingerprint, runs: [Run]) {
        self.fingerprint = fingerprint
        self.runs = runs
    }
}

/// The figures of one workload, contender and number of workers over all rounds.
public struct Figure: Sendable {
    public let workload, contender: String
    public let workers: Int
    public let unit: String
    /// How many of them a sample is.
    public let units: Double
    /// The fastest sample of each round.
    public let rounds: [Int: Double]
    /// Of all samples.
    public let median: Double
    public let cpus, switches, rssKiB: Double?
    public let p99: Double?
    public let samples: Int
    public let failures: [String]
    /// Allocations, futex calls, system calls, switches, steals and the like, per unit.
    public let counts: [String: Double]

    /// The median round's fastest sample.
    public var time: Double { Decimals.median(Array(rounds.values)) }

    init?(_ all: [Run]) {
        let runs = all.filter { !$0.isCounting }
        guard let first = runs.first else { return nil }
        let values = runs.flatMap(\.samples)
        workload = first.workload
        contender = first.contender
        workers = first.workers
        unit = first.unit
        units = first.units
        rounds = Dictionary(runs.compactMap { run in run.samples.min().map { (run.round, $0) } }, uniquingKeysWith: min)
        median = Decimals.median(values)
        func middle(_ name: String) -> Double? {
            let all = runs.compactMap { $0.facts[name] }.sorted()
            return all.isEmpty ? nil : all[all.count / 2]
        }
        cpus = middle("cpus")
        switches = middle("switches")
        rssKiB = middle("rss_kib")
        p99 = middle("p99_ns")
        samples = values.count
        failures = runs.compactMap(\.failure)
        var counts: [String: Double] = [:]
        let units = max(first.counted, 1)
        for name in Figure.counted { counts[name] = middle(name).map { $0 / units } }
        if let counting = all.first(where: \.isCounting) {
            for (name, value) in counting.facts where Figure.preloaded.contains(name) { counts[name] = value / max(counting.counted, 1) }
        }
        self.counts = counts
    }

    /// What is counted beside the timed samples, and what by a preloaded library in a process of its own.
    public static let (counted, preloaded) = (
        ["switches", "preemptions", "steals", "failed_steals", "stolen_forks", "useful_wakes", "spurious_wakes", "parks"],
        ["allocations", "futexes", "syscalls"]
    )
}

extension Results {
    /// One figure for each workload, contender and number of workers, in the order of the suite.
    public var figures: [Figure] {
        let groups = Dictionary(grouping: runs, by: \.figure)
        let workloads = Dictionary(uniqueKeysWithValues: Workload.all.enumerated().map { ($1.id, $0) })
        let contenders = Dictionary(uniqueKeysWithValues: Contender.all.enumerated().map { ($1.id, $0) })
        return groups.values.compactMap(Figure.init).sorted { a, b in
            let left = (workloads[a.workload] ?? .max, a.workers, contenders[a.contender] ?? .max)
            return left < (workloads[b.workload] ?? .max, b.workers, contenders[b.contender] ?? .max)
        }
    }

    /// CPUs that others kept busy, on average over the runs.
    public var others: Double {
        runs.isEmpty ? 0 : runs.map(\.others).reduce(0, +) / Double(runs.count)
    }

    /// How many rounds a figure has, at least and at most.
    var rounds: ClosedRange<Int> {
        let counts = figures.filter { $0.failures.isEmpty && $0.samples > 0 }.map(\.rounds.count)
        return (counts.min() ?? 0)...(counts.max() ?? 0)
    }

    /// Which share of the runs the machine was more than a tenth slower in than in the best tenth of them.
    var slowShare: Double {
        let paces = runs.compactMap(\.pace).sorted()
        return paces.isEmpty ? 0 : Double(paces.count { $0 > 1.1 * paces[paces.count / 10] }) / Double(paces.count)
    }

    /// A sentence on how far the figures can be believed.
    public var caveat: String {
        let busy = runs.filter { $0.others > 0.2 }.count
        let loads = runs.map(\.load).sorted()
        let load = loads.isEmpty ? 0 : loads[loads.count / 2]
        var rest = fingerprint.priority.isEmpty ? "" : " All contenders ran at \(fingerprint.priority)."
        if slowShare > 0.1 {
            rest = " During \(Int((slowShare * 100).rounded())) % of the runs the machine itself was more than a tenth slower than at its best." + rest
        }
        if busy * 10 <= runs.count {
            return "The machine was quiet: others kept \(Decimals.short(others)) CPUs busy on average (load \(Decimals.short(load)))." + rest
        }
        return "The machine was busy: others kept \(Decimals.short(others)) of \(fingerprint.cpus) CPUs busy on average (load \(Decimals.short(load))), "
            + "and \(100 * busy / max(runs.count, 1)) % of the runs were disturbed." + rest
    }

    /// The same with fewer numbers, to be kept: of each run the minimum, the maximum and the deciles between them, in four digits.
    public var thinned: Results {
        var thin = self
        for index in runs.indices {
            let samples = runs[index].samples.sorted()
            if samples.count > 11 { thin.runs[index].samples = (0...10).map { samples[$0 * (samples.count - 1) / 10] } }
            thin.runs[index].samples = thin.runs[index].samples.map(Decimals.fourDigits)
            thin.runs[index].facts = runs[index].facts.mapValues(Decimals.fourDigits)
            thin.runs[index].others = Decimals.fourDigits(runs[index].others)
            thin.runs[index].seconds = runs[index].seconds.map(Decimals.fourDigits)
            thin.runs[index].pace = runs[index].pace.map(Decimals.fourDigits)
        }
        return thin
    }
}

/// Numbers with few digits.
public enum Decimals {
    /// Three significant digits at most.
    public static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = abs(value)
        if size >= 100 { return grouped(Int(value.rounded())) }
        let places = size >= 10 ? 1 : size >= 0.1 || size == 0 ? 2 : 3
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((size * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        var text = "\(scaled / scale).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return value < 0 ? "-" + text : text
    }

    /// The middle one, or the mean of the middle two.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// The nearest number with four significant digits.
    public static func fourDigits(_ value: Double) -> Double {
        guard value.isFinite, value != 0 else { return value }
        let places = 3 - Int(log10(abs(value)).rounded(.down))
        let power = pow(10, Double(abs(places)))
        return places > 0 ? (value * power).rounded() / power : (value / power).rounded() * power
    }

    private static func grouped(_ value: Int) -> String {
        var digits = Array(String(abs(value)))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return (value < 0 ? "-" : "") + String(digits)
    }
}
