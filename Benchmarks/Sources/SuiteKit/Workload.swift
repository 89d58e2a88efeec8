/// A question that contenders are asked: the same parameters for all, and an answer that is checked.
public struct Workload: Sendable {
    /// What results call it.
    public let id: String
    /// The program's word for it; several workloads may be one word with different parameters.
    public let word: String
    /// What is measured, in a sentence.
    public let question: String
    /// When its figures mislead.
    public let caution: String
    public let unit: Unit
    public let family: Family
    /// Parameters for a few minutes, and for an hour.
    public let quick, full: Parameters
    /// Smaller parameters for contenders that would take minutes; costs are per unit all the same.
    public var slower: [String: Parameters] = [:]
    /// How many units one sample is.
    public let units: @Sendable (Parameters) -> Double
    /// What every sample, or the check after them, must answer.
    public let oracle: @Sendable (Parameters) -> UInt64
    /// The row of the table that stands for it: it asks the same at another size or in another form. nil: it has its own
    /// row, whoever wins it. Nothing else keeps a question out of the table.
    public var beside: String?
    /// Samples of one process: some take long each.
    public var budget = 100

    /// Whether the table of `make bench` has it.
    public var isHeadline: Bool { beside == nil }

    public typealias Parameters = [String: Int]

    public enum Family: String, Sendable, CaseIterable {
        case trees, loops, closures, latency, order, graphs, jobs, blocking, resources
    }

    public enum Unit: String, Sendable {
        case fork = "ns per fork"
        case leaf = "ns per leaf"
        case node = "ns per node"
        case call = "ns per call"
        case block = "ns per block"
        case element = "ns per element"
        case iteration = "ns per iteration"
        case closure = "ns per closure"
        case trip = "µs per trip"
        case hop = "ns per hop"
        case timer = "ns per timer"
        case attempt = "ns per attempt"
        case file = "ns per file"
        case item = "ns per item"
        case whole = "ms"
        case cpuShare = "ms of CPU per s"
        case bytes = "bytes per closure"
        case nodeBytes = "bytes per node"
    }

    public enum Size: String, Sendable, CaseIterable {
        case quick, full
    }

    public func parameters(_ size: Size, for contender: String) -> Parameters {
        let base = size == .quick ? quick : full
        return base.merging(slower[contender] ?? [:]) { _, smaller in smaller }
    }

    /// Whether its speed-up from one worker to many is of interest: enough work, in many pieces.
    var showsSpeedUp: Bool { ["fib", "skynet", "nqueens", "matmul", "uts", "mergesort", "loop-imbalanced"].contains(id) }

    public static func named(_ id: String) -> Workload? { all.first { $0.id == id } }
}
