/// Many items of work in a fixed order, each of which gives some bytes: run on all workers, and where it is killed, run on.
///
///     let job = BatchJob(name: "thumbnails", version: "1", items: paths) { path, _ in
///         try thumbnail(of: path)
///     }
///     var options = BatchOptions()
///     options.journal = "thumbnails.journal"
///     let report = try job.run(options) { index, result in save(result) }
///
/// With a journal each output is returned exactly once, in the order of the items, whatever is killed whenever; what
/// an item does besides, such as writing a file, happens at least once.
///
/// - Ordering: Items begin in their order; outputs are returned in their order.
/// - Threading: `process` is called on several threads at once, the output's closure on the caller's.
/// - Cost: Some 100 ns an item, and one write and one `fdatasync` of the journal each quarter of a second.
public struct BatchJob: Sendable {
    /// The job's name in messages and in the journal.
    public let name: String
    /// To be changed when the same items come to give other outputs: a journal of another version is refused.
    public let version: String
    /// How many items there are.
    public let count: Int
    let itemName: @Sendable (Int) -> [UInt8]
    let itemsHash: UInt64
    let process: @Sendable (Int, BatchAttempt) throws -> [UInt8]

    /// A job of the numbers from 0 to `count` - 1.
    ///
    /// - Parameters:
    ///   - name: What it is called.
    ///   - version: Changed when the same items come to give other outputs.
    ///   - count: How many items.
    ///   - process: Does one item, and returns its output, which may be empty.
    public init(
        name: String, version: String, count: Int,
        process: @escaping @Sendable (Int, BatchAttempt) throws -> [UInt8]
    ) {
        precondition(count >= 0, "BatchJob.init: negative count (\(count)). Choose 0 or more.")
        (self.name, self.version, self.count, self.process) = (name, version, count, process)
        itemName = { Array(String($0).utf8) }
        itemsHash = 0
    }

    /// A job of a list.
    ///
    /// - Parameters:
    ///   - name: What it is called.
    ///   - version: Changed when the same items come to give other outputs.
    ///   - items: The items, in the same order whenever the job is run.
    ///   - itemName: What an item is called: different for each. A journal of other names is refused.
    ///   - process: Does one item, and returns its output, which may be empty.
    public init<Items: RandomAccessCollection & Sendable>(
        name: String, version: String, items: Items,
        itemName: @escaping @Sendable (Items.Element) -> [UInt8] = { Array("\($0)".utf8) },
        process: @escaping @Sendable (Items.Element, BatchAttempt) throws -> [UInt8]
    ) where Items.Index == Int {
        (self.name, self.version) = (name, version)
        count = items.count
        let first = items.startIndex
        self.itemName = { itemName(items[first + $0]) }
        itemsHash = ItemHash.of(items.lazy.map(itemName))
        self.process = { try process(items[first + $0], $1) }
    }

    /// Runs what is not done yet, and returns when all is, or when it was asked to end.
    ///
    /// - Parameters:
    ///   - options: How.
    ///   - output: Called for each item of this shard in order, with its output, or with the error after its last attempt;
    ///     with a journal also for items that an earlier run did, and never before an output is safe on the disk.
    ///     Slow calls hold the items back.
    /// - Returns: What was done.
    /// - Throws: ``BatchError`` if the journal cannot be used or written. Items for which `output` was called are
    ///   safe.
    /// - Threading: Blocks the calling thread, which should be none of the scheduler's.
    public func run(
        _ options: BatchOptions = BatchOptions(),
        output: ((Int, Result<[UInt8], BatchFailure>) -> Void)? = nil
    ) throws(BatchError) -> BatchReport {
        try BatchRun(self, options, keepsOutputs: output != nil).run(output)
    }

    /// The items of one shard, in order.
    func positions(of shard: Shard, weights: [Int]?) throws(BatchError) -> Positions {
        if let weights, weights.count != count {
            throw .shard(
                "BatchJob.run: wrong number of BatchOptions.weights (\(weights.count) for \(count) items). Give one weight for "
                    + "each item, or nil")
        }
        if let least = weights?.min(), least < 0 {
            throw .shard("BatchJob.run: negative number in BatchOptions.weights (\(least)). Choose 0 or more")
        }
        if shard.count == 1 { return .row(0..<count) }
        if let weights { return .row(shard.range(of: weights)) }
        return .list((0..<count).filter { shard.owns(itemName($0)) })
    }

    enum Positions: Sendable {
        case row(Range<Int>)
        case list([Int])

        var count: Int {
            switch self {
            case .row(let range): range.count
            case .list(let list): list.count
            }
        }

        subscript(place: Int) -> Int {
            switch self {
            case .row(let range): range.lowerBound + place
            case .list(let list): list[place]
            }
        }
    }
}

/// Why an item has no output.
public struct BatchFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// How often it was tried.
    public let attempts: Int
    /// The error of the last attempt.
    public let description: String

    init(attempts: Int, description: String) {
        self.attempts = attempts
        self.description = description
    }
}
