import OverdriveCore
import Testing

@Suite("Back-pressure", .timeLimit(.minutes(10)))
struct BackPressureTests {
    @Test("keeps a producer waiting, and loses nothing", arguments: [1, 2, TaskQueue.unlimited])
    func waits(width: Int) {
        let queue = TaskQueue(
            pendingLimit: 10, policy: .wait, maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let (submitted, runs) = (Counter(), Counter())
        queue.suspend()
        let producer = WaitGroup()
        let thread = Log<String>()
        producer.enter()
        onThread {
            thread.note(thisThread())
            for _ in 0..<200 {
                queue.async { runs.add() }
                submitted.add()
            }
            producer.leave()
        }
        #expect(eventually { submitted.count >= 10 })
        #expect(comesToRest(Set(thread.all)))
        #expect(submitted.count == 10)
        #expect(queue.pendingTaskCount >= 10)
        #expect(runs.count == 0)
        queue.resume()
        producer.wait()
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 200)
    }

    @Test("rejects with an error that names the queue")
    func rejects() async throws {
        let census = Census()
        let queue = TaskQueue(pendingLimit: 2, policy: .reject, label: "intake", scheduler: makeScheduler())
        let group = WaitGroup()
        #expect(queue.pendingLimit == 2)
        #expect(queue.backPressure == .reject)
        queue.suspend()
        for _ in 0..<5 {
            let captured = census.newborn()
            queue.async(group: group) { captured.touch() }
        }
        #expect(queue.rejectedTaskCount == 3)
        #expect(census.alive == 2)
        let captured = census.newborn()
        let error = #expect(throws: TaskQueue.PendingLimitReached.self) {
            try queue.tryAsync(group: group) { captured.touch() }
        }
        #expect(error?.label == "intake")
        #expect(error?.limit == 2)
        #expect(error?.description == "the queue \"intake\" is full (2 closures are pending)")
        queue.trackProgress()
        let fromRun = await #expect(throws: TaskQueue.PendingLimitReached.self) { _ = try await queue.run { 1 } }
        #expect(fromRun == error)
        #expect(eventually { queue.progress?.cancelled == 1 })  // and nothing keeps it
        #expect(queue.rejectedTaskCount == 3)
        queue.resume()
        await group.wait()
        #expect(try await queue.run { 2 } == 2)
        try queue.tryAsync {}
        #expect(queue.progress?.total == 3)
    }

    @Test("cancels an item that is rejected")
    func item() {
        let queue = TaskQueue(pendingLimit: 1, policy: .reject, scheduler: makeScheduler())
        queue.suspend()
        queue.async {}
        let item = WorkItem {}
        queue.async(execute: item)
        #expect(item.isCancelled)
        item.wait()
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("is told by tryAsync whatever the policy, and never on other queues")
    func tryAsync() throws {
        for policy in [TaskQueue.BackPressure.wait, .callerRuns, .reject] {
            let queue = TaskQueue(pendingLimit: 1, policy: policy, scheduler: makeScheduler())
            #expect(queue.backPressure == policy)
            queue.suspend()
            try queue.tryAsync(flags: .barrier) { queue.assertOnQueueAsBarrier() }
            #expect(throws: TaskQueue.PendingLimitReached.self) { try queue.tryAsync {} }
            queue.resume()
            queue.waitUntilAllTasksAreFinished()
        }
        let (tracked, group) = (TaskQueue(pendingLimit: 1, policy: .reject, scheduler: makeScheduler()), WaitGroup())
        tracked.trackProgress()
        tracked.suspend()
        try tracked.tryAsync(group: group) {}
        #expect(group.wait(timeout: .zero) == .timedOut)
        tracked.resume()
        group.wait()
        let open = TaskQueue(scheduler: makeScheduler())
        #expect(open.pendingLimit == nil)
        #expect(open.backPressure == nil)
        for _ in 0..<100 { try open.tryAsync(flags: .barrier) { open.assertOnQueueAsBarrier() } }
        open.waitUntilAllTasksAreFinished()
    }

    @Test("suspends a task that runs a closure on a full queue, and blocks no thread; cancelling wakes it", arguments: [
        TaskQueue.BackPressure.wait, .callerRuns,
    ])
    func runOnFullQueue(policy: TaskQueue.BackPressure) async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(
            pendingLimit: 1, policy: policy, maxConcurrentTaskCount: 1, initiallyInactive: true, scheduler: scheduler)
        queue.async {}
        let waiting = (0..<8).map { number in
            Task(executorPreference: scheduler) { try await queue.run { number } }
        }
        // The only worker is free for others, whatever waits on the queue.
        for _ in 0..<8 { await Task(executorPreference: scheduler) { await Task.yield() }.value }
        waiting[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiting[0].value }
        queue.activate()
        for number in 1..<8 { #expect(try await waiting[number].value == number) }
    }
}
