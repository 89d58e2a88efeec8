import Glibc
import OverdriveCore
import Synchronization
import Testing

@testable import OverdriveBatch

struct Refusal: Error, CustomStringConvertible {
    var description: String { "refused" }
}

@Suite("BatchJob")
struct BatchJobTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func options(_ scratch: Scratch? = nil, parallelism: Int = 4) -> BatchOptions {
        var options = BatchOptions()
        options.journal = scratch.map { "\($0.path)/journal" }
        options.parallelism = parallelism
        return options
    }

    private func number(_ bytes: [UInt8]) -> Int? { Int(String(decoding: bytes, as: UTF8.self)) }

    @Test("returns each output once and in order, with a journal and without", arguments: [false, true])
    func order(journal: Bool) throws {
        let ran = Atomic<Int>(0)
        let job = BatchJob(name: "order", version: "1", count: 5000) { index, _ in
            ran.add(1, ordering: .relaxed)
            if index % 500 == 0 { usleep(2000) }
            return Array("\(index)".utf8)
        }
        var seen: [Int] = []
        let report = try job.run(options(journal ? scratch : nil)) { index, result in
            #expect((try? result.get()).flatMap(self.number) == index)
            seen.append(index)
        }
        #expect(seen == Array(0..<5000))
        #expect(ran.load(ordering: .relaxed) == 5000)
        #expect(report.ending == .finished && report.done == 5000 && report.pending == 0)
        #expect(report.slowest.count == 10)
        #expect(report.percentiles.longest >= 0.002)

        guard journal else { return }
        // Again: nothing runs, all comes back.
        var again: [Int] = []
        let second = try job.run(options(scratch)) { index, _ in again.append(index) }
        #expect(again == seen)
        #expect(ran.load(ordering: .relaxed) == 5000)
        #expect(second.resumed == 5000 && second.ran == 0)
    }

    @Test("tries again as often as it was told, then gives the item up with its error")
    func retries() throws {
        let attempts = Atomic<Int>(0)
        let job = BatchJob(name: "retries", version: "1", count: 100) { index, attempt in
            if index == 7 {
                attempts.add(1, ordering: .relaxed)
                throw Refusal()
            }
            if index == 9, attempt.number < 3 { throw Refusal() }
            return [UInt8(index)]
        }
        var options = options(scratch)
        options.retry = BatchRetry(attempts: 3, delay: .milliseconds(1))
        var failures: [Int: BatchFailure] = [:]
        var count = 0
        let report = try job.run(options) { index, result in
            count += 1
            if case .failure(let failure) = result { failures[index] = failure }
        }
        #expect(count == 100)
        #expect(attempts.load(ordering: .relaxed) == 3)
        #expect(failures == [7: BatchFailure(attempts: 3, description: "refused")])
        #expect(report.done == 99 && report.quarantined.map(\.index) == [7] && report.retries == 4)

        // Given up for good, unless it is asked for once more.
        let second = try job.run(options) { _, _ in }
        #expect(attempts.load(ordering: .relaxed) == 3)
        #expect(second.quarantined.map(\.failure.description) == ["refused"])
        options.retriesQuarantined = true
        let third = try job.run(options) { _, _ in }
        #expect(attempts.load(ordering: .relaxed) == 6)
        #expect(third.quarantined.count == 1 && third.done == 99)
    }

    @Test("of a name that is longer than a record of entries goes on")
    func longName() throws {
        let job = BatchJob(name: String(repeating: "long ", count: 250_000), version: "1", count: 3) { index, _ in [UInt8(index)] }
        #expect(try job.run(options(scratch)).resumed == 0)
        #expect(try job.run(options(scratch)).resumed == 3)
        #expect(try BatchMerge("\(scratch.path)/journal").status.map(\.done) == [3])
    }

    @Test("that an error of the journal ends has ended what was under way when it says so")
    func abandoned() throws {
        let begun = Atomic<Int>(0)
        let ended = Atomic<Int>(0)
        let next = "\(scratch.path)/journal/000002.journal"
        let job = BatchJob(name: "abandoned", version: "1", count: 4) { index, attempt in
            if index == 0 {
                while begun.load(ordering: .relaxed) < 3 { usleep(1000) }
                // As another process that takes the journal over.
                close(open(next, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666))
                return [1]
            }
            begun.add(1, ordering: .relaxed)
            while !attempt.isCancelled { usleep(1000) }
            usleep(100_000)
            ended.add(1, ordering: .sequentiallyConsistent)
            throw BatchStop.cancelled
        }
        #expect(throws: BatchError.fenced(journal: "\(scratch.path)/journal")) { _ = try job.run(options(scratch)) }
        #expect(ended.load(ordering: .sequentiallyConsistent) == 3)
    }

    @Test("gives the signals back that it listened to")
    func signals() throws {
        @Sendable func handler(_ signal: Int32 = SIGHUP) -> Int {
            var action = sigaction()
            sigaction(signal, nil, &action)
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        }
        let before = handler()
        let during = Atomic<Int>(0)
        let ignored = Atomic<Int>(0)
        let inner = BatchJob(name: "inner", version: "1", count: 1) { _, _ in [] }
        var options = options()
        options.endsOnSignals = true
        let (now, innerOptions) = (options, options)
        // One that was ignored stays ignored, as in a script's background.
        signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, SIG_DFL) }
        _ = try BatchJob(name: "outer", version: "1", count: 1) { _, _ in
            _ = try inner.run(innerOptions)
            during.store(handler(), ordering: .relaxed)
            ignored.store(handler(SIGINT), ordering: .relaxed)
            kill(getpid(), SIGHUP)
            while StopSignals.received == nil { usleep(1000) }
            return []
        }.run(now)
        #expect(try inner.run(innerOptions).ending == .finished)  // What came before is no matter of its.
        #expect(during.load(ordering: .relaxed) != before)
        #expect(handler() == before)
        signal(SIGHUP, SIG_IGN)
        defer { signal(SIGHUP, SIG_DFL) }
        _ = try inner.run(innerOptions)
        #expect(handler() == 1)  // what it found earlier is no matter any more
        #expect(ignored.load(ordering: .relaxed) == 1)  // SIG_IGN
    }

    @Test("a second signal ends the process at once")
    func secondSignal() async throws {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            var options = BatchOptions()
            options.endsOnSignals = true
            options.endTimeout = .seconds(1000)
            _ = try BatchJob(name: "deaf", version: "1", count: 1) { _, _ in
                kill(getpid(), SIGTERM)
                while StopSignals.received == nil { usleep(1000) }
                kill(getpid(), SIGTERM)
                sleep(60)
                return []
            }.run(options)
        }
    }

    @Test("waits longer after each failure, up to a minute")
    func waits() {
        let retry = BatchRetry(attempts: 0, delay: .milliseconds(100), factor: 2)
        #expect([1, 2, 3, 4, 50].map { retry.wait(after: $0) } == [.seconds(0.1), .seconds(0.2), .seconds(0.4), .seconds(0.8), .seconds(60)])
        #expect(retry.attempts == 1 && BatchRetry(delay: .seconds(100)).wait(after: 1) == .seconds(60))
        #expect(BatchRetry() == BatchRetry(attempts: 1, delay: .milliseconds(100), factor: 2))
    }

    /// A job whose item 1 ends the process by that signal, for as long as there is no file `mended`.
    private static func deadly(_ directory: String, by signal: Int32) throws -> BatchReport {
        var options = BatchOptions()
        options.journal = "\(directory)/journal"
        options.parallelism = 2
        return try BatchJob(name: "deadly", version: "1", count: 3) { index, _ in
            if index == 1, access("\(directory)/mended", F_OK) != 0 { raise(signal) }
            return []
        }.run(options)
    }

    @Test("an item that the process dies of is given up, and the others are done")
    func crash() async throws {
        await #expect(processExitsWith: .signal(SIGSEGV)) { [path = scratch.path as String] in
            signal(SIGSEGV, SIG_DFL)  // nobody need look for the fault
            var options = BatchOptions()
            options.journal = "\(path)/before"
            _ = try BatchJob(name: "before", version: "1", count: 1) { _, _ in [] }.run(options)
            _ = try Self.deadly(path, by: SIGSEGV)
        }
        try scratch.write("mended", [])
        let report = try Self.deadly(scratch.path, by: SIGSEGV)
        #expect(report.done == 2 && report.quarantined.map(\.index) == [1])
        #expect(report.quarantined.first?.failure.description == "the process ended by Segmentation fault while this item ran")
    }

    @Test("an item during which the process is killed again and again is run alone after three times, and given up after three more")
    func killed() async throws {
        for _ in 0..<6 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = scratch.path as String] in
                _ = try Self.deadly(path, by: SIGKILL)
            }
        }
        try scratch.write("mended", [])
        let report = try Self.deadly(scratch.path, by: SIGKILL)
        #expect(report.done == 2 && report.quarantined.map(\.index) == [1])
        #expect(report.quarantined.first?.failure.description == "the process was killed while this item ran")
    }

    @Test("reports what was given up in order, and what took longest first")
    func inOrder() throws {
        let job = BatchJob(name: "order", version: "1", count: 40) { index, _ in
            if index == 2 { usleep(100_000) }
            if index == 2 || index == 9 { throw Refusal() }
            usleep(index == 7 ? 50_000 : index < 30 ? 2000 : 10_000)
            return []
        }
        let report = try job.run(options(parallelism: 3))
        #expect(report.quarantined.map(\.index) == [2, 9])
        #expect(report.slowest.contains { $0.name == Array("2".utf8) } && zip(report.slowest, report.slowest.dropFirst()).allSatisfy { $0.seconds >= $1.seconds })
        let times = [report.percentiles.p50, report.percentiles.p90, report.percentiles.p99, report.percentiles.longest]
        #expect(times == times.sorted() && times[1] >= 0.01 && times[3] >= 0.1, "\(times)")
    }

    @Test("an attempt that is late is told so, and its error names the limit")
    func timeLimit() throws {
        let job = BatchJob(name: "late", version: "1", count: 3) { index, attempt in
            while index == 1, !attempt.isCancelled { usleep(1000) }
            try attempt.check()
            return []
        }
        var options = options()
        options.timeLimit = .milliseconds(30)
        let report = try job.run(options)
        #expect(report.done + report.quarantined.count == 3)
        let failure = try #require(report.quarantined.first { $0.index == 1 }?.failure)
        #expect(failure.description.hasPrefix("over its time limit of 0.03 seconds"), "\(failure)")
    }

    @Test("an output that comes after its time limit counts, and the report names its item")
    func lateOutput() throws {
        let job = BatchJob(name: "late output", version: "1", count: 3) { index, _ in
            if index == 1 { usleep(60_000) }
            return [UInt8(index)]
        }
        var options = options()
        options.timeLimit = .milliseconds(30)
        var outputs = 0
        let report = try job.run(options) { _, result in if case .success = result { outputs += 1 } }
        #expect(outputs == 3 && report.done == 3)
        #expect(report.late.contains(Array("1".utf8)) && report.json.contains("\"late\":["))
    }

    @Test("ends orderly when it is cancelled, and the next run does the rest exactly once")
    func cancelled() throws {
        let token = CancellationToken()
        let ran = Mutex<[Int: Int]>([:])
        let job = BatchJob(name: "cancel", version: "1", count: 6000) { index, attempt in
            usleep(100)
            if index == 300, !token.isCancelled {
                token.cancel()
                while !attempt.isCancelled { usleep(1000) }
                try attempt.check()  // which is no failure of the item's
            }
            ran.withLock { $0[index, default: 0] += 1 }
            return Array("\(index)".utf8)
        }
        var options = options(scratch)
        options.token = token
        let first = try job.run(options)
        #expect(first.ending == .interrupted)
        #expect(first.pending > 0 && first.done > 0)
        options.token = nil
        var seen: [Int] = []
        let second = try job.run(options) { index, _ in seen.append(index) }
        #expect(seen == Array(0..<6000))
        #expect(second.resumed == first.done)
        // An orderly end leaves nothing behind that is done twice.
        #expect(ran.withLock { $0.values.allSatisfy { $0 == 1 } && $0.count == 6000 })
    }

    @Test("an item that lasts does not hold the items behind it")
    func lastingItem() throws {
        let ran = Atomic<Int>(0)
        let count = 3000
        let sawAll = Atomic<Bool>(false)
        let job = BatchJob(name: "lasting", version: "1", count: count) { index, _ in
            if index == 900 {
                let deadline = ContinuousClock.now + .seconds(20)
                while ran.load(ordering: .relaxed) < count - 1, .now < deadline { usleep(1000) }
                sawAll.store(ran.load(ordering: .relaxed) == count - 1, ordering: .relaxed)
            }
            ran.add(1, ordering: .relaxed)
            return Array("\(index)".utf8)
        }
        var options = options(parallelism: 2)
        options.scheduler = try Scheduler(workers: 2)
        var seen: [Int] = []
        let report = try job.run(options) { index, _ in seen.append(index) }
        #expect(sawAll.load(ordering: .relaxed) == true)
        #expect(seen == Array(0..<count) && report.done == count)
    }

    @Test("begins no item any more once it is to end")
    func cancelledInChunk() throws {
        let token = CancellationToken()
        let last = Atomic<Int>(0)
        let job = BatchJob(name: "chunk", version: "1", count: 100_000) { index, attempt in
            last.max(index, ordering: .relaxed)
            if index == 50_000 {
                token.cancel()
                while !attempt.isCancelled { usleep(1000) }
            }
            return []
        }
        var options = options(parallelism: 1)
        options.token = token
        #expect(try job.run(options).done == 50_001)
        #expect(last.load(ordering: .relaxed) == 50_000)
    }

    @Test("runs what the process may have died of before all else, and once")
    func suspected() throws {
        let ran = Mutex<[Int]>([])
        let options = options(scratch)
        let job = BatchJob(name: "suspected", version: "1", count: 5) { index, _ in
            ran.withLock { $0.append(index) }
            return []
        }
        do {
            let identity = JournalIdentity(job: "suspected", version: "1", count: 5, items: 0, shard: .whole)
            let writer = try JournalWriter(options.journal ?? "", identity: identity, wantsOutputs: false, slots: 4)
            var entries = EntryWriter()
            for _ in 0..<3 { entries.append(index: 3, kind: .underWay, attempts: 0, bytes: []) }
            writer.append(entries.take())
            try writer.end()
        }
        #expect(try job.run(options).done == 5)
        #expect(ran.withLock { $0.first == 3 && $0.sorted() == Array(0..<5) })
    }

    @Test("returns without an item that does not end, and names it")
    func stuck() throws {
        let release = CountingSemaphore(value: 0)
        let token = CancellationToken()
        let job = BatchJob(name: "stuck", version: "1", items: ["a", "b", "c"]) { name, _ in
            if name == "b" {
                token.cancel()
                release.wait()
            }
            return []
        }
        var options = options()
        options.token = token
        options.endTimeout = .milliseconds(100)
        let report = try job.run(options)
        release.signal()
        #expect(report.stuck == [Array("b".utf8)])
        #expect(report.ending == .interrupted)
        #expect("\(report)".contains(": interrupted, \(report.done) of 3 items done, \(report.pending) pending, 1 of them did not end, in "))
    }

    @Test("says in its one line which shard it was, and what an earlier run had done")
    func resumedLine() throws {
        let job = BatchJob(name: "parts", version: "1", count: 10) { _, _ in [] }
        var options = options(scratch)
        options.shard = try Shard("1/2")
        _ = try job.run(options)
        let report = try job.run(options)
        let all = report.items
        #expect(all > 0)
        #expect("\(report)".hasPrefix("job \"parts\", shard 1/2: finished, \(all) of \(all) items done (\(all) in earlier runs), in "))
    }

    /// What had ended when the run gave up was counted, and its outputs were not returned.
    @Test("returns what it counts where an item does not end", arguments: [Duration.seconds(2), .milliseconds(60)])
    func stuckLast(deadline: Duration) throws {
        let release = CountingSemaphore(value: 0)
        let token = CancellationToken()
        let first = CountingSemaphore(value: 0)
        let job = BatchJob(name: "stuck", version: "1", count: 2) { index, _ in
            if index == 0 {
                first.wait()
                return [7]
            }
            token.cancel()
            // The run is asked to end while both are under way.
            first.signal()
            release.wait()
            return []
        }
        var options = options(scratch, parallelism: 2)
        options.token = token
        options.endTimeout = deadline  // the first item ends in the longer one
        var seen: [Int] = []
        let report = try job.run(options) { index, _ in seen.append(index) }
        release.signal()
        #expect((report.done == 1 || deadline < .seconds(1)) && seen == Array(0..<report.done))
        #expect(report.stuck.count == 2 - report.done && report.ending == .interrupted)
        // The next run is to know of what was under way.
        #expect(access("\(scratch.path)/journal/000001.flight", F_OK) == 0)
    }

    @Test("holds no more outputs than its window while the reader is slow or the first item is")
    func window() throws {
        let first = CountingSemaphore(value: 0)
        let begun = Atomic<Int>(0)
        let job = BatchJob(name: "window", version: "1", count: 200_000) { index, _ in
            let number = begun.add(1, ordering: .relaxed).newValue
            // The first item waits until all are begun that may be.
            if number == 1 << 16 { first.signal() }
            if index == 0 { first.wait() }
            return []
        }
        var count = 0
        let report = try job.run(options()) { _, _ in
            if count == 0 { #expect(begun.load(ordering: .relaxed) <= 1 << 16) }
            count += 1
        }
        #expect(count == 200_000)
        #expect(report.done == 200_000)
    }

    @Test("an output that no record takes is given up with a sentence, and what goes into no record together goes into two")
    func largeOutputs() throws {
        let job = BatchJob(name: "large", version: "1", count: 50) { index, _ in
            [UInt8](repeating: UInt8(index), count: index == 7 ? 101 : 100)
        }
        func run() throws -> [Result<[UInt8], BatchFailure>] {
            var results: [Result<[UInt8], BatchFailure>] = []
            let run = try BatchRun(job, options(scratch, parallelism: 1), keepsOutputs: true, mostOutput: 100)
            _ = try run.run { _, result in
                results.append(result)
                return true
            }
            return results
        }
        let results = try run()
        for index in 0..<50 where index != 7 {
            #expect(try results[index].get() == [UInt8](repeating: UInt8(index), count: 100))
        }
        #expect(throws: BatchFailure.self) { _ = try results[7].get() }
        guard case .failure(let failure) = results[7] else { return }
        #expect(failure.description.hasPrefix("the output is too large (101 bytes; a journal takes 100 per item)"))
        let again = try run().map { try? $0.get() }
        #expect(again == results.map { try? $0.get() })
    }

    @Test("holds some megabytes of outputs, and not what a quarter of a second gives, while they go into the journal")
    func heldBytes() throws {
        let path = "\(scratch.path)/journal/000001.journal"
        let made = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let output = [UInt8](repeating: 7, count: 1 << 20)
        let job = BatchJob(name: "held", version: "1", count: 96) { _, _ in
            var copy = output
            copy[0] = 8
            var status = stat()
            let written = stat(path, &status) == 0 ? Int(status.st_size) : 0
            let held = made.add(copy.count, ordering: .relaxed).newValue - written
            most.max(held, ordering: .relaxed)
            return copy
        }
        #expect(try job.run(options(scratch, parallelism: 2)) { _, _ in }.done == 96)  // more than may be held in all
        #expect(most.load(ordering: .relaxed) < 40 << 20)
    }

    @Test("a shard that has a directory and no journal yet is passed over, and named as a gap")
    func shardThatHasNotBegun() throws {
        let job = BatchJob(name: "begun", version: "1", count: 100) { _, _ in [] }
        var options = options(scratch)
        options.shard = try Shard("1/2")
        _ = try job.run(options)
        let journal = "\(scratch.path)/journal"
        let begun = JournalDirectory.shard(try Shard("0/2"), in: journal)
        #expect(mkdir(begun, 0o777) == 0)
        for _ in 0..<2 {
            let merge = try BatchMerge(journal)
            #expect(merge.status.map(\.shard.index) == [1])
            #expect {
                try merge.validate { "\($0)" }
            } throws: { "\($0)".hasSuffix("there is no journal of shard 0 of 2") }
            // The same with a file in it that nothing was written to.
            close(open("\(begun)/000001.journal", O_CREAT | O_WRONLY | O_CLOEXEC, 0o666))
        }
    }

    @Test("runs its shards apart, and the merge is the whole; gaps and doubles are named")
    func shards() throws {
        let names = (0..<100).map { "item \($0)" }
        let job = BatchJob(name: "shards", version: "1", items: names) { name, _ in Array(name.utf8) }
        var options = options(scratch)
        for index in [0, 2] {
            options.shard = try Shard("\(index)/3")
            _ = try job.run(options)
        }
        let journal = "\(scratch.path)/journal"
        #expect {
            try BatchMerge(journal).validate { names[$0] }
        } throws: {
            "\($0)".contains("are not done: 'item ")
                && "\($0)".hasSuffix(" more; there is no journal of shard 1 of 3") && "\($0)".count { $0 == "'" } == 20
        }
        options.shard = try Shard("1/3")
        _ = try job.run(options)
        let merge = try BatchMerge(journal)
        try merge.validate { names[$0] }
        var merged: [String] = []
        merge.outputs { _, result in merged.append(String(decoding: (try? result.get()) ?? [], as: UTF8.self))
        }
        #expect(merged == names)
        #expect(merge.count == 100 && merge.job == "shards" && merge.version == "1")

        // A shard of other sizes took over an item that another one has.
        options.weights = [Int](repeating: 1, count: 99) + [1_000_000]
        options.shard = try Shard("2/3")
        let directory = JournalDirectory.shard(options.shard, in: journal)
        unlink("\(directory)/000001.journal")
        _ = try job.run(options)
        #expect {
            try BatchMerge(journal).validate { names[$0] }
        } throws: { "\($0)".contains("were done by two") || "\($0)".contains("are not done") }
        options.shard = try Shard("3/4")
        #expect { try job.run(options) } throws: { "\($0)".contains("it has 3 shards, not 4") }
        // Journals that an earlier version has mixed.
        options.journal = "\(scratch.path)/other"
        _ = try job.run(options)
        let mixed = JournalDirectory.shard(options.shard, in: journal)
        #expect(rename(JournalDirectory.shard(options.shard, in: "\(scratch.path)/other"), mixed) == 0)
        #expect { try BatchMerge(journal) } throws: { "\($0)".contains("it is one of 4 shards, but others are of 3") }
    }

    @Test("a run without shards and divided runs share a journal, and the merge takes each item from either", arguments: [[0], [0, 1]])
    func wholeBesideShards(shards: [Int]) throws {
        let job = BatchJob(name: "beside", version: "1", count: 100) { index, _ in [UInt8(index)] }
        var options = options(scratch)
        let whole = try job.run(options)
        for index in shards {
            options.shard = try Shard("\(index)/2")
            #expect(try job.run(options).resumed == 0)
        }
        let merge = try BatchMerge("\(scratch.path)/journal")
        try merge.validate { "\($0)" }
        var merged: [UInt8] = []
        merge.outputs { _, result in merged += (try? result.get()) ?? [] }
        #expect(merged == (0..<100).map { UInt8($0) } && whole.done == 100)
        #expect(merge.status.map(\.shard.description) == ["0/1"] + shards.map { "\($0)/2" })
        #expect(merge.ended == (100, 0))
        options.shard = try Shard("0/3")
        #expect { try job.run(options) } throws: { "\($0)".contains("it has 2 shards, not 3") }
    }

    @Test("is told in JSON and in words")
    func report() throws {
        let job = BatchJob(name: "a \"job\"\n", version: "1", count: 3) { index, _ in
            if index == 1 { throw Refusal() }
            return []
        }
        let report = try job.run(options())
        #expect(
            report.json.hasPrefix(
                "{\"job\":\"a \\\"job\\\"\\n\",\"shard\":\"0/1\",\"ending\":\"finished\",\"items\":3,\"done\":2,"
            ))
        #expect(
            report.json.contains("\"quarantined\":[{\"name\":\"1\",\"attempts\":1,\"error\":\"refused\"}]"))
        #expect(report.text.contains("given up: 1: refused (1 attempts)"))
        #expect("\(report)".hasPrefix("job \"a \\\"job\\\"\\n\": finished, 2 of 3 items done, 1 given up, in "))
        #expect("\(report)".hasSuffix(" s"))
        var other = BatchReport(job: "\u{1}\t\r\\", shard: try Shard("3/16"), ending: .interrupted)
        (other.items, other.done, other.resumed, other.retries, other.cutOff) = (100, 70, 20, 5, 13)
        other.quarantined = report.quarantined
        (other.stuck, other.workers, other.workerUse) = ([[0x78, 0xff]], 4, 0.876)
        other.late = [[0x7a]]
        (other.seconds, other.percentiles) = (12.5, (2e-7, 0.0123456, 1.23456, 1234.56))
        other.slowest = [BatchReport.Slow(name: [0x79], seconds: .infinity)]
        #expect(
            other.json == #"{"job":"\u0001\t\r\\","shard":"3/16","ending":"interrupted","items":100,"done":70,"resumed":20,"#
                + #""pending":29,"retries":5,"quarantined":[{"name":"1","attempts":1,"error":"refused"}],"stuck":["x\#u{fffd}"],"#
                + #""late":["z"],"cut_off_bytes":13,"seconds":12.5,"items_per_second":4.0,"workers":4,"worker_use":0.876,"p50":2e-07,"#
                + #""p90":0.01235,"p99":1.235,"longest":1235,"slowest":[{"name":"y","seconds":null}]}"#)
        #expect(
            other.text == """
                job \u{1}\t\r\\, shard 3/16: interrupted
                items 100: 70 done (20 in earlier runs), 1 given up, 29 pending
                4.0 items/s over 12.5 s, 5 retries
                4 workers, 88 % in use
                half within 0.2 µs, 90 % 12.35 ms, 99 % 1.235 s, longest 1235 s
                slow: y: null s
                given up: 1: refused (1 attempts)
                late: z
                did not end: x\u{fffd}

                """)
    }

    @Test("gives a sign of life in the journal while one item takes long")
    func heartbeat() throws {
        let path = "\(scratch.path)/journal/000001.journal"
        let job = BatchJob(name: "long", version: "1", count: 1) { _, _ in
            func size() -> Int { (try? MappedFile(path).withBytes(\.count)) ?? 0 }
            let before = size()
            // Ends with the sign, and only with it.
            while size() == before { usleep(10_000) }
            return []
        }
        #expect(try job.run(options(scratch)).done == 1)
    }

    @Test("an error that the output's closure throws ends the run, and the next run returns every output")
    func throwingOutput() throws {
        let ran = Atomic<Int>(0)
        let isSecond = Atomic<Bool>(false)
        let job = BatchJob(name: "refusing", version: "1", count: 5000) { index, attempt in
            if index > 1000, !isSecond.load(ordering: .relaxed) {
                while !attempt.isCancelled { usleep(1000) }
                try attempt.check()
            }
            ran.add(1, ordering: .relaxed)
            return [UInt8(index & 0xff)]
        }
        var seen: [Int] = []
        #expect(throws: Refusal.self) {
            try job.run(options(scratch)) { index, result in
                seen.append(index)
                _ = try result.get()
                if index == 100 { throw Refusal() }
            }
        }
        #expect(seen == Array(0...100) && ran.load(ordering: .relaxed) < 5000)
        seen = []
        isSecond.store(true, ordering: .relaxed)
        let report = try job.run(options(scratch)) { index, _ in seen.append(index) }
        #expect(seen == Array(0..<5000) && report.resumed > 100)
        #expect(ran.load(ordering: .relaxed) == 5000)
    }

    @Test("no items, no work")
    func empty() throws {
        let job = BatchJob(name: "empty", version: "1", count: 0) { _, _ in [] }
        #expect(try job.run(options(scratch)).ending == .finished)
        #expect(try job.run(options()).ending == .finished)
        #expect(try BatchJob(name: "one", version: "1", count: 1) { _, _ in [] }.run(options(parallelism: 0)).done == 1)
    }
}

@Suite("Histogram")
struct HistogramTests {
    @Test("is right to an eighth")
    func percentiles() {
        var histogram = Histogram()
        for value in 1...100_000 { histogram.note(UInt64(value)) }
        for percent in [50.0, 90, 99] {
            let found = histogram.percentile(percent) * 1e9
            #expect(found >= percent * 1000 && found <= percent * 1000 * 1.126)
        }
        var few = Histogram()
        for value in 1...3 { few.note(UInt64(value)) }
        #expect(few.percentile(50) == 2e-9)
        histogram.note(.max)
        #expect(histogram.percentile(100) > 1e9)
    }
}
