import CScheduler
import Testing

@testable import OverdriveCore

/// Broken promises end the process with one sentence that names the call.
@Suite("Misuse", .timeLimit(.minutes(10)))
struct MisuseTests {
    private func expect(
        _ result: ExitTest.Result?, says sentence: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let lines = output.split(separator: "\n").filter { $0.hasPrefix("overdrive: ") }
        #expect(lines == ["overdrive: \(sentence)"], sourceLocation: sourceLocation)
    }

    @Test("the global executor says what its jobs lack: a thread, or memory")
    func globalExecutor() async {
        let memory = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { GlobalJobs.expect(OD_NO_MEMORY) }
        expect(memory, says: "The global executor: what was submitted can never run, for memory is too short to keep it")
        let thread = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { GlobalJobs.expect(OD_NO_THREAD) }
        expect(thread, says: "The global executor: what was submitted can never run, for not one thread can be started")
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
            let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            let sentences = [("journal", "index"), ("index", "journal")].map { wanted, held in
                "overdrive: TaskQueue.sync on the serial queue \"\(wanted)\" would wait for ever: its closure waits "
                    + "for \"\(held)\", whose closure is the caller\n"
            }
            #expect(sentences.contains { output.contains($0) })
        }
    #endif

    @Test("of waitUntilAllTasksAreFinished: from the queue's own closures", arguments: [1, TaskQueue.unlimited])
    func selfWait(width: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [width] in
            let queue = TaskQueue.concurrent(label: "pages", maxConcurrentTaskCount: width)
            queue.async { queue.waitUntilAllTasksAreFinished() }
            await queue.drained()
        }
        expect(
            result,
            says: "TaskQueue.waitUntilAllTasksAreFinished() of \"pages\" from one of its own closures would wait "
                + "for itself")
    }

    @Test("of waitUntilAllTasksAreFinished: for the main queue on the main thread")
    func mainWait() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            await MainActor.run { TaskQueue.main.waitUntilAllTasksAreFinished() }
        }
        expect(
            result,
            says: "TaskQueue.main.waitUntilAllTasksAreFinished() on the main thread would wait for itself")
    }

    @Test("of an item: waiting for it from what its body calls")
    func itemWaitsForItselfFurtherIn() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let kept = Holder<WorkItem?>(nil)
            let outer = WorkItem {
                let inner = WorkItem { kept.value?.wait() }
                inner.perform()
            }
            kept.value = outer
            outer.perform()
        }
        expect(result, says: "WorkItem.wait() from the item's own body would wait for itself")
    }

    @Test("of concurrentPerform: a negative number of iterations")
    func negativeIterations() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.concurrentPerform(iterations: -1) { _ in }
        }
        expect(result, says: "TaskQueue.concurrentPerform(iterations: -1): choose 0 or more")
    }

    @Test("of maxConcurrentTaskCount: none or fewer", arguments: [0, -2, .min])
    func noWidth(width: Int) async {
        let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [width] in
            _ = TaskQueue(maxConcurrentTaskCount: width)
        }
        expect(made, says: "maxConcurrentTaskCount is \(width): choose 1 or more, or TaskQueue.unlimited")
        let set = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [width] in
            TaskQueue.serial().maxConcurrentTaskCount = width
        }
        expect(set, says: "maxConcurrentTaskCount is \(width): choose 1 or more, or TaskQueue.unlimited")
    }

    @Test("of queues that are everybody's: suspending and limiting them")
    func everybodys() async {
        let suspended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.global(qos: .utility).suspend()
        }
        expect(
            suspended,
            says: "TaskQueue.suspend() of \"global-utility\", which is everybody's: make a TaskQueue of your own")
        let flagged = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.background.isSuspended = true
        }
        expect(
            flagged,
            says: "TaskQueue.isSuspended of \"background\", which is everybody's: make a TaskQueue of your own")
        let limited = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.main.maxConcurrentTaskCount = 2
        }
        expect(
            limited,
            says: "TaskQueue.maxConcurrentTaskCount of \"main\", which is everybody's: make a TaskQueue of your own")
        let resumed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.main.resume()
        }
        expect(
            resumed, says: "TaskQueue.resume() of \"main\", which is everybody's: make a TaskQueue of your own")
    }

    @Test("of cancelAll: on the main queue")
    func cancelMain() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.main.cancelAll()
        }
        expect(result, says: "TaskQueue.main.cancelAll(): the main queue's closures cannot be taken back")
    }

    @Test("of shutdown: of the shared scheduler")
    func sharedShutdown() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            await Scheduler.shared.shutdown(deadline: .zero)
        }
        expect(result, says: "Scheduler.shared cannot be shut down: make a Scheduler of your own")
    }

    @Test("of shutdown: from one of the scheduler's own closures")
    func shutdownFromInside() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scheduler = makeScheduler(name: "render")
            let queue = TaskQueue(scheduler: scheduler)
            queue.async { scheduler.shutdown(deadline: .zero) }
            await queue.drained()
        }
        expect(
            result,
            says: "Scheduler.shutdown(deadline:) of \"render\" from one of its own closures would wait for itself")
    }

    @Test("of a scope: forked on another scheduler than it was opened on")
    func foreignScope() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let other = makeScheduler()
            Parallel.scope { outer in
                Parallel(on: other).scope { _ in outer.fork {} }
            }
        }
        expect(
            result,
            says: "Parallel.Scope.fork: the scope was opened on another thread or scheduler, or exchanged for another: fork "
                + "where it was opened")
    }

    @Test("of an actor's executor: on a queue that is not serial, on main, and a change of the limit afterwards")
    func actorExecutors() async {
        expect(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = TaskQueue.concurrent(label: "pages").actorExecutor
            },
            says: "TaskQueue.actorExecutor of \"pages\", which is not serial: an actor needs a TaskQueue.serial")
        expect(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = TaskQueue.main.actorExecutor
            },
            says: "TaskQueue.actorExecutor of \"main\", which runs on a dispatch queue: write @MainActor")
        expect(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = TaskQueue.serial(label: "account")
                _ = queue.actorExecutor
                queue.maxConcurrentTaskCount = 1
                queue.maxConcurrentTaskCount = 2
            },
            says: "TaskQueue.maxConcurrentTaskCount of \"account\" set to 2 while actors are isolated to it: a queue with "
                + "an actorExecutor stays serial")
        expect(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                TaskQueue.serial(label: "account").actorExecutor.checkIsolated()
            },
            says: "an actor on TaskQueue \"account\" was asked for its isolation elsewhere: call it with await")
    }
}
