/// Reads the journals of all shards of a job together.
///
///     let merged = try BatchMerge("job.journal")
///     try merged.outputs { index, result in … }
///
/// A run without shards may have used the same directory. An item that no shard has done is then taken from that run.
///
/// - Threading: One thread at a time. It writes nothing, and reads the current state of shards that still run.
public struct BatchMerge {
    /// The number of items of the job.
    public let count: Int
    /// The name of the job.
    public let job: String
    /// The version of the job.
    public let version: String
    /// The journals of the shards, or of the whole job.
    private let shards: [JournalContents]
    /// The journal of a run without shards beside the shards.
    private let whole: JournalContents?
    /// All of them; that of a run without shards is the last one.
    private let journals: [JournalContents]

    /// Reads the journal in a directory, or the journals of the shards in it.
    ///
    /// - Parameter directory: The path that was given as ``BatchOptions/journal``.
    /// - Throws: ``BatchError`` if there is no journal, a journal is damaged, or the shards belong to different jobs.
    public init(_ directory: String) throws(BatchError) {
        var directories = try JournalDirectory.shards(in: directory)
        directories.append(directory)
        var shards: [JournalContents] = []
        var whole: JournalContents?
        for path in directories {
            let contents = try JournalContents.read(path, count: nil, wantsOutputs: true)
            // The process of this shard has created its directory, but not yet its journal.
            guard let identity = contents.identity else { continue }
            let isBeside = path == directory && !shards.isEmpty
            if var first = shards.first?.identity {
                if !isBeside, first.shard.count != identity.shard.count {
                    throw .foreign(
                        journal: path,
                        difference:
                            "it is one of \(identity.shard.count) shards, but others are of \(first.shard.count)")
                }
                first.shard = identity.shard
                if let difference = identity.difference(from: first) {
                    throw .foreign(journal: path, difference: difference)
                }
            }
            if isBeside { whole = contents } else { shards.append(contents) }
        }
        guard let identity = shards.first?.identity else { throw .noJournal(directory) }
        (count, job, version) = (identity.count, identity.job, identity.version)
        self.shards = shards
        self.whole = whole
        journals = shards + (whole.map { [$0] } ?? [])
    }

    /// The progress of each shard, in order of the shards. A run without shards, 0/1, comes first.
    public var status: [(shard: Shard, done: Int, quarantined: Int, endedOrderly: Bool)] {
        journals.compactMap { contents in
            contents.identity.map {
                ($0.shard, contents.doneCount, contents.quarantined.count, contents.endedOrderly)
            }
        }.sorted { ($0.0.count, $0.0.index) < ($1.0.count, $1.0.index) }
    }

    /// The numbers of done and of failed items. An item in several journals counts once.
    package var ended: (done: Int, failed: Int) {
        guard whole != nil else {
            return shards.reduce((0, 0)) { ($0.0 + $1.doneCount, $0.1 + $1.quarantined.count) }
        }
        var (done, failed) = (0, 0)
        for index in 0..<count {
            guard let journal = journal(of: index) else { continue }
            if journal.quarantined[index] == nil { done += 1 } else { failed += 1 }
        }
        return (done, failed)
    }

    /// The journal that an item is taken from: the first in which it succeeded, or else failed.
    private func journal(of index: Int) -> JournalContents? {
        var failed: JournalContents?
        for journal in journals where journal.ended.contains(index) {
            if journal.quarantined[index] == nil { return journal }
            failed = failed ?? journal
        }
        return failed
    }

    /// Checks that every item ended exactly once.
    ///
    /// - Parameter name: A closure that returns the name of an item, for messages.
    /// - Throws: ``BatchError/incomplete(_:)`` with the names of the first items that are missing or occur twice.
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
        let gaps = (0..<count).filter { !seen.contains($0) && whole?.ended.contains($0) != true }
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

    /// Calls `body` for each item that has ended, in order.
    public func outputs(_ body: (Int, Result<[UInt8], BatchFailure>) -> Void) {
        outputs(while: { index, result in
            body(index, result)
            return true
        })
    }

    /// Calls `body` for each item that has ended, in order, until it returns false.
    package func outputs(while body: (Int, Result<[UInt8], BatchFailure>) -> Bool) {
        for index in 0..<count {
            guard let journal = journal(of: index) else { continue }
            if let failed = journal.quarantined[index] {
                let failure = BatchFailure(
                    attempts: failed.attempts, description: String(decoding: failed.error, as: UTF8.self))
                if !body(index, .failure(failure)) { return }
            } else if let output = journal.output(of: index) {
                if !body(index, .success(output)) { return }
            }
        }
    }
}
