import CScheduler
import Testing

@testable import OverdriveCore

/// Broken promises end the process with one sentence that names the call.
@Suite("Misuse", .timeLimit(.minutes(10)))
struct MisuseTests {
    @Test("ends the process with a sentence", arguments: scenes.names)
    func ends(name: String) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
            await Self.scenes.play(name)
        }
        #expect(sentences(result?.standardErrorContent) == ["overdrive: \(try #require(Self.scenes.sentence(of: name)))"])
    }

    #if DEBUG
        @Test("of sync: two serial queues whose closures wait for each other")
        func cycle() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let (journal, index) = (TaskQueue.serial(label: "journal"), TaskQueue.serial(label: "index"))
                let inside = Counter()
                for (own, other) in [(journal, index), (index, journal)] {
                    own.async {
                        inside.add()
                        _ = eventually { inside.count == 2 }
                        other.sync {}
                    }
                }
                await journal.drained()
            }
            let either = [("journal", "index"), ("index", "journal")].map { wanted, held in
                "overdrive: TaskQueue.sync: a circle of serial queues (\"\(wanted)\" waits for \"\(held)\", which runs the caller). "
                    + "Use async in one of them."
            }
            #expect(!Set(either).isDisjoint(with: sentences(result?.standardErrorContent)))
        }
    #endif

    private static let scenes = [
        Scene("a rate of nothing", says: "RateLimiter(_:per:): a count below 1 (0). Give a positive number.") {
            _ = RateLimiter(0, per: .seconds(1))
        },
        Scene("a rate in no time", says: "RateLimiter(_:per:): an interval below 1 ns (0.0 seconds). Give a longer one.") {
            _ = RateLimiter(1, per: .zero)
        },
        Scene("a rate without a burst", says: "RateLimiter(_:per:burst:): a burst below 1 (0). Give a positive number.") {
            _ = RateLimiter(1, per: .seconds(1), burst: 0)
        },
        Scene("fewer than no permits", says: "RateLimiter.acquire(_:): a negative number of permits (-1). Give 0 or more.") {
            _ = RateLimiter(1, per: .seconds(1)).tryAcquire(-1)
        },
        Scene(
            "the global executor's jobs lack memory",
            says: "GlobalExecutor: a job can never run (out of memory). Raise the limit."
        ) { GlobalJobs.expect(OD_NO_MEMORY) },
        Scene(
            "the global executor's jobs lack a thread",
            says: "GlobalExecutor: a job can never run (no thread can be started). Raise the limit."
        ) { GlobalJobs.expect(OD_NO_THREAD) },
        Scene(
            "waitUntilAllTasksAreFinished for the main queue on the main thread",
            says: "TaskQueue.main.waitUntilAllTasksAreFinished(): the main thread would wait for itself. Use drained()."
        ) { await MainActor.run { TaskQueue.main.waitUntilAllTasksAreFinished() } },
        Scene(
            "waiting for an item from what its body calls",
            says: "WorkItem.wait(): the item's body would wait for itself. Wait elsewhere."
        ) {
            let kept = Holder<WorkItem?>(nil)
            let outer = WorkItem {
                let inner = WorkItem { kept.value?.wait() }
                inner.perform()
            }
            kept.value = outer
            outer.perform()
        },
        Scene(
            "concurrentPerform of a negative number of iterations",
            says: "TaskQueue.concurrentPerform(iterations:): negative number (-1). Choose 0 or more."
        ) { TaskQueue.concurrentPerform(iterations: -1) { _ in } },
        Scene("suspend of everybody's queue", says: "TaskQueue.suspend(): the queue is shared (\"global-utility\"). Make another TaskQueue.") {
            TaskQueue.global(qos: .utility).suspend()
        },
        Scene("isSuspended of everybody's queue", says: "TaskQueue.isSuspended: the queue is shared (\"background\"). Make another TaskQueue.") {
            TaskQueue.background.isSuspended = true
        },
        Scene("a limit of everybody's queue", says: "TaskQueue.maxConcurrentTaskCount: the queue is shared (\"main\"). Make another TaskQueue.") {
            TaskQueue.main.maxConcurrentTaskCount = 2
        },
        Scene("resume of everybody's queue", says: "TaskQueue.resume(): the queue is shared (\"main\"). Make another TaskQueue.") {
            TaskQueue.main.resume()
        },
        Scene(
            "cancelAll on the main queue",
            says: "TaskQueue.cancelAll(): a dispatch queue's closures cannot be cancelled (\"main\"). Cancel a WorkItem."
        ) { TaskQueue.main.cancelAll() },
        Scene(
            "shutdown of the shared scheduler", says: "Scheduler.shutdown(timeout:): the shared scheduler cannot be shut down. Create a Scheduler for this work."
        ) { await Scheduler.shared.shutdown(timeout: .zero) },
        Scene(
            "shutdown from one of the scheduler's own closures",
            says: "Scheduler.shutdown(timeout:): a closure of the scheduler would wait for itself (\"render\"). Call it elsewhere."
        ) {
            let scheduler = makeScheduler(name: "render")
            let queue = TaskQueue(scheduler: scheduler)
            queue.async { scheduler.shutdown(timeout: .zero) }
            await queue.drained()
        },
        Scene(
            "a fork on another scheduler than the scope was opened on",
            says: "Parallel.Scope.fork: the scope was opened on another thread or scheduler, or replaced. Fork where it "
                + "was opened."
        ) {
            let other = makeScheduler()
            Parallel.scope { outer in
                Parallel(on: other).scope { _ in outer.fork {} }
            }
        },
        Scene(
            "an actor's executor of a queue that is not serial",
            says: "TaskQueue.actorExecutor: the queue is not serial (\"pages\"). Make a TaskQueue.serial."
        ) { _ = TaskQueue.concurrent(label: "pages").actorExecutor },
        Scene(
            "an actor's executor of main",
            says: "TaskQueue.actorExecutor: the queue runs on a dispatch queue (\"main\"). Write @MainActor."
        ) { _ = TaskQueue.main.actorExecutor },
        Scene(
            "a change of the limit where actors are",
            says: "TaskQueue.maxConcurrentTaskCount: a queue with an actorExecutor stays serial (\"account\", 2). Use another "
                + "queue."
        ) {
            let queue = TaskQueue.serial(label: "account")
            _ = queue.actorExecutor
            queue.maxConcurrentTaskCount = 1
            queue.maxConcurrentTaskCount = 2
        },
        Scene(
            "an actor's isolation, asked for elsewhere",
            says: "assumeIsolated: not on the actor's queue (\"account\"). Call the actor with await."
        ) { TaskQueue.serial(label: "account").actorExecutor.checkIsolated() },
        Scene("back-pressure without a limit", says: "TaskQueue(pendingLimit:): out of range (0). Choose 1 or more.") {
            _ = TaskQueue(pendingLimit: 0)
        },
        Scene(
            "a queue on a dispatch queue",
            says: "TaskQueue.setTarget: the target runs on a dispatch queue (\"x\" on \"main\"). Make a dispatch queue with that "
                + "target, and a TaskQueue of it."
        ) { _ = TaskQueue.serial(label: "x", target: .main) },
        Scene(
            "waiting for a queue from a closure of its serial target",
            says: "TaskQueue.waitUntilAllTasksAreFinished(): a closure of the target would wait for itself (\"high\" on "
                + "\"low\"). Wait elsewhere."
        ) {
            let low = TaskQueue.serial(label: "low")
            let high = TaskQueue.serial(label: "high", target: low)
            low.sync { waitUntilAllTasksAreFinished(of: high) }
        },
    ]
        // The outer one went on in the memory of the inner one, which was gone.
        + [false, true].map { throwing in
            Scene(
                "a batch that is exchanged for another one\(throwing ? ", with a throw" : "")",
                says: "TaskQueue.asyncBatch(group:qos:_:): the batch was replaced by another one. Add closures to the batch that "
                    + "the closure is given."
            ) {
                let queue = TaskQueue()
                queue.asyncBatch { outer in
                    try? queue.asyncBatch { inner in
                        swap(&outer, &inner)
                        if throwing { throw Flaw() }
                    }
                    for _ in 0..<300 { outer.async {} }
                }
                await queue.drained()
            }
        }
        + [1, TaskQueue.unlimited].map { width in
            Scene(
                "waitUntilAllTasksAreFinished from a closure of a queue \(width) wide",
                says: "TaskQueue.waitUntilAllTasksAreFinished(): a closure of the queue would wait for itself (\"pages\"). Wait elsewhere."
            ) {
                let queue = TaskQueue.concurrent(label: "pages", maxConcurrentTaskCount: width)
                queue.async { queue.waitUntilAllTasksAreFinished() }
                await queue.drained()
            }
        }
        + [0, -2, .min].flatMap { width in
            let sentence = "TaskQueue.maxConcurrentTaskCount: out of range (\(width)). Choose 1 or more, or TaskQueue.unlimited."
            return [
                Scene("a queue \(width) wide", says: sentence) { _ = TaskQueue(maxConcurrentTaskCount: width) },
                Scene("a queue made \(width) wide", says: sentence) { TaskQueue.serial().maxConcurrentTaskCount = width },
            ]
        }
}

/// A blocking wait, in what a scene does in a task on purpose.
private func waitUntilAllTasksAreFinished(of queue: TaskQueue) {
    queue.waitUntilAllTasksAreFinished()
}
