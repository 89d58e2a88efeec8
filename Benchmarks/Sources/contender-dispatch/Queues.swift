internal import BenchmarkKit
internal import Dispatch

/// Closures on queues.
enum Queues: SyncQueues, BarrierQueues, PausableQueues, TimedQueues, HandoffQueues {
    static let isGlobal = Harness.value("global", 0) == 1

    /// The system's own queue where it is asked for: the quicker one, without barriers and suspension.
    static func makeQueue() -> DispatchQueue {
        isGlobal ? .global() : DispatchQueue(label: "bench", attributes: .concurrent)
    }

    static func makeSerialQueue() -> DispatchQueue { DispatchQueue(label: "bench") }

    static func sync(on queue: DispatchQueue, _ body: () -> Void) { queue.sync(execute: body) }

    static func makeGroup(for queue: DispatchQueue) -> DispatchGroup { DispatchGroup() }

    static func submit(to queue: DispatchQueue, _ body: consuming @escaping @Sendable () -> Void) { queue.async(execute: body) }

    static func submit(to queue: DispatchQueue, in group: DispatchGroup, _ body: consuming @escaping @Sendable () -> Void) {
        queue.async(group: group, execute: body)
    }

    static func submitAlone(to queue: DispatchQueue, in group: DispatchGroup, _ body: consuming @escaping @Sendable () -> Void) {
        queue.async(group: group, flags: .barrier, execute: body)
    }

    static func wait(for group: DispatchGroup) { group.wait() }
    static func makeSemaphore() -> DispatchSemaphore { DispatchSemaphore(value: 0) }
    static func signal(_ semaphore: DispatchSemaphore) { semaphore.signal() }
    static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
    static func suspend(_ queue: DispatchQueue) { queue.suspend() }
    static func resume(_ queue: DispatchQueue) { queue.resume() }
    static func enter(_ group: DispatchGroup) { group.enter() }
    static func leave(_ group: DispatchGroup) { group.leave() }

    static func whenEmpty(_ group: DispatchGroup, submitTo queue: DispatchQueue, _ body: consuming @escaping @Sendable () -> Void) {
        group.notify(queue: queue, execute: body)
    }

    static var now: DispatchTime { .now() }

    static func submit(
        to queue: DispatchQueue, microseconds: Int, after start: DispatchTime, _ body: consuming @escaping @Sendable () -> Void
    ) {
        queue.asyncAfter(deadline: start + .microseconds(microseconds), execute: body)
    }

    /// A source, because what `asyncAfter` was given cannot be called off without a word in the closure.
    static func arm(
        on queue: DispatchQueue, milliseconds: Int, _ body: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler(handler: body)
        timer.schedule(deadline: .now() + .milliseconds(milliseconds))
        timer.activate()
        return timer
    }

    static func cancel(_ timer: any DispatchSourceTimer) { timer.cancel() }
}

/// A serial queue as the executor of an actor.
final class ActorQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "bench")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
