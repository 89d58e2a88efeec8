/// Runs a fixed list of items on all workers, and resumes after a kill. Each item produces some bytes.
///
///     let job = BatchJob(name: "thumbnails", version: "1", items: paths) { path, _ in
///         try thumbnail(of: path)
///     }
///     var options = BatchOptions()
///     options.journal = "thumbnails.journal"
///     let report = try job.run(options) { index, result in save(result) }
///
/// With a journal, a finished job has returned each output exactly once and in order, even after kills. Other effects of
/// an item, such as writing a file, happen at least once.
///
/// - Ordering: Items begin in order, and outputs are returned in order.
/// - Threading: `process` is called on several threads at once. The closure for outputs is called on the caller's
///   thread.
/// - Cost: About 100 ns for each item, and one `fdatasync` of the journal every 0.25 s.
public struct BatchJob: Sendable {
    /// The job's name in messages and in the journal.
    public let name: String
    /// The version of the job. Change it when the same items produce other outputs; a journal of another version is
    /// refused.
    public let version: String
    /// The number of items.
    public let count: Int
    let itemName: @Sendable (Int) -> [UInt8]
    let itemsHash: UInt64
    let process: Process

    typealias Blocking = @Sendable (Int, BatchAttempt) throws -> [UInt8]
    typealias Suspending = @Sendable (Int, BatchAttempt) async throws -> [UInt8]

    /// The closure that processes an item.
    enum Process: Sendable {
        case blocking(Blocking)
        case suspending(Suspending)
    }

    /// Creates a job whose items are the numbers from 0 to `count` - 1.
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: The job's version. Change it when the same items produce other outputs.
    ///   - count: The number of items.
    ///   - process: A closure that processes one item and returns its output, which may be empty.
    public init(
        name: String, version: String, count: Int,
        process: @escaping @Sendable (Int, BatchAttempt) throws -> [UInt8]
    ) {
        self.init(name, version, count: count, .blocking(process))
    }

    /// Creates a job with asynchronous items, such as requests to a server. The items are the numbers from 0 to
    /// `count` - 1.
    ///
    ///     let job = BatchJob.async(name: "pages", version: "1", items: addresses) { address, _ in
    ///         try await fetch(address)
    ///     }
    ///     var options = BatchOptions()
    ///     options.parallelism = 100              // more than there are workers: an item that awaits holds none
    ///
    /// The item's Swift task is cancelled when its time limit passes and when the run must end. A crash caused by an
    /// asynchronous item counts as a kill. After 3 crashes the item is run alone, and after 3 more it is given up.
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: The job's version. Change it when the same items produce other outputs.
    ///   - count: The number of items.
    ///   - process: A closure that processes one item and returns its output, which may be empty.
    /// - Returns: The job.
    /// - Ordering: The order of ``BatchJob``.
    /// - Threading: Each item is a Swift task on the workers of ``BatchOptions/scheduler``.
    /// - Cost: A few microseconds for each item, besides the item's own work.
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

    /// Creates a job from a list of items.
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: The job's version. Change it when the same items produce other outputs.
    ///   - items: The items, in the same order in each run.
    ///   - itemName: A closure that returns the unique name of an item. A journal with other names is refused.
    ///   - process: A closure that processes one item and returns its output, which may be empty.
    public init<Items: RandomAccessCollection & Sendable>(
        name: String, version: String, items: Items,
        itemName: @escaping @Sendable (Items.Element) -> [UInt8] = { Array("\($0)".utf8) },
        process: @escaping @Sendable (Items.Element, BatchAttempt) throws -> [UInt8]
    ) where Items.Index == Int {
        let first = items.startIndex
        self.init(name, version, items, itemName, .blocking { try process(items[first + $0], $1) })
    }

    /// Creates a job from a list of asynchronous items, such as requests to a server.
    ///
    ///     let job = BatchJob.async(name: "pages", version: "1", items: addresses) { address, attempt in
    ///         try await fetch(address)
    ///     }
    ///
    /// - Parameters:
    ///   - name: The job's name.
    ///   - version: The job's version. Change it when the same items produce other outputs.
    ///   - items: The items, in the same order in each run.
    ///   - itemName: A closure that returns the unique name of an item. A journal with other names is refused.
    ///   - process: A closure that processes one item and returns its output, which may be empty.
    /// - Returns: The job.
    /// - Ordering: The order of ``async(name:version:count:process:)``.
    /// - Threading: The threads of ``async(name:version:count:process:)``.
    /// - Cost: The cost of ``async(name:version:count:process:)``.
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

    /// Runs the pending items, until all have ended or the run is asked to end.
    ///
    /// - Parameters:
    ///   - options: The options of the run.
    ///   - output: A closure that receives the output of each item of this shard, in order, or the error of its last
    ///     attempt. With a journal it also receives outputs of earlier runs, and an output only once it is safe on
    ///     the disk. Slow calls delay the items.
    /// - Returns: The report of the run.
    /// - Throws: ``BatchError`` if the journal cannot be used or written. Outputs that were returned are safe.
    /// - Threading: Blocks the calling thread, which must not be a worker of the scheduler.
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

    /// Runs the pending items, until `output` throws or as ``run(_:output:)`` does.
    ///
    ///     try job.run(options) { index, result in
    ///         try append(result.get())
    ///     }
    ///
    /// An error of `output` ends the run like a cancelled token. Items under way are asked to end, and the journal
    /// keeps the finished ones. The next run returns every output again, including the rejected one.
    ///
    /// - Parameters:
    ///   - options: The options of the run.
    ///   - output: A closure that receives each item's output or failure, in order. It is not called again after an
    ///     error.
    /// - Returns: The report of the run.
    /// - Throws: The error of `output`, or ``BatchError`` if the journal cannot be used or written.
    /// - Ordering: The order of ``run(_:output:)``.
    /// - Threading: Blocks the calling thread, which must not be a worker of the scheduler.
    /// - Cost: The cost of ``run(_:output:)``.
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

    /// Returns the items of a shard, in order.
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

/// The error of an item without an output.
public struct BatchFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The number of attempts.
    public let attempts: Int
    /// The error of the last attempt.
    public let description: String

    init(attempts: Int, description: String) {
        self.attempts = attempts
        self.description = description
    }
}
