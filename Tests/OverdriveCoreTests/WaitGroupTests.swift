import Foundation
import Testing

@testable import OverdriveCore

@Suite("A wait group", .timeLimit(.minutes(10)))
struct WaitGroupTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("takes any timeout")
    func timeouts() {
        let group = WaitGroup()
        group.enter()
        for timeout: Duration in [.zero, .seconds(-1), .nanoseconds(1), .milliseconds(2), .seconds(Int64.min)] {
            #expect(group.wait(timeout: timeout) == .timedOut)
        }
        group.leave()
        for timeout: Duration in [.seconds(Int64.max), .seconds(Int64.min), .seconds(1_000_000_000_000)] {
            #expect(group.wait(timeout: timeout) == .success)
        }
    }

    @Test("is waited for until a deadline")
    func deadlines() {
        let group = WaitGroup()
        group.enter()
        #expect(group.wait(deadline: .now - .seconds(1)) == .timedOut)
        #expect(group.wait(deadline: .now + .milliseconds(2)) == .timedOut)
        #expect(group.description == "WaitGroup (1 pending)")
        group.leave()
        #expect(group.wait(deadline: .now - .seconds(1)) == .success)
        #expect(group.wait(deadline: .now + .seconds(20)) == .success)
    }

    // MARK: - Notifications

    @Test("keeps the notified queue and the closure's captures until then, and no longer")
    func notifyCaptures() {
        let census = Census()
        let group = WaitGroup()
        group.enter()
        do {
            let short = TaskQueue.serial(scheduler: makeScheduler())
            for _ in 0..<10 {
                let tracked = census.newborn()
                group.notify(on: short) { tracked.touch() }
            }
        }
        #expect(census.alive == 10)
        group.leave()
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 10)
    }

    @Test("is waited for no longer than asked where the queue that is overridden for goes meanwhile")
    func goneQueue() {
        let (group, looks) = (WaitGroup(), Counter())
        group.enter()
        let result = group.wait(
            overridingWeak: {
                looks.add()
                guard looks.count > 1 else { return queue }
                // All its time is over. Who slept once more would see the group empty.
                Thread.sleep(forTimeInterval: 0.6)
                let waiter = thisThread()
                onThread {
                    _ = comesToRest([waiter])
                    group.leave()
                }
                return nil
            }, nil, timeout: .milliseconds(500))
        #expect(result == .timedOut && looks.count == 2)
        group.wait()
    }

    // MARK: - Asynchronous waiting

    @Test("is waited for once, and no longer than asked, where the time is short and the queue stays")
    func shortWait() {
        let (group, looks) = (WaitGroup(), Counter())
        group.enter()
        let result = group.wait(
            overridingWeak: {
                looks.add()
                return queue
            }, nil, timeout: .milliseconds(1))
        #expect(result == .timedOut && looks.count == 1)
        group.leave()
    }

    @Test("is awaited by many tasks at once")
    func asyncWait() async {
        for _ in 0..<50 {
            let group = WaitGroup()
            let runs = Counter()
            for _ in 0..<10 { queue.async(group: group) { runs.add() } }
            await withTaskGroup(of: Int.self) { tasks in
                for _ in 0..<5 {
                    tasks.addTask {
                        await group.wait()
                        return runs.count
                    }
                }
                for await seen in tasks { #expect(seen == 10) }
            }
        }
    }

    @Test("that is entered again at once lets all go on that await it")
    func asyncGenerations() async {
        let (group, released, scheduler) = (WaitGroup(), Counter(), makeScheduler())
        group.enter()
        for generation in 1...50 {
            let waiting = (0..<8).map { _ in
                Task.immediate(executorPreference: scheduler) {
                    await group.wait()
                    released.add()
                }
            }
            group.leave()
            group.enter()
            #expect(eventually { released.count == 8 * generation })
            if released.count < 8 * generation { group.leave() }
            for each in waiting { await each.value }
        }
        group.leave()
    }

    @MainActor
    @Test("awaited on an actor comes back to it")
    func asyncWaitOnActor() async {
        let group = WaitGroup()
        queue.async(group: group) {}
        await group.wait()
        MainActor.assertIsolated()
    }

    @Test("awaited with a timeout ends in time while every worker computes")
    func timeoutBesideComputing() async {
        let (token, group) = (CancellationToken(), WaitGroup())
        let end = ContinuousClock.now + .seconds(5)
        for _ in 0..<64 {
            TaskQueue.global().async(group: group) {
                while !token.isCancelled, ContinuousClock.now < end {}
            }
        }
        let result = await group.wait(timeout: .milliseconds(50))
        let isStillBusy = await group.wait(timeout: .zero) == .timedOut
        token.cancel()
        #expect(result == .timedOut && isStillBusy)
        await group.wait()
    }
}
