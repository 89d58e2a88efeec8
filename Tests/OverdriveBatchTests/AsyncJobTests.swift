import Glibc
import OverdriveCore
import Synchronization
import Testing

@testable import OverdriveBatch

@Suite("BatchJob.async")
struct AsyncJobTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func options(workers: Int = 1, parallelism: Int = 50) throws -> BatchOptions {
        var options = BatchOptions()
        options.journal = "\(scratch.path)/journal"
        options.parallelism = parallelism
        options.scheduler = try Scheduler(workers: workers)
        return options
    }

    @Test("items that await hold no worker, and outputs come once and in order")
    func awaiting() throws {
        let begun = Atomic<Int>(0)
        let together = Atomic<Bool>(false)
        let job = BatchJob.async(name: "await", version: "1", items: (0..<500).map { "item \($0)" }) { name, _ in
            begun.add(1, ordering: .relaxed)
            // The first items end once 50 of them are under way, on one worker.
            let deadline = ContinuousClock.now + .seconds(20)
            while begun.load(ordering: .relaxed) < 50, .now < deadline { try await Task.sleep(for: .milliseconds(1)) }
            if begun.load(ordering: .relaxed) >= 50 { together.store(true, ordering: .relaxed) }
            return Array(name.utf8)
        }
        var seen: [String] = []
        let report = try job.run(try options()) { _, result in
            seen.append(String(decoding: (try? result.get()) ?? [], as: UTF8.self))
        }
        #expect(together.load(ordering: .relaxed) == true)
        #expect(seen == (0..<500).map { "item \($0)" } && report.done == 500)
        #expect(try job.run(try options()).resumed == 500)
        #expect(begun.load(ordering: .relaxed) == 500)
    }

    @Test("an item's Swift task is cancelled when its time is over, and tried again")
    func timeLimit() throws {
        let attempts = Atomic<Int>(0)
        let job = BatchJob.async(name: "late", version: "1", count: 3) { index, attempt in
            if index == 1 { attempts.add(1, ordering: .relaxed) }
            if index == 1 || index == 2 && attempt.number == 1 { try await Task.sleep(for: .seconds(60)) }
            return [UInt8(index)]
        }
        var options = try options()
        options.timeLimit = .milliseconds(200)
        options.retry = BatchRetry(attempts: 2, delay: .milliseconds(1))
        let report = try job.run(options)
        #expect(report.done == 2 && report.quarantined.map(\.index) == [1] && attempts.load(ordering: .relaxed) == 2)
        let failure = try #require(report.quarantined.first?.failure)
        #expect(failure.description.hasPrefix("over its time limit of 0.2 seconds"), "\(failure)")
    }

    @Test("items under way are cancelled when the run is to end, and the next run does them")
    func cancelled() throws {
        let token = CancellationToken()
        let job = BatchJob.async(name: "cancel", version: "1", count: 100) { index, _ in
            if index == 60, !token.isCancelled { token.cancel() }
            if index > 30, !token.isCancelled { try await Task.sleep(for: .seconds(60)) }
            return [UInt8(index)]
        }
        var first = try options()
        first.token = token
        let report = try job.run(first)
        #expect(report.ending == .interrupted && report.stuck.isEmpty && report.quarantined.isEmpty)
        var outputs = 0
        #expect(try job.run(try options()) { _, _ in outputs += 1 }.done == 100)
        #expect(outputs == 100)
    }

    @Test("time limits and cancels reach items while the caller is busy with an output", arguments: [false, true])
    func busyOutput(isCancelled: Bool) throws {
        let ended = Atomic<Int>(0)
        let token = CancellationToken()
        let job = BatchJob.async(name: "busy", version: "1", count: 2) { index, _ in
            if index == 0 { return [] }
            defer { ended.add(1, ordering: .relaxed) }
            try await Task.sleep(for: .seconds(60))
            return []
        }
        var options = try options()
        options.token = token
        if !isCancelled { options.timeLimit = .milliseconds(300) }
        var endedInOutput = false
        _ = try job.run(options) { index, _ in
            guard index == 0 else { return }
            if isCancelled { token.cancel() }
            let deadline = ContinuousClock.now + .seconds(20)
            while ended.load(ordering: .relaxed) == 0, .now < deadline { usleep(1000) }
            endedInOutput = ended.load(ordering: .relaxed) == 1
        }
        #expect(endedInOutput)
    }

    @Test("time limits reach items that compute on every worker")
    func lateWhileComputing() throws {
        let limited = Atomic<Int>(0)
        let job = BatchJob.async(name: "compute", version: "1", count: 4) { _, _ in
            let deadline = ContinuousClock.now + .seconds(20)
            while !Task.isCancelled, .now < deadline {}
            limited.add(Task.isCancelled ? 1 : 0, ordering: .relaxed)
            return []
        }
        var options = try options(workers: 2)
        options.timeLimit = .milliseconds(50)
        _ = try job.run(options) { _, _ in }
        #expect(limited.load(ordering: .relaxed) == 4)
    }

    @Test("one due retry starts one of a thousand pumps, and later retries start none")
    func retryStartsOnePump() throws {
        let goesOn = Atomic<Bool>(false)
        let seen = Mutex<[Int]>([])
        let job = BatchJob.async(name: "retries", version: "1", count: 10_000) { index, _ in
            while !goesOn.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(1)) }
            seen.withLock { $0.append(index) }
            return []
        }
        var options = try options()
        options.retry = BatchRetry(attempts: 2)
        let floor = Floor(
            job, .row(0..<10_000), skipped: Bitmap(count: 10_000), flight: Flight(slots: 1000), keepsEntries: false,
            parallelism: 1000, options: options, keepsOutputs: false, mostOutput: 1 << 20)
        let begin = ContinuousClock.now
        for place in (1..<10_000).shuffled() {
            floor.add(Floor.Retry(due: begin + .seconds(3600 + place), place: place, failures: 1))
        }
        floor.add(Floor.Retry(due: begin, place: 0, failures: 1))
        #expect(floor.nextRetry == begin)
        floor.startPumps(most: 1000)
        #expect(floor.activeCount == 1)
        goesOn.store(true, ordering: .relaxed)
        while floor.activeCount > 0 { _ = floor.wake.wait(timeout: .milliseconds(20)) }
        #expect(seen.withLock { $0 } == [0] && floor.nextRetry == begin + .seconds(3601))
    }

    @Test("an item that crashes the process each time is run alone, and given up at last")
    func crash() async throws {
        for _ in 0..<6 {
            await #expect(processExitsWith: .signal(SIGSEGV)) { [path = scratch.path as String] in
                signal(SIGSEGV, SIG_DFL)  // nobody need look for the fault
                _ = try Self.deadly(path)
            }
        }
        try scratch.write("mended", [])
        let report = try Self.deadly(scratch.path)
        #expect(report.done == 2 && report.quarantined.map(\.index) == [1])
    }

    private static func deadly(_ directory: String) throws -> BatchReport {
        var options = BatchOptions()
        options.journal = "\(directory)/journal"
        return try BatchJob.async(name: "deadly", version: "1", count: 3) { index, _ in
            await Task.yield()
            if index == 1, access("\(directory)/mended", F_OK) != 0 { raise(SIGSEGV) }
            return []
        }.run(options)
    }
}
