import Testing

@testable import OverdriveCore

@Suite("Awaiting waits with a timeout", .timeLimit(.minutes(10)))
struct TimedWaitTests {
    let queue = TaskQueue(scheduler: makeScheduler())

    @Test("awaiting_wait_with_a_timeout_ends_by_the_event_or_by_the_time")
    func eventOrTime() async throws {
        let (group, item, semaphore) = (WaitGroup(), WorkItem {}, CountingSemaphore(value: 0))
        group.enter()
        let short = Duration.milliseconds(2), long = Duration.seconds(200)
        #expect(await group.wait(timeout: short) == .timedOut)
        #expect(await group.wait(deadline: .now - .seconds(1)) == .timedOut)
        #expect(await item.wait(timeout: short) == .timedOut)
        #expect(try await semaphore.wait(timeout: short) == .timedOut)
        #expect(try await semaphore.wait(timeout: .zero) == .timedOut)
        queue.suspend()
        queue.async {}
        #expect(await queue.drained(timeout: short) == .timedOut)
        queue.resume()
        queue.asyncAfter(.milliseconds(5)) {
            group.leave()
            item.perform()
            semaphore.signal()
        }
        #expect(await group.wait(timeout: long) == .success)
        #expect(await item.wait(deadline: .now + long) == .success)
        #expect(try await semaphore.wait(timeout: long) == .success)
        #expect(await queue.drained(timeout: long) == .success)
        #expect(await queue.drained(timeout: .zero) == .success)
        #expect(try await semaphore.wait(deadline: .now) == .timedOut, "The wait that timed out took no permit.")
    }

    @Test("awaiting_timed_wait_for_a_permit_ends_with_its_task")
    func cancelled() async {
        let semaphore = CountingSemaphore(value: 0)
        let waiter = Task { try await semaphore.wait(timeout: .seconds(200)) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
    }

    @Test("withTimeout_returns_the_value_in_time_and_cancels_the_body_after_it")
    func timeout() async throws {
        #expect(try await withTimeout(.seconds(200)) { 6 * 7 } == 42)
        let wasCancelled = Counter()
        await #expect(throws: TimeoutError(timeout: .milliseconds(2))) {
            try await withTimeout(.milliseconds(2)) {
                do { try await Task.sleep(for: .seconds(200)) } catch {
                    wasCancelled.add()
                    throw error
                }
            }
        }
        #expect(wasCancelled.count == 1)
    }

    /// A clock on which 200 s pass in 2 ms.
    private struct FastClock: Clock {
        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
            try await ContinuousClock().sleep(for: now.duration(to: deadline) / 100_000)
        }
        var now: ContinuousClock.Instant { .now }
        var minimumResolution: Duration { .nanoseconds(1) }
    }

    @Test("withTimeout_measures_by_the_given_clock")
    func clock() async {
        await #expect(throws: TimeoutError(timeout: .seconds(200))) {
            try await withTimeout(.seconds(200), clock: FastClock()) { try await Task.sleep(for: .seconds(100)) }
        }
    }

    @Test("run_takes_a_quality_of_service_and_an_asynchronous_closure_that_keeps_its_place")
    func run() async throws {
        let low = TaskQueue(qos: .utility, scheduler: makeScheduler())
        #expect(try await low.run(qos: .userInitiated) { TaskQueue.QoS.current } == .userInitiated)
        let serial = TaskQueue.serial(scheduler: makeScheduler())
        let (inside, overlaps) = (Counter(), Counter())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await serial.run {
                        if inside.add() > 1 { overlaps.add() }
                        try await Task.sleep(for: .milliseconds(1))
                        inside.add(-1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(overlaps.count == 0 && inside.count == 0)
    }

    @Test("slow_loop_over_ticks_is_told_of_missed_ticks_and_ends_with_the_timer")
    func ticks() async throws {
        var (count, seen) = (0, 0)
        for await tick in queue.ticks(every: .milliseconds(1), tolerance: .microseconds(100)) {
            count += 1
            seen += 1 + tick.missed
            if count == 1 { try await Task.sleep(for: .milliseconds(20)) }
            if count == 3 { tick.timer.cancel() }
        }
        #expect(count >= 3 && seen > count)
        for await _ in queue.ticks(every: .milliseconds(1)) { break }
        await queue.drained()
    }

    @Test("timer_with_a_tolerance_comes_within_it")
    func tolerance() async {
        let began = ContinuousClock.now
        let group = WaitGroup()
        group.enter()
        queue.asyncAfter(.milliseconds(5), tolerance: .milliseconds(4)) { group.leave() }
        await group.wait()
        #expect(began.duration(to: .now) >= .milliseconds(5))
    }
}
