import OverdriveCore
import Testing

@Suite("cancelAll", .timeLimit(.minutes(10)))
struct CancelAllTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    @Test("tells items and bodies of run that run, and nothing that comes later", arguments: widths)
    func tellsWhatRuns(width: Int) async throws {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 2))
        for round in 1...3 {
            let (inside, seen) = (Counter(), Counter())
            let told: @Sendable () -> Bool = {
                inside.add()
                return eventually { Cancellation.isRequested }
            }
            let item = WorkItem { if told() { seen.add() } }
            if round == 2 { queue.asyncAfter(.milliseconds(1), execute: item) } else { queue.async(execute: item) }
            async let answer = width == 1 ? true : queue.run { told() }
            let running = width == 1 ? 1 : 2
            while inside.count < running { await Task.yield() }
            #expect(!item.isCancelled)
            if width != 1 { #expect(queue.cancelAll() == 0) } else { queue.cancelAll() }
            #expect(item.isCancelled)
            #expect(try await answer)
            await item.wait()
            #expect(item.isCancelled && seen.count == 1)
            #expect(item.description == "WorkItem (cancelled, ended)")
        }
        let after = Log<Bool>()
        let item = WorkItem { after.note(Cancellation.isRequested) }
        queue.async(execute: item)
        await item.wait()
        #expect(!item.isCancelled && after.all == [false])
        #expect(try await queue.run { !Cancellation.isRequested })
    }

    @Test("tells an item that still runs where another run of it has ended")
    func remainingRun() {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 2))
        for endsFirst in [0, 1] {
            let (started, left, seen, ended) = (Counter(), Counter(), Counter(), WaitGroup())
            let item = WorkItem {
                let number = started.add() - 1
                if number == endsFirst {
                    #expect(eventually { started.count == 2 })
                } else {
                    #expect(eventually { left.count == 1 })
                    if eventually({ Cancellation.isRequested }) { seen.add() }
                }
            }
            for _ in 0..<2 { queue.async(group: ended, execute: item) }
            #expect(eventually { started.count == 2 && queue.pendingTaskCount == 1 })
            left.add()
            queue.cancelAll()
            #expect(item.isCancelled)
            ended.wait()
            #expect(seen.count == 1)
        }
    }

    @Test("tells no item that a timer submits later")
    func laterItem() {
        let queue = TaskQueue(scheduler: makeScheduler())
        // Again, and later, where a full machine let its time come before the call.
        let wasLater = (0..<8).contains { round in
            let seen = Log<Bool>()
            let item = WorkItem { seen.note(Cancellation.isRequested) }
            let due = ContinuousClock.now + .milliseconds(20 << round)
            queue.asyncAfter(deadline: due, execute: item)
            queue.cancelAll()
            let isLater = ContinuousClock.now < due
            item.wait()
            #expect(!isLater || seen.all == [false] && !item.isCancelled)
            return isLater
        }
        #expect(wasLater)
    }

    @Test("releases captures whose deinits use the queue")
    func deinitsUseTheQueue() {
        final class Farewell: Sendable {
            let queue: TaskQueue
            let said: Counter

            init(_ queue: TaskQueue, _ said: Counter) {
                self.queue = queue
                self.said = said
            }

            deinit {
                let said = said
                queue.async { said.add() }
            }
        }
        for width in Self.widths {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
            let said = Counter()
            queue.suspend()
            for _ in 0..<50 {
                let farewell = Farewell(queue, said)
                queue.async { withExtendedLifetime(farewell) {} }
            }
            #expect(queue.cancelAll() == 50)
            queue.resume()
            #expect(eventually { said.count == 50 })
        }
    }
}
