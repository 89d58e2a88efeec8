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
    let process: Process

    typealias Blocking = @Sendable (Int, BatchAttempt) throws -> [UInt8]
    typealias Suspending = @Sendable (Int, BatchAttempt) async throws -> [UInt8]

    /// How one item is done.
    enum Process: Sendable {
        case blocking(Blocking)
        case suspending(Suspending)
    }

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
        self.init(name, version, count: count, .blocking(process))
    }

    /// Makes a job of the numbers from 0 to `count` - 1 whose items suspend, such as requests to a server.
    ///
    ///     let job = BatchJob.async(name: "pages", version: "1", items: addresses) { address, _ in
    ///         try await fetch(address)
    ///     }
    ///     var options = BatchOptions()
    ///     options.parallelism = 100              // more than there are workers: an item that awaits holds none
    ///
    /// The item's Swift task is cancelled when its time limit is over and when the run is to end. An asynchronous item that
    /// crashes the process is found as after a kill: it is run alone after three crashes, and given up after three more.
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: Changed when the same items come to give other outputs.
    ///   - count: The number of items.
    ///   - process: Does one item, and returns its output, which may be empty.
    /// - Returns: The job.
    /// - Ordering: As of ``BatchJob``.
    /// - Threading: Each item is a Swift task on the workers of ``BatchOptions/scheduler``.
    /// - Cost: Some microseconds an item, beside the item itself.
    public static func async(
        name: String, version: String, count: Int,
        process: @escaping @Sendable (Int, BatchAttempt) async throws -> [UInt8]
    ) -> BatchJob {
        BatchJob(name, version, count: count, .suspending(process))
    }

    private init(_ name: String, _ version: String, count: Int, _ process: Process) {
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
        let first = items.startIndex
        self.init(name, version, items, itemName, .blocking { try process(items[first + $0], $1) })
    }

    /// Makes a job of a list whose items suspend, such as requests to a server.
    ///
    ///     let job = BatchJob.async(name: "pages", version: "1", items: addresses) { address, attempt in
    ///         try await fetch(address)
    ///     }
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: Changed when the same items come to give other outputs.
    ///   - items: The items, in the same order whenever the job is run.
    ///   - itemName: The name of an item: different for each. A journal of other names is refused.
    ///   - process: Does one item, and returns its output, which may be empty.
    /// - Returns: The job.
    /// - Ordering: As of ``async(name:version:count:process:)``.
    /// - Threading: As of ``async(name:version:count:process:)``.
    /// - Cost: As of ``async(name:version:count:process:)``.
    public static func async<Items: RandomAccessCollection & Sendable>(
        name: String, version: String, items: Items,
        itemName: @escaping @Sendable (Items.Element) -> [UInt8] = { Array("\($0)".utf8) },
        process: @escaping @Sendable (Items.Element, BatchAttempt) async throws -> [UInt8]
    ) -> BatchJob where Items.Index == Int {
        let first = items.startIndex
        return BatchJob(name, version, items, itemName, .suspending { try await process(items[first + $0], $1) })
    }

    private init<Items: RandomAccessCollection & Sendable>(
        _ name: String, _ version: String, _ items: Items, _ itemName: @escaping @Sendable (Items.Element) -> [UInt8],
        _ process: Process
    ) where Items.Index == Int {
        (self.name, self.version, self.process) = (name, version, process)
        count = items.count
        let first = items.startIndex
        self.itemName = { itemName(items[first + $0]) }
        itemsHash = ItemHash.of(items.lazy.map(itemName))
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
        try BatchRun(self, options, keepsOutputs: output != nil).run(
            output.map { output in
                { index, result in
                    output(index, result)
                    return true
                }
            })
    }

    /// Runs the pending items until `output` throws, or as ``run(_:output:)`` does.
    ///
    ///     try job.run(options) { index, result in
    ///         try append(result.get())
    ///     }
    ///
    /// An error that `output` throws ends the run as a cancelled token does: items under way are asked to end, and the
    /// journal keeps all that is done. The next run returns every output again, the refused one included.
    ///
    /// - Parameters:
    ///   - options: The options of the run.
    ///   - output: Takes each item's output or failure, in order. It is not called again after it has thrown.
    /// - Returns: What was done.
    /// - Throws: The error of `output`, or ``BatchError`` when the journal cannot be used or written.
    /// - Ordering: As of ``run(_:output:)``.
    /// - Threading: Blocks the calling thread, which should be none of the scheduler's.
    /// - Cost: As of ``run(_:output:)``.
    @_disfavoredOverload
    public func run(
        _ options: BatchOptions = BatchOptions(),
        output: (Int, Result<[UInt8], BatchFailure>) throws -> Void
    ) throws -> BatchReport {
        var refusal: (any Error)?
        let report = try withoutActuallyEscaping(output) { output in
            try BatchRun(self, options, keepsOutputs: true).run { index, result in
                do {
                    try output(index, result)
                    return true
                } catch {
                    refusal = error
                    return false
                }
            }
        }
        if let refusal { throw refusal }
        return report
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
