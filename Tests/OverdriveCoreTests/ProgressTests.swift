import OverdriveCore
import OverdriveTerminal
import Testing

@Suite("A queue's progress", .timeLimit(.minutes(10)))
struct ProgressTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("is nil until it is tracked")
    func untracked() async {
        #expect(queue.progress == nil)
        queue.setSpecific(key: TaskQueue.SpecificKey<Int>(), value: 1)
        #expect(queue.progress == nil)
        for await _ in queue.progressUpdates() { Issue.record("there is nothing to tell") }
        await queue.showProgress()
    }

    @Test("counts what is submitted and what has ended", arguments: [1, 2, TaskQueue.unlimited])
    func counts(width: Int) throws {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let gate = Gate()
        queue.async {}
        queue.trackProgress(total: 5)
        #expect(queue.progress?.total == 5)
        queue.waitUntilAllTasksAreFinished()
        #expect(queue.progress?.done == 0)
        for _ in 0..<3 { queue.async {} }
        queue.waitUntilAllTasksAreFinished()
        let early = try #require(queue.progress)
        #expect((early.total, early.done, early.fraction, early.isFinished) == (5, 3, 0.6, false))
        queue.async { gate.pass() }
        for _ in 0..<9 { queue.async {} }
        #expect(queue.progress?.total == 13)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        let late = try #require(queue.progress)
        #expect((late.total, late.done, late.failed, late.cancelled, late.isFinished) == (13, 13, 0, 0, true))
        queue.trackProgress()
        #expect(queue.progress.map { [$0.total, $0.done] } == [0, 0])
        #expect(queue.progress?.fraction == 1)
        // Ages are no more than a duration in nanoseconds can be.
        queue.trackProgress(total: .max)
        #expect(queue.progress?.timeLeft == nil)
        queue.async {}
        #expect(eventually { queue.progress?.timeLeft != nil })
        #expect(queue.progress?.timeLeft == .seconds(9_000_000_000))
    }

    @Test("tells what failed and what was taken back")
    func endings() async throws {
        queue.trackProgress()
        _ = try? await queue.run { throw Flaw() }
        try await queue.run {}
        queue.suspend()
        for _ in 0..<4 { queue.async { Issue.record("it was taken back") } }
        queue.cancelAll()
        queue.resume()
        #expect(eventually { queue.progress?.isFinished == true })
        let progress = try #require(queue.progress)
        #expect((progress.total, progress.done, progress.failed, progress.cancelled) == (6, 6, 1, 4))
        #expect(progress.description == "6 of 6, 1 failed, 4 cancelled")
    }

    @Test("ends when the program says that no more come, or lets go of the queue", .timeLimit(.minutes(5)))
    func endsEarly() async throws {
        queue.trackProgress(total: 100)
        for _ in 0..<31 { queue.async {} }
        await queue.drained()
        #expect(queue.progress?.fraction == 0.31)
        queue.endProgress()
        queue.async {}  // not counted
        var last: TaskQueue.Progress?
        for await progress in queue.progressUpdates(every: .milliseconds(1)) { last = progress }
        #expect(last.map { [$0.total, $0.done] } == [31, 31])
        await queue.showProgress(every: .milliseconds(1))

        var forgotten: TaskQueue? = TaskQueue(scheduler: makeScheduler())
        forgotten?.trackProgress(total: 100)
        let updates = try #require(forgotten?.progressUpdates(every: .milliseconds(1)))
        forgotten = nil
        for await progress in updates { last = progress }
        #expect(last.map { [$0.total, $0.done] } == [0, 0])

        queue.trackProgress(total: 100)
        let replaced = queue.progressUpdates(every: .milliseconds(1))
        queue.trackProgress(total: 1)
        for await progress in replaced { last = progress }
        #expect(last.map { [$0.total, $0.done] } == [0, 0])
    }

    @Test("does not count those who help in a loop of the queue")
    func helpers() {
        queue.trackProgress()
        queue.concurrentPerform(iterations: 100) { _ in }
        #expect(queue.progress?.total == 0)
    }

    @Test("is a sequence that ends when all of it has ended")
    func updates() async {
        let gate = Gate()
        queue.trackProgress(total: 100)
        queue.async { gate.pass() }
        for _ in 0..<99 { queue.async {} }
        var seen: [TaskQueue.Progress] = []
        for await progress in queue.progressUpdates(every: .milliseconds(1)) {
            if seen.isEmpty { gate.open() }
            seen.append(progress)
        }
        #expect(seen.first?.isFinished == false)
        #expect(seen.last?.isFinished == true)
        #expect(seen.last?.done == 100)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.done <= $1.done })
    }

    @Test("stops telling a task that is cancelled")
    func cancelledReader() async {
        queue.trackProgress(total: 1)
        let reader = Task {
            for await _ in queue.progressUpdates(every: .seconds(60)) {}
        }
        reader.cancel()
        await reader.value
        #expect(queue.progress?.isFinished == false)
    }

    @Test("has a rate after a fifth of a second, and a time that is left")
    func rate() throws {
        queue.trackProgress(total: 20)
        _ = queue.progress
        #expect(queue.progress?.rate == nil && queue.progress?.timeLeft == nil)
        for _ in 0..<10 { queue.async {} }
        queue.waitUntilAllTasksAreFinished()
        let start = ContinuousClock.now
        #expect(eventually { ContinuousClock.now - start > .milliseconds(250) })
        let progress = try #require(queue.progress)
        let rate = try #require(progress.rate)
        let left = try #require(progress.timeLeft)
        #expect(rate > 0 && rate <= 50)
        #expect(abs(left / .seconds(1) * rate - 10) < 0.01)
    }

    @Test("is a line of any width")
    func line() throws {
        queue.trackProgress(total: 2_000)
        for _ in 0..<1_000 { queue.async {} }
        queue.waitUntilAllTasksAreFinished()
        let progress = try #require(queue.progress)
        for width in 0...120 { #expect(progress.line(width: width).count <= width) }
        let line = progress.line(width: 60)
        #expect(line.hasPrefix("1,000 of 2,000  [####"))
        #expect(line.hasSuffix("....]  50 %"))
    }

    @Test("counts exactly under many submitters, and keeps no closure")
    func exact() throws {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 3))
        let census = Census()
        queue.trackProgress()
        onThreads(4) { _ in
            for _ in 0..<1_000 {
                let tracked = census.newborn()
                queue.async { queue.async { tracked.touch() } }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        let progress = try #require(queue.progress)
        #expect((progress.total, progress.done) == (8_000, 8_000))
        #expect(eventually { census.alive == 0 })
    }

    @Test("leaves a failure out of what was submitted before")
    func failureFromBefore() async {
        let gate = Gate()
        let early = Task {
            try await queue.run {
                gate.pass()
                throw Flaw()
            }
        }
        while gate.arrivals == 0 { await Task.yield() }
        queue.trackProgress(total: 1)
        gate.open()
        await #expect(throws: Flaw.self) { try await early.value }
        #expect(queue.progress?.failed == 0)
    }

    @Test("A progress that is polled without pause keeps few samples, and tells the rate")
    func polled() throws {
        var meter = RateMeter()
        for step in 0..<200_000 { meter.note(Double(step), at: Double(step) * 5e-5) }
        let samples = try #require(Mirror(reflecting: meter).children.first?.value as? [(time: Double, amount: Double)])
        #expect(samples.count < 600)
        #expect(abs(try #require(meter.rate) - 20_000) < 1)
    }
}
