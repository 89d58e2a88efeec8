/// The journals of all shards of a job, read together.
///
///     let merged = try BatchMerge("job.journal")
///     try merged.outputs { index, result in … }
///
/// - Threading: One thread at a time. Nothing is written; a shard that still runs counts as far as it is.
public struct BatchMerge {
    /// How many items the job has.
    public let count: Int
    /// The job's name and version.
    public let job: String
    /// The version of the job whose journals they are.
    public let version: String
    private let shards: [JournalContents]

    /// Reads the journal in `directory`, or those of the shards in it.
    ///
    /// - Parameter directory: What ``BatchOptions/journal`` named.
    /// - Throws: ``BatchError`` where there is none, or it is damaged, or the shards are not of one job.
    public init(_ directory: String) throws(BatchError) {
        var directories = try JournalDirectory.shards(in: directory)
        if directories.isEmpty { directories = [directory] }
        var shards: [JournalContents] = []
        for directory in directories {
            let contents = try JournalContents.read(directory, count: nil, wantsOutputs: true)
            // A shard whose process has made its directory, and not yet its journal, has nothing to say.
            guard let identity = contents.identity else { continue }
            if var first = shards.first?.identity {
                if first.shard.count != identity.shard.count {
                    throw .foreign(
                        journal: directory,
                        difference:
                            "it is one of \(identity.shard.count) shards, but others are of \(first.shard.count)")
                }
                first.shard = identity.shard
                if let difference = identity.difference(from: first) {
                    throw .foreign(journal: directory, difference: difference)
                }
            }
            shards.append(contents)
        }
        guard let identity = shards.first?.identity else { throw .noJournal(directory) }
        (count, job, version) = (identity.count, identity.job, identity.version)
        self.shards = shards
    }

    /// How far each shard is, in order of the shards.
    public var status: [(shard: Shard, done: Int, quarantined: Int, endedOrderly: Bool)] {
        shards.compactMap { contents in
            contents.identity.map {
                ($0.shard, contents.doneCount, contents.quarantined.count, contents.endedOrderly)
            }
        }.sorted { $0.0.index < $1.0.index }
    }

    /// Makes sure that every item ended exactly once.
    ///
    /// - Parameter name: What an item is called, for messages.
    /// - Throws: ``BatchError/incomplete(_:)`` with the names of the first items that are missing or double.
    public func validate(name: (Int) -> String) throws(BatchError) {
        var seen = Bitmap(count: count)
        var doubles: [Int] = []
        for shard in shards {
            doubles += shard.doubles
            for index in 0..<count where shard.ended.contains(index) {
                if !seen.insert(index) { doubles.append(index) }
            }
        }
        func list(_ items: [Int]) -> String {
            let names = items.prefix(10).map { "'\(name($0))'" }.joined(separator: ", ")
            return items.count > 10 ? "\(names) and \(items.count - 10) more" : names
        }
        if !doubles.isEmpty {
            throw .incomplete("\(doubles.count) items were done by two shards: \(list(doubles.sorted()))")
        }
        let gaps = (0..<count).filter { !seen.contains($0) }
        guard !gaps.isEmpty else { return }
        let all = shards.compactMap(\.identity?.shard.count).first ?? 1
        let there = Set(shards.compactMap(\.identity?.shard.index))
        let absent = (0..<all).filter { !there.contains($0) }
        let without =
            absent.isEmpty
            ? ""
            : "; there is no journal of shard \(absent.prefix(10).map(String.init).joined(separator: ", ")) of \(all)"
        throw .incomplete("\(gaps.count) of \(count) items are not done: \(list(gaps))\(without)")
    }

    /// Calls `body` for each item that ended, in order.
    public func outputs(_ body: (Int, Result<[UInt8], BatchFailure>) -> Void) {
        outputs(while: { index, result in
            body(index, result)
            return true
        })
    }

    /// Calls `body` for each item that ended, in order, until it says no.
    package func outputs(while body: (Int, Result<[UInt8], BatchFailure>) -> Bool) {
        for index in 0..<count {
            for shard in shards where shard.ended.contains(index) {
                if let failed = shard.quarantined[index] {
                    let failure = BatchFailure(
                        attempts: failed.attempts, description: String(decoding: failed.error, as: UTF8.self))
                    if !body(index, .failure(failure)) { return }
                } else if let output = shard.output(of: index) {
                    if !body(index, .success(output)) { return }
                }
                break
            }
        }
    }
}
