internal import BenchmarkKit
internal import OverdriveCore

/// Closures on queues. `consume` hands the closure on as a caller of `async` does; a copy would be retained and released.
enum Queues: SyncQueues, LimitedQueues, BarrierQueues, PausableQueues, TimedQueues, HandoffQueues {
    static let scheduler: Scheduler = {
        do {
            let scheduler = try Scheduler(workers: Harness.workers, name: "bench")
            Harness.counters = {
                let metrics = scheduler.metrics
                return [
                    ("steals", metrics.steals.reduce(0, +)), ("failed_steals", metrics.failedSteals),
                    ("parks", metrics.parks), ("useful_wakes", metrics.usefulWakes),
                    ("spurious_wakes", metrics.spuriousWakes), ("threads", metrics.threadsStarted),
                ]
            }
            return scheduler
        } catch {
            Harness.fail("\(error)")
        }
    }()

    static func makeQueue() -> TaskQueue { TaskQueue(scheduler: scheduler) }

    static func makeSerialQueue() -> TaskQueue { TaskQueue.serial(label: "bench", scheduler: scheduler) }

    static func makeQueue(limit: Int) -> TaskQueue { TaskQueue(maxConcurrentTaskCount: limit, scheduler: scheduler) }

    static func sync(on queue: TaskQueue, _ body: () -> Void) { queue.sync(execute: body) }

    static func makeGroup(for queue: TaskQueue) -> WaitGroup { WaitGroup() }

    static func submit(to queue: TaskQueue, _ body: consuming @escaping @Sendable () -> Void) { queue.async(execute: consume body) }

    static func submit(to queue: TaskQueue, in group: WaitGroup, _ body: consuming @escaping @Sendable () -> Void) {
        queue.async(group: group, execute: consume body)
    }

    static func submitAlone(to queue: TaskQueue, in group: WaitGroup, _ body: consuming @escaping @Sendable () -> Void) {
        queue.async(group: group, flags: .barrier, execute: consume body)
    }

    static func wait(for group: WaitGroup) { group.wait() }
    static func makeSemaphore() -> CountingSemaphore { CountingSemaphore(value: 0) }
    static func signal(_ semaphore: CountingSemaphore) { semaphore.signal() }
    static func wait(for semaphore: CountingSemaphore) { semaphore.wait() }

    /// With `own=1` the scheduler is the task's executor; otherwise the task runs on Swift's own pool.
    static func startTask(_ body: @escaping @Sendable () async -> Void) {
        if Harness.value("own", 0) == 1 {
            Task.detached(executorPreference: scheduler, operation: body)
        } else {
            Task.detached(operation: body)
        }
    }

    static func suspend(_ queue: TaskQueue) { queue.suspend() }
    static func resume(_ queue: TaskQueue) { queue.resume() }
    static func enter(_ group: WaitGroup) { group.enter() }
    static func leave(_ group: WaitGroup) { group.leave() }

    static func whenEmpty(_ group: WaitGroup, submitTo queue: TaskQueue, _ body: consuming @escaping @Sendable () -> Void) {
        group.notify(on: queue, execute: consume body)
    }

    static var now: ContinuousClock.Instant { .now }

    static func submit(
        to queue: TaskQueue, microseconds: Int, after start: ContinuousClock.Instant, _ body: consuming @escaping @Sendable () -> Void
    ) {
        queue.asyncAfter(deadline: start + .microseconds(microseconds), execute: consume body)
    }

    static func arm(on queue: TaskQueue, milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> TaskQueue.Timer {
        queue.asyncAfter(.milliseconds(milliseconds), execute: body)
    }

    static func cancel(_ timer: TaskQueue.Timer) { timer.cancel() }

    /// Closures that say that they block, which only this scheduler has a word for.
    static var blockingEntries: [Harness.Entry] {
        [("blocked-said", { Closures<Queues>.blocked { pause in blocking { Harness.sleep(microseconds: pause) } } })]
    }

    /// Round trips of a Swift task, on the executor that `own` selects.
    static var taskEntries: [Harness.Entry] {
        [
            ("await", Graphs.awaited), ("handoff-continuation", Handoffs<Queues>.continuation),
            ("handoff-actor", { Handoffs<Queues>.actor(on: makeSerialQueue().actorExecutor) }),
            ("handoff-run", { run(on: makeQueue()) }), ("handoff-run-serial", { run(on: makeSerialQueue()) }),
        ]
    }

    /// A Swift task awaits `run` of a closure.
    private static func run(on queue: TaskQueue) {
        let ran = AtomicCount()
        Handoffs<Queues>.trips(on: Queues.self) { try? await queue.run { ran.add() } }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }
}
