import Dispatch
import Foundation
import OverdriveCore
import OverdriveTesting
import Testing

extension OneAtATimeTests {
    @Suite("Explorations", .serialized, .timeLimit(.minutes(5)))
    struct ExploreTests {}
}

extension OneAtATimeTests.ExploreTests {
    @Sendable static func loseAnUpdate(_ scheduler: Scheduler, _ control: Control) {
        let queue = TaskQueue(scheduler: scheduler)
        let count = ControlledAtomic(0)
        let group = WaitGroup()
        for _ in 0..<2 {
            queue.async(group: group) { count.store(count.load() + 1) }
        }
        group.wait()
        control.check(count.load() == 2, "an update is lost")
    }

    @Sendable static func loseNone(_ scheduler: Scheduler, _ control: Control) {
        let queue = TaskQueue(scheduler: scheduler)
        let count = ControlledAtomic(0)
        let group = WaitGroup()
        for _ in 0..<2 {
            queue.async(group: group) { count.add(1) }
        }
        group.wait()
        control.check(count.load() == 2, "an update is lost")
    }

    @Test(
        "each_strategy_finds_a_lost_update_and_shrinks_it_to_one_preemption",
        arguments: [Strategy.randomWalk, .priorities(depth: 2), .exhaustive(preemptions: 1)])
    func lostUpdate(strategy: Strategy) throws {
        let failure = try #require(throws: ScheduleFailure.self) { try explore(strategy: strategy, Self.loseAnUpdate) }
        #expect(failure.kind == .failed && failure.message == "an update is lost" && failure.preemptions == 1)
        #expect(failure.story.contains("reaches store  OverdriveTestingTests/ExploreTests.swift:"))
        #expect(failure.story.contains("  → worker-1 goes first"))
    }

    @Test("one_seed_gives_one_digest_and_another_seed_another")
    func seeds() throws {
        let one = try explore(iterations: 50, seed: 3, Self.loseNone), two = try explore(iterations: 50, seed: 3, Self.loseNone)
        #expect(one.digest == two.digest && one.points == two.points && one.iterations == 50)
        #expect(try explore(iterations: 50, seed: 4, Self.loseNone).digest != one.digest)
    }

    @Test("a_result_names_the_strength_of_its_strategy")
    func promises() throws {
        #expect(try explore(iterations: 5, Self.loseNone).promise == "a random walk promises no bound")
        let bound = try explore(iterations: 5, strategy: .priorities(depth: 3), workers: 16, Self.loseNone).promise
        #expect(bound.contains("a bug of depth 3 with a probability of at least 1/("))
        #expect(!bound.contains("1/(17·"))  // workers without a closure have no thread
        let all = try explore(strategy: .exhaustive(preemptions: 1), Self.loseNone)
        #expect(all.isComplete && all.promise == "these are all schedules with at most 1 preemptions at our points")
        let some = try explore(iterations: 3, strategy: .exhaustive(preemptions: 1), Self.loseNone)
        #expect(!some.isComplete && some.iterations == 3)
    }

    @Test("the_asynchronous_form_suspends_until_the_result")
    func asynchronous() async throws {
        let result = try await explore(iterations: 5, Self.loseNone)
        #expect(result.iterations == 5)
        await #expect(throws: ScheduleFailure.self) { try await explore(Self.loseAnUpdate) }
    }

    @Test("the_shared_names_belong_to_the_run")
    func sharedNames() throws {
        try explore(iterations: 3) { scheduler, control in
            control.check(Scheduler.shared === scheduler && TaskQueue.global().scheduler === scheduler)
            control.check(TaskQueue.global() === TaskQueue.global() && TaskQueue.background.scheduler === scheduler)
            TaskQueue.global().sync { control.check(Scheduler.shared === scheduler) }
        }
        #expect(TaskQueue.global().scheduler === Scheduler.shared)
    }

