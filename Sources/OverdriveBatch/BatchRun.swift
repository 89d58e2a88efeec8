// Owns one run of a job. `BatchJob.run` calls it, and all its functions run on that thread, the coordinator. It never
// processes an item; `Floor` does.

internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// The coordinator of a run. It starts the pumps, writes the journal, returns the outputs in order and reports the
/// progress.
final class BatchRun {
    /// The largest number of items, and of bytes, that may wait for the output of an earlier item.
    private static let window = 1 << 16
    private static let mostHeldBytes = 64 << 20
    /// The time between two commits of the journal to the disk, in seconds. At most one second of work may be lost.
    private static let commitInterval = 0.25
    /// The time between two writes of results to the kernel, in seconds. A killed process loses at most this much.
    private static let writeInterval = 0.02
    /// The time between two checks for long items that delay others, in seconds.
    private static let lookInterval = 0.02
    /// The time between two heartbeats for observers on other machines, in seconds.
    private static let heartbeatInterval = 1.0
    /// An item that was under way at this many unexplained ends of the process is run alone. If the process ends
    /// again, the item is blamed.
    private static let mostSuspicions = 3

    /// Receives the output of an item. Returns false if the run must end.
    typealias Output = (Int, Result<[UInt8], BatchFailure>) -> Bool

    private let job: BatchJob
    private let options: BatchOptions
    private let positions: BatchJob.Positions
    private let keepsOutputs: Bool
    private let writer: JournalWriter?
    private let floor: Floor
    private let parallelism: Int
    private let start = ContinuousClock.now
    private var report: BatchReport
    private var times = Histogram()
    private var slowest: [(nanoseconds: UInt64, place: Int)] = []
    private var busy: UInt64 = 0
    /// The results that wait for an earlier item or for the journal, by place.
    private var held: [Int: Result<[UInt8], BatchFailure>] = [:]
    private var heldBytes = 0
    /// The items that an earlier run gave up and that this run does not repeat.
    private var givenUpBefore: [Int: BatchFailure] = [:]
    /// The first place whose output was not returned.
    private var frontier = 0
    /// Whether the closure for outputs has ended the run. It is not called again.
    private var isRefused = false
    private var lastCommit = 0.0
    private var lastLook = 0.0
    /// The places that each slot held at the last check.
    private var heldPlaces: [Range<Int>]
    private var lastGathering = 0.0
    /// The results that are not yet safe on the disk.
    private var unsaved: [(place: Int, result: Result<[UInt8], BatchFailure>)] = []
    private var unsavedBytes = 0
    /// The time of the last write to the journal.
    private var lastWrite = 0.0
    private var isolated: [Int] = []
    private var meter: BatchMeter

    /// The largest output that fits into a record of the journal, besides the item's name.
    private static let mostOutput = Segment.mostPayload - 64

