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

    var key: String { "\(workload) \(contender) \(workers) \(round)" }
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
    public let minimum, median: Double
    /// The median round's minimum over the best round's: how much the rounds disagree.
    public let spread: Double
    public let cpus, switches, rssKiB: Double?
    public let p99: Double?
    public let samples: Int
    public let failures: [String]

    init?(_ runs: [Run]) {
        guard let first = runs.first else { return nil }
        let values = runs.flatMap(\.samples).sorted()
        let rounds = runs.compactMap { $0.samples.min() }.sorted()
        workload = first.workload
        contender = first.contender
        workers = first.workers
        unit = first.unit
        minimum = values.first ?? .nan
        median = values.isEmpty ? .nan : values[values.count / 2]
        spread = rounds.isEmpty ? .nan : rounds[rounds.count / 2] / rounds[0]
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
    }
}

extension Results {
    /// One figure for each workload, contender and number of workers, in the order of the suite.
    public var figures: [Figure] {
        let groups = Dictionary(grouping: runs) { "\($0.workload) \($0.contender) \($0.workers)" }
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

    /// A sentence on how far the figures can be believed.
    public var caveat: String {
        let busy = runs.filter { $0.others > 0.2 }.count
        let loads = runs.map(\.load).sorted()
        let load = loads.isEmpty ? 0 : loads[loads.count / 2]
        let priority = fingerprint.priority.isEmpty ? "" : " All contenders ran at \(fingerprint.priority)."
        if busy * 10 <= runs.count {
            return "The machine was quiet: others kept \(Decimals.short(others)) CPUs busy on average (load \(Decimals.short(load)))." + priority
        }
        return "The machine was busy: others kept \(Decimals.short(others)) of \(fingerprint.cpus) CPUs busy on average (load \(Decimals.short(load))), "
            + "and \(100 * busy / max(runs.count, 1)) % of the runs were disturbed. Minima are what is left of it." + priority
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

    /// The nearest number with four significant digits.
    static func fourDigits(_ value: Double) -> Double {
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