    @Test("timers_and_deadlines_follow_the_clock_of_the_run")
    func virtualTime() throws {
        let began = ContinuousClock.now
        try explore(iterations: 20) { scheduler, control in
            let queue = TaskQueue.serial(scheduler: scheduler)
            let group = WaitGroup()
            group.enter()
            queue.asyncAfter(.seconds(3600)) { group.leave() }
            group.wait()
            let first = control.now
            control.check(first >= .seconds(3600) && first < .seconds(3601), "\(first)")
            group.enter()
            control.check(group.wait(deadline: .now + .seconds(7200)) == .timedOut)
            control.check(control.now >= first + .seconds(7200) && control.now < first + .seconds(7201), "\(control.now)")
            control.sleep(for: .seconds(60))
            control.check(control.now >= first + .seconds(7260))
            group.leave()
        }
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    @Test("deadlines_of_both_clocks_are_rounded_and_far_ones_never_trap")
    func deadlines() throws {
        try explore(iterations: 5) { scheduler, control in
            let queue = TaskQueue.serial(scheduler: scheduler)
            let (group, never) = (WaitGroup(), Duration.nanoseconds(Int64.max))
            let far = [queue.asyncAfter(deadline: ContinuousClock.now + never) {}, queue.asyncAfter(deadline: SuspendingClock.now + never) {}]
            group.enter()
            queue.asyncAfter(deadline: SuspendingClock.now + .milliseconds(100)) { group.leave() }
            group.wait()
            control.check(control.now >= .milliseconds(100) && control.now < .milliseconds(101), "\(control.now)")
            group.enter()
            queue.asyncAfter(deadline: ContinuousClock.now + .milliseconds(100)) { group.leave() }
            group.wait()
            control.check(control.now >= .milliseconds(200) && control.now < .milliseconds(202), "\(control.now)")
            far.forEach { $0.cancel() }
        }
    }

    @Test("a_timed_wait_for_a_work_item_takes_its_time_on_the_clock_of_the_run")
    func workItem() throws {
        try explore(iterations: 5) { _, control in
            let item = WorkItem {}
            control.check(item.wait(timeout: .seconds(1)) == .timedOut)
            control.check(control.now == .seconds(1), "\(control.now)")
        }
    }

    // MARK: - Failures

    private func failure(
        mostSteps: Int = 20_000, iterations: Int = 1_000, _ body: @escaping @Sendable (Scheduler, Control) throws -> Void
    ) throws -> ScheduleFailure {
        try #require(throws: ScheduleFailure.self) { try explore(iterations: iterations, mostSteps: mostSteps, body) }
    }

    @Test("a_deadlock_names_what_each_thread_waits_for")
    func deadlock() throws {
        let found = try failure { scheduler, _ in
            let (one, other) = (ControlledMutex(0), ControlledMutex(0))
            let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
            queue.async(group: group) { one.withLock { _ in other.withLock { $0 += 1 } } }
            queue.async(group: group) { other.withLock { _ in one.withLock { $0 += 1 } } }
            group.wait()
        }
        #expect(found.kind == .deadlock && found.preemptions == 1)
        #expect(found.message == "test waits for a group; worker-0 waits for a mutex; worker-1 waits for a mutex")
    }

    @Test("each_kind_of_bad_body_is_one_sentence")
    func badBodies() throws {
        let endless = try failure(mostSteps: 2_000) { _, control in while true { control.schedulingPoint() } }
        #expect(endless.kind == .livelock && endless.story.contains("(320 times)"))
        #expect(endless.message == "the run has no end within 2000 steps. Raise mostSteps if the body needs more.")
        let nested = try failure { _, _ in try explore(Self.loseNone) }
        #expect(nested.message == "explore: called in the body of another exploration. Call it outside.")
        let thrown = try failure { _, _ in throw CancellationError() }
        #expect(thrown.kind == .failed && thrown.message == "CancellationError()")
        let queue = TaskQueue.serial(label: "old")
        let old = try failure { _, _ in queue.async {} }
        #expect(old.message == "submit: the queue was made outside the run (\"old\"). Make it in the body.")
        let main = try failure { _, _ in TaskQueue.main.async {} }
        #expect(main.message.hasPrefix("TaskQueue.main cannot be controlled: its closures run on libdispatch. "))
        let thread = try failure { scheduler, _ in
            let queue = TaskQueue(scheduler: scheduler)
            let hasSubmitted = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                queue.async {}
                hasSubmitted.signal()
            }
            hasSubmitted.wait()
        }
        #expect(thread.kind == .outside && thread.replay == "")
        #expect(thread.message.hasPrefix("calls came from threads outside the run ("))
    }

    @Test("a_wait_of_two_seconds_outside_the_engine_is_stuck")
    func stuck() throws {
        let (gate, left) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let found = try failure { _, _ in
            gate.wait()  // a wait outside the engine, which the run does not see
            left.signal()
        }
        #expect(found.kind == .stuck && found.replay == "")
        #expect(found.message.hasPrefix("test has reached no scheduling point for 2 s. Use "))
        gate.signal()
        left.wait()
    }

    @Test("closures_that_never_ran_are_a_failure")
    func leftOver() throws {
        let kept = ControlledMutex<[TaskQueue]>([])
        let found = try failure { scheduler, _ in
            let queue = TaskQueue.serial(label: "suspended", scheduler: scheduler)
            queue.suspend()
            queue.async {}
            kept.withLock { $0.append(queue) }
        }
        #expect(found.message == "1 closures of the body were left over. Wait for them, and resume suspended queues.")
    }

    @Test("refused_threads_are_an_error_of_the_code_under_test")
    func refusedThreads() throws {
        try explore(iterations: 10, workers: 1, spareWorkers: 0) { scheduler, control in
            let queue = TaskQueue(scheduler: scheduler)
            let (group, started, gate) = (WaitGroup(), WaitGroup(), WaitGroup())
            started.enter()
            gate.enter()
            queue.async(group: group) {
                started.leave()
                gate.wait()
            }
            started.wait()
            control.refuseThreads()
            try scheduler.setWorkerCount(2)
            queue.async(group: group) {}  // its thread is refused
            control.check(scheduler.metrics.threadFailures > 0)
            gate.leave()
            group.wait()
        }
    }

    @Test("a_body_may_make_and_release_a_scheduler")
    func ownScheduler() throws {
        try explore(iterations: 10) { _, control in
            let own = try Scheduler(workers: 1)
            let (ran, group) = (ControlledAtomic(0), WaitGroup())
            TaskQueue(scheduler: own).async(group: group) { ran.add(1) }
            group.wait()
            control.check(ran.load() == 1)
        }
    }

    @Test("arguments_out_of_range_are_one_sentence")
    func arguments() {
        let error = #expect(throws: ExplorationError.self) { try explore(iterations: 0, Self.loseNone) }
        #expect(error?.description.contains("argument out of range (iterations 0, workers 2") == true)
        #expect(throws: ExplorationError.self) { try explore(workers: 17, Self.loseNone) }
        #expect(throws: ExplorationError.self) { try explore(mostSteps: 0, Self.loseNone) }
        let depth = #expect(throws: ExplorationError.self) { try explore(strategy: .priorities(depth: 18), Self.loseNone) }
        #expect(depth?.description == "explore: depth out of range (18). Use 1 to 17.")
    }
}
