internal import Glibc

/// One part of a job that several processes share: the `index`th of `count`, counted from 0.
///
///     let shard = try Shard("3/16")
public struct Shard: Hashable, Sendable, CustomStringConvertible {
    /// Which part, 0 to `count` - 1.
    public let index: Int
    /// How many parts there are.
    public let count: Int

    /// The whole job in one part.
    public static let whole = Shard(index: 0, of: 1)

    private init(index: Int, of count: Int) {
        (self.index, self.count) = (index, count)
    }

    /// Reads `I/N`, or `/N`, whose index the environment tells.
    ///
    /// The index is that of a Slurm array (`SLURM_ARRAY_TASK_ID`; number it from 0), of HyperQueue (`HQ_TASK_ID`) or of
    /// Kubernetes (`JOB_COMPLETION_INDEX`). The count is always written: where some parts of an array are submitted
    /// again, Slurm tells the count and the lowest index of those alone. An array that is not numbered from 0 is refused for
    /// that reason, as far as Slurm's lowest index and step show it.
    ///
    /// - Parameter text: `3/16`, or `/16`.
    /// - Throws: ``BatchError/shard(_:)`` for what is no shard.
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
        guard index < count else {
            throw .shard("there is no shard \(index) of \(count): choose 0 to \(count - 1)")
        }
        self.init(index: index, of: count)
    }

    public var description: String { "\(index)/\(count)" }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Refuses a whole array that begins elsewhere than at 0, or leaves numbers out.
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

    /// The part that an item without a size belongs to, by its name alone: that is the same everywhere.
    func owns(_ name: [UInt8]) -> Bool {
        count == 1 || Int((ItemHash.of(name) >> 32) % UInt64(count)) == index
    }

    /// The items of this part where sizes are known: in a row, with about as much work as every other part.
    ///
    /// - Parameter weights: What each item costs, 0 or more.
    func range(of weights: [Int]) -> Range<Int> {
        let total = weights.reduce(0, +)
        guard total > 0, count > 1 else {
            return weights.count * index / count..<weights.count * (index + 1) / count
        }
        // An item belongs where the middle of it lies.
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

    /// Of a list: the names and their order count.
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