    init(
        _ job: BatchJob, _ options: BatchOptions, keepsOutputs: Bool, mostOutput: Int = BatchRun.mostOutput
    ) throws(BatchError) {
        self.job = job
        self.options = options
        self.keepsOutputs = keepsOutputs
        parallelism = min(max(1, options.parallelism ?? options.scheduler.workerCount), 1024)
        heldPlaces = [Range<Int>](repeating: 0..<0, count: parallelism)
        let positions = try job.positions(of: options.shard, weights: options.weights)
        self.positions = positions
        meter = BatchMeter(options.progress, job: job.name, shard: options.shard)
        report = BatchReport(job: job.name, shard: options.shard, ending: .finished)
        report.items = positions.count
        report.workers = parallelism

        var skipped = Bitmap(count: job.count)
        if let journal = options.journal {
            try Self.refuseOtherShards(options.shard, in: journal)
            let identity = JournalIdentity(
                job: job.name, version: job.version, count: job.count, items: job.itemsHash,
                shard: options.shard)
            let writer = try JournalWriter(
                JournalDirectory.shard(options.shard, in: journal), identity: identity,
                wantsOutputs: keepsOutputs,
                slots: parallelism)
            self.writer = writer
            skipped = writer.contents.ended
            report.cutOff = writer.contents.cutOff
            report.resumed = writer.contents.doneCount
            report.done = writer.contents.doneCount
            var quarantined = writer.contents.quarantined
            let blamed = Self.blame(writer, options.retry, isolated: &isolated)
            quarantined.merge(blamed) { $1 }
            for index in blamed.keys { _ = skipped.insert(index) }
            if options.retriesQuarantined {
                for index in quarantined.keys { skipped.remove(index) }
                quarantined = [:]
            }
            for (index, found) in quarantined.sorted(by: { $0.key < $1.key }) {
                let failure = BatchFailure(
                    attempts: found.attempts, description: String(decoding: found.error, as: UTF8.self))
                givenUpBefore[index] = failure
                report.quarantined.append(
                    BatchReport.Quarantined(index: index, name: job.itemName(index), failure: failure))
            }
            isolated.removeAll { skipped.contains($0) }
            for index in isolated { _ = skipped.insert(index) }
        } else {
            writer = nil
        }
        floor = Floor(
            job, positions, skipped: skipped, flight: writer?.flight ?? Flight(slots: parallelism),
            keepsEntries: writer != nil, parallelism: parallelism, options: options,
            keepsOutputs: keepsOutputs, mostOutput: mostOutput)
    }

    /// Refuses a journal with another number of shards, because `merge` could not join them.
    private static func refuseOtherShards(_ shard: Shard, in journal: String) throws(BatchError) {
        guard shard.count > 1 else { return }
        let counts: [Int]
        do throws(BatchError) { counts = try JournalDirectory.shardCounts(in: journal) } catch {
            if case .noJournal = error { return }
            throw error
        }
        guard let other = counts.first(where: { $0 != shard.count }) else { return }
        throw .foreign(journal: journal, difference: "it has \(other) shards, not \(shard.count)")
    }

    /// Attributes the end of the last run to items, and records this in the journal.
    ///
    /// - Returns: The items that have no attempt left.
    private static func blame(
        _ writer: JournalWriter, _ retry: BatchRetry, isolated: inout [Int]
    ) -> [Int: (attempts: Int, error: [UInt8])] {
        var tries = writer.contents.tries
        var entries = EntryWriter()
        var blamed: [Int: (attempts: Int, error: [UInt8])] = [:]
        let leftovers = writer.leftovers
        for leftover in leftovers {
            var known = tries[leftover.index] ?? JournalContents.Tries()
            let wasAlone = leftovers.count == 1 && known.suspicions >= mostSuspicions
            if leftover.signal != 0 || wasAlone {
                known.crashes += 1
                entries.append(index: leftover.index, kind: .crashed, attempts: known.crashes, bytes: [])
                // A kill from outside is weaker evidence than a signal that the item raised.
                if known.crashes >= (wasAlone ? max(retry.attempts, mostSuspicions) : retry.attempts) {
                    let how =
                        leftover.signal == 0
                        ? "was killed" : unsafe "ended by \(String(cString: strsignal(Int32(leftover.signal))))"
                    let error = Array("the process \(how) while this item ran".utf8)
                    blamed[leftover.index] = (known.crashes, error)
                    entries.append(
                        index: leftover.index, kind: .quarantined, attempts: known.crashes, bytes: error)
                }
            } else {
                known.suspicions += 1
                entries.append(index: leftover.index, kind: .underWay, attempts: 0, bytes: [])
            }
            tries[leftover.index] = known
        }
        isolated = tries.filter {
            $0.value.suspicions >= mostSuspicions && !writer.contents.ended.contains($0.key)
        }
        .keys.sorted()
        writer.append(entries.take())
        return blamed
    }

    // MARK: - The run

