// Owns the division of a job's items among processes. Programs choose a shard; `BatchRun` asks it for items. It depends on
// numbers and weights only.

internal import Glibc

/// Identifies one part of a job that several processes share: the part `index` of `count`, from 0.
///
///     let shard = try Shard("3/16")
public struct Shard: Hashable, Sendable, CustomStringConvertible {
    /// The number of this part, 0 to `count` - 1.
    public let index: Int
    /// The number of parts.
    public let count: Int

    /// The whole job as one part.
    public static let whole = Shard(valid: 0, of: 1)

    private init(valid index: Int, of count: Int) {
        (self.index, self.count) = (index, count)
    }

    /// The part with an index.
    ///
    ///     let shards = try (0..<16).map { try Shard(index: $0, of: 16) }
    ///
    /// - Parameters:
    ///   - index: The part, 0 to `count` - 1.
    ///   - count: The number of parts, 1 or more.
    /// - Throws: ``BatchError/shard(_:)`` if a number is out of its range.
    public init(index: Int, of count: Int) throws(BatchError) {
        guard count >= 1 else { throw .shard("there are no \(count) shards: choose 1 or more") }
        guard (0..<count).contains(index) else {
            throw .shard("there is no shard \(index) of \(count): choose 0 to \(count - 1)")
        }
        self.init(valid: index, of: count)
    }

    /// Parses `I/N`, or `/N` with an index from the environment.
    ///
    /// The index comes from a Slurm array (`SLURM_ARRAY_TASK_ID`), HyperQueue (`HQ_TASK_ID`) or Kubernetes
    /// (`JOB_COMPLETION_INDEX`). Number a Slurm array from 0; other numberings are refused if Slurm's lowest index
    /// and step show them. The count is always required: for a resubmitted part of an array, Slurm reports only the
    /// count of that part.
    ///
    /// - Parameter text: `3/16`, or `/16`.
    /// - Throws: ``BatchError/shard(_:)`` if the text is not a shard.
    public init(_ text: String) throws(BatchError) {
        try self.init(text) { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    init(_ text: String, environment: (String) -> String?) throws(BatchError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Self.number(parts[1]), count >= 1 else {
            throw .shard("--shard takes I/N, such as 3/16, or /16 in an array job, not '\(text)'")
        }
        let index: Int
        if parts[0].isEmpty {
            try Self.checkNumbering(of: count, environment)
            guard let found = try Self.index(from: environment) else {
                throw .shard(
                    "--shard \(text) takes its index from SLURM_ARRAY_TASK_ID, HQ_TASK_ID or JOB_COMPLETION_INDEX, but none is "
                        + "set: write I/N")
            }
            index = found
        } else {
            guard let written = Self.number(parts[0]) else {
                throw .shard("--shard takes I/N, such as 3/16, or /16 in an array job, not '\(text)'")
            }
            index = written
        }
        try self.init(index: index, of: count)
    }

    public var description: String { "\(index)/\(count)" }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Refuses an array that does not begin at 0 or that leaves numbers out.
    private static func checkNumbering(of count: Int, _ environment: (String) -> String?) throws(BatchError) {
        func value(_ name: String) -> Int? { environment("SLURM_ARRAY_TASK_" + name).flatMap { number($0[...]) } }
        guard value("COUNT") == count, let first = value("MIN"), let step = value("STEP"),
            count > 1 ? (first, step) != (0, 1) : first != 0
        else { return }
        throw .shard(
            "the array is numbered from \(first) in steps of \(step), which a resubmitted part of it would not know: "
                + "number it from 0 (--array=0-\(count - 1))")
    }

    private static func index(from environment: (String) -> String?) throws(BatchError) -> Int? {
        for name in ["SLURM_ARRAY_TASK_ID", "HQ_TASK_ID", "JOB_COMPLETION_INDEX"] {
            guard let text = environment(name) else { continue }
            guard let index = number(text[...]) else { throw .shard("\(name) is not a number: '\(text)'") }
            return index
        }
        return nil
    }

    /// Whether an item belongs to this part. Only its name decides, so the result is the same on every machine.
    func owns(_ name: [UInt8]) -> Bool {
        count == 1 || Int((ItemHash.of(name) >> 32) % UInt64(count)) == index
    }

    /// Returns the consecutive items of this part, with about as much work as any other part.
    ///
    /// - Parameter weights: The cost of each item, 0 or more.
    func range(of weights: [Int]) -> Range<Int> {
        let total = weights.reduce(0, +)
        guard total > 0, count > 1 else {
            return weights.count * index / count..<weights.count * (index + 1) / count
        }
        // The midpoint of an item's work decides its part.
        func part(_ before: Int, _ weight: Int) -> Int {
            Int((Double(before) + Double(weight) / 2) / Double(total) * Double(count))
        }
        var before = 0
        var start = weights.count
        var end = weights.count
        for (place, weight) in weights.enumerated() {
            let part = min(part(before, weight), count - 1)
            if part >= index, start == weights.count { start = place }
            if part > index {
                end = place
                break
            }
            before += weight
        }
        return start..<max(start, end)
    }
}

/// A hash of names that is the same on every machine and in every process.
enum ItemHash {
    private static let start: UInt64 = 0xcbf2_9ce4_8422_2325
    private static let prime: UInt64 = 0x100_0000_01b3

    static func of(_ name: [UInt8]) -> UInt64 {
        mixed(name.reduce(start) { ($0 ^ UInt64($1)) &* prime })
    }

    /// Returns the hash of a list of names, which depends on their order.
    static func of(_ names: some Sequence<[UInt8]>) -> UInt64 {
        names.reduce(start) { mixed($0 ^ of($1)) &* prime }
    }

    private static func mixed(_ hash: UInt64) -> UInt64 {
        var hash = hash
        hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
        return hash ^ hash >> 33
    }
}