    func run(_ output: Output?) throws(BatchError) -> BatchReport {
        if options.endsOnSignals { StopSignals.listen() }
        if writer != nil { floor.flight.watch() }
        // Items under way are told at once, also while this thread is in `output`.
        let forwarding = options.token?.onCancel { [floor] in floor.token.cancel() }
        defer {
            forwarding?.remove()
            if options.endsOnSignals { StopSignals.unlisten() }
            if writer != nil { floor.flight.unwatch() }
            meter.clear()
        }
        do throws(BatchError) {
            return try work(output)
        } catch {
            abandon()
            throw error
        }
    }

    /// Ends the items under way after an error, as at any other end.
    private func abandon() {
        floor.token.cancel()
        let deadline = ContinuousClock.now + options.endTimeout
        while floor.activeCount > 0, .now < deadline { _ = floor.wake.wait(timeout: .milliseconds(20)) }
    }

    private func work(_ output: Output?) throws(BatchError) -> BatchReport {
        try writer?.commit()
        try runIsolated(output)
        advance(output)
        floor.open(to: limit)
        var deadline: ContinuousClock.Instant?
        while true {
            if deadline == nil, isAskedToEnd {
                floor.token.cancel()
                deadline = .now + options.endTimeout
            }
            if seconds - lastLook >= Self.lookInterval {
                lastLook = seconds
                floor.returnHeldPlaces(&heldPlaces)
                if options.timeLimit != nil { floor.cancelLateBodies() }
            }
            floor.startPumps(most: parallelism)
            _ = floor.wake.wait(timeout: pause)
            let active = floor.activeCount
            let isOver =
                active == 0
                && (floor.token.isCancelled || floor.taken >= positions.count && !floor.hasRetries)
            let isStarved = floor.isStarved(of: positions.count)
            if isOver || isStarved || floor.hasFullSlots || writer == nil || seconds - lastCommit >= Self.commitInterval {
                try collect(output)
                floor.open(to: limit)
            } else if seconds - lastGathering >= Self.writeInterval {
                gather()
                try writer?.write()
                if unsavedBytes > Floor.mostHeld { try collect(output) }
            }
            meter.show(
                BatchMeter.State(
                    total: positions.count, done: report.done, quarantined: report.quarantined.count,
                    resumed: report.resumed, retries: report.retries), at: seconds)
            if isOver { break }
            if let deadline, deadline < .now {
                try collect(output)  // Return the outputs of all items that the report counts.
                noteStuck()
                break
            }
        }
        // Without the final record, the next run examines the items under way.
        if report.stuck.isEmpty { try writer?.end() }
        conclude()
        return report
    }

    /// Runs the items that may have ended the process, one at a time and without others.
    private func runIsolated(_ output: Output?) throws(BatchError) {
        for index in isolated {
            guard let place = place(of: index) else { continue }
            floor.add(Floor.Retry(due: .now, place: place, failures: 0))
            while true {
                // Read the count first: a failing pump adds its retry before it leaves.
                let active = floor.activeCount
                guard floor.hasRetries || active > 0 else { break }
                if isAskedToEnd {
                    floor.token.cancel()
                    return
                }
                if options.timeLimit != nil { floor.cancelLateBodies() }
                floor.startPumps(most: 1)
                _ = floor.wake.wait(timeout: .milliseconds(100))
                if floor.hasFullSlots || seconds - lastCommit >= Self.commitInterval {
                    try collect(output)
                } else if seconds - lastGathering >= Self.writeInterval {
                    gather()
                    try writer?.write()
                }
            }
        }
    }

    private func place(of index: Int) -> Int? {
        switch positions {
        case .row(let range): range.contains(index) ? index - range.lowerBound : nil
        case .list(let list): list.firstIndex(of: index)
        }
    }

    private var isAskedToEnd: Bool {
        isRefused || options.token?.isCancelled ?? false || options.endsOnSignals && StopSignals.received != nil
    }

    private var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    /// The time until the next check is due.
    private var pause: Duration {
        let tick = writer != nil || keepsOutputs ? Duration.seconds(Self.writeInterval) : .milliseconds(100)
        guard let due = floor.nextRetry else { return tick }
        return min(tick, max(.milliseconds(1), due - .now))
    }

    /// The end of the places that pumps may take.
    private var limit: Int {
        guard keepsOutputs else { return positions.count }
        return heldBytes > Self.mostHeldBytes ? 0 : min(positions.count, frontier + Self.window)
    }

    /// Collects the results of the pumps, makes them safe and returns the next outputs in order.
    private func collect(_ output: Output?) throws(BatchError) {
        gather()
        if seconds - lastWrite >= Self.heartbeatInterval {
            writer?.appendHeartbeat()
            lastWrite = seconds
        }
        if let writer {
            try writer.commit()
            lastCommit = seconds
        }
        // The results are safe on the disk from here on.
        for (place, result) in unsaved {
            if case .success(let bytes) = result { heldBytes += bytes.count }
            held[place] = result
        }
        unsaved.removeAll(keepingCapacity: true)
        unsavedBytes = 0
        floor.release()
        advance(output)
    }

    /// Collects the results of the pumps.
    private func gather() {
        lastGathering = seconds
        for slot in floor.slots {
            let tally = slot.tally.withLock { tally in
                unsavedBytes += tally.heldBytes
                let records = tally.records + [tally.entries.take()]
                defer {
                    tally.records = []
                    tally.results = []
                    (tally.done, tally.retries, tally.busy, tally.heldBytes) = (0, 0, 0, 0)
                    tally.quarantined = []
                    tally.late = []
                }
                return (
                    records: records, results: tally.results, done: tally.done, retries: tally.retries,
                    busy: tally.busy,
                    quarantined: tally.quarantined, late: tally.late
                )
            }
            for record in tally.records where !record.isEmpty {
                writer?.append(record)
                lastWrite = seconds
            }
            unsaved += tally.results
            report.done += tally.done
            report.retries += tally.retries
            busy += tally.busy
            report.late += tally.late.map { job.itemName(positions[$0]) }
            for (place, failure) in tally.quarantined {
                let index = positions[place]
                report.quarantined.append(
                    BatchReport.Quarantined(index: index, name: job.itemName(index), failure: failure))
            }
        }
    }

    /// Returns the next outputs in order.
    private func advance(_ output: Output?) {
        guard let output else { return }
        while frontier < positions.count, !isRefused {
            let index = positions[frontier]
            // The outputs go above the bar, which is redrawn at the next check.
            if held[frontier] != nil { meter.clear() }
            if let result = held.removeValue(forKey: frontier) {
                if case .success(let bytes) = result { heldBytes -= bytes.count }
                isRefused = !output(index, result)
            } else if let earlier = earlier(index) {
                meter.clear()
                isRefused = !output(index, earlier)
            } else {
                return
            }
            frontier += 1
        }
    }

    /// Returns the result of an item from an earlier run.
    private func earlier(_ index: Int) -> Result<[UInt8], BatchFailure>? {
        if let bytes = writer?.contents.output(of: index) { return .success(bytes) }
        return givenUpBefore[index].map { .failure($0) }
    }

    private func noteStuck() {
        report.stuck = floor.flight.underWay.map(job.itemName)
    }

    private func conclude() {
        for slot in floor.slots {
            slot.tally.withLock { tally in
                times.add(tally.times)
                slowest += tally.slowest
            }
        }
        report.ending = report.pending == 0 ? .finished : .interrupted
        report.seconds = seconds
        report.workerUse = min(1, Double(busy) / 1e9 / max(seconds * Double(parallelism), 1e-9))
        report.percentiles = (
            times.percentile(50), times.percentile(90), times.percentile(99), Double(times.longest) / 1e9
        )
        report.quarantined.sort { $0.index < $1.index }
        report.slowest = slowest.sorted { $0.nanoseconds > $1.nanoseconds }.prefix(10).map {
            BatchReport.Slow(name: job.itemName(positions[$0.place]), seconds: Double($0.nanoseconds) / 1e9)
        }
    }
}
