import OverdriveCore
import Testing

@Suite("cancelAll", .timeLimit(.minutes(10)))
struct CancelAllTests {
    private static let widths = [1, 2, TaskQueue.unlimited]

    @Test("on an empty queue cancels nothing")
    func empty() {
        let queue = TaskQueue(scheduler: makeScheduler())
        #expect(queue.cancelAll() == 0)
        queue.async {}
        queue.waitUntilAllTasksAreFinished()
        #expect(queue.cancelAll() == 0)
    }

    @Test("on a suspended queue cancels everything, and the queue goes on", arguments: widths)
    func suspended(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let runs = Counter()
        for _ in 0..<20 {
            queue.suspend()
            for _ in 0..<50 { queue.async { runs.add(1_000_000) } }
            #expect(queue.cancelAll() == 50)
            #expect(queue.pendingTaskCount == 0)
            queue.async { runs.add() }
            queue.resume()
            queue.waitUntilAllTasksAreFinished()
        }
        #expect(runs.count == 20)
    }

    @Test("empties the groups of what it cancelled", arguments: widths)
    func groups(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let (group, other) = (WaitGroup(), WaitGroup())
        let notified = Counter()
        queue.suspend()
        for _ in 0..<50 {
            queue.async(group: group) {}
            queue.async(group: other) {}
            queue.async {}
        }
        group.notify(on: TaskQueue(scheduler: makeScheduler())) { notified.add() }
        #expect(group.wait(timeout: .zero) == .timedOut)
        #expect(queue.cancelAll() == 150)
        group.wait()
        other.wait()
        #expect(eventually { notified.count == 1 })
        queue.resume()
    }

    @Test("leaves what runs alone")
    func running() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let (started, gate) = (Gate(), Gate())
        let ended = Counter()
        queue.async {
            started.open()
            gate.pass()
            ended.add()
        }
        started.pass()
        #expect(queue.cancelAll() == 0)
        #expect(queue.pendingTaskCount == 1)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(ended.count == 1)
    }

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

    @Test("tells no item that a timer submits later")
    func laterItem() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let seen = Log<Bool>()
        let item = WorkItem { seen.note(Cancellation.isRequested) }
        queue.asyncAfter(.milliseconds(50), execute: item)
        queue.cancelAll()
        item.wait()
        #expect(seen.all == [false] && !item.isCancelled)
    }

    @Test("from one of the queue's own closures cancels the others", arguments: widths)
    func fromInside(width: Int) {
        for _ in 0..<20 {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 1))
            let ran = Counter()
            let cancelled = Counter()
            queue.suspend()
            queue.async {
                ran.add()
                cancelled.add(queue.cancelAll())
            }
            for _ in 0..<99 { queue.async { ran.add() } }
            queue.resume()
            queue.waitUntilAllTasksAreFinished()
            #expect(ran.count == 1)
            #expect(cancelled.count == 99)
        }
    }

    @Test("of one queue leaves the others' closures alone, in one group too")
    func otherQueues() {
        let scheduler = makeScheduler()
        let (queue, other) = (TaskQueue(scheduler: scheduler), TaskQueue(scheduler: scheduler))
        let group = WaitGroup()
        let ran = Counter()
        queue.suspend()
        other.suspend()
        for _ in 0..<50 {
            queue.async(group: group) { ran.add(1_000) }
            other.async(group: group) { ran.add() }
        }
        #expect(queue.cancelAll() == 50)
        queue.resume()
        other.resume()
        group.wait()
        #expect(ran.count == 50)
    }

    @Test("counts exactly: what ran and what was cancelled is what was submitted", arguments: widths)
    func exactCounts(width: Int) {
        for workers in 1...3 {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: workers))
            let group = WaitGroup()
            let (ran, cancelled, submitters) = (Counter(), Counter(), Counter())
            onThreads(4) { thread in
                if thread < 2 {
                    while submitters.count < 2 { cancelled.add(queue.cancelAll()) }
                } else {
                    for _ in 0..<2_000 {
                        queue.async(group: group) {
                            ran.add()
                            queue.async { ran.add() }
                        }
                    }
                    submitters.add()
                }
            }
            group.wait()
            queue.waitUntilAllTasksAreFinished()
            // Each of the 4,000 ran and submitted one more, or was cancelled and did not.
            let inner = ran.count + cancelled.count - 4_000
            #expect(inner >= 0 && inner <= 4_000)
            #expect(queue.pendingTaskCount == 0)
        }
    }

    @Test("counts exactly over queues without closures that submit", arguments: widths)
    func exactCountsFlat(width: Int) {
        for round in 0..<10 {
            let scheduler = makeScheduler(workers: 1 + round % 3)
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
            let (ran, cancelled, submitters) = (Counter(), Counter(), Counter())
            let groups = (0..<2).map { _ in WaitGroup() }
            onThreads(3) { thread in
                if thread == 0 {
                    while submitters.count < 2 { cancelled.add(queue.cancelAll()) }
                } else {
                    for number in 0..<1_000 {
                        queue.async(group: number.isMultiple(of: 3) ? nil : groups[thread - 1]) { ran.add() }
                    }
                    submitters.add()
                }
            }
            for group in groups { group.wait() }
            queue.waitUntilAllTasksAreFinished()
            #expect(ran.count + cancelled.count == 2_000)
            let report: ShutdownReport = scheduler.shutdown(deadline: .seconds(10))
            #expect(report.ran == ran.count)
            #expect(report.cancelled == cancelled.count)
        }
    }

    @Test("by several threads at once counts each closure once")
    func severalCancellers() {
        let queue = TaskQueue(scheduler: makeScheduler())
        for _ in 0..<30 {
            queue.suspend()
            for _ in 0..<100 { queue.async {} }
            let cancelled = Counter()
            onThreads(3) { _ in cancelled.add(queue.cancelAll()) }
            #expect(cancelled.count == 100)
            queue.resume()
        }
    }

    @Test("while the queue is suspended, resumed, narrowed and widened loses nothing")
    func everythingAtOnce() {
        for _ in 0..<5 {
            let queue = TaskQueue(scheduler: makeScheduler(workers: 3))
            let group = WaitGroup()
            let census = Census()
            let (ran, cancelled, submitters) = (Counter(), Counter(), Counter())
            onThreads(5) { thread in
                switch thread {
                case 0:
                    while submitters.count < 2 {
                        queue.suspend()
                        cancelled.add(queue.cancelAll())
                        queue.resume()
                    }
                case 1:
                    while submitters.count < 2 {
                        for width in [1, 2, TaskQueue.unlimited] { queue.maxConcurrentTaskCount = width }
                    }
                case 2:
                    while submitters.count < 2 {
                        queue.isSuspended = true
                        queue.isSuspended = false
                        queue.sync {}
                    }
                default:
                    for number in 0..<1_000 {
                        let tracked = census.newborn()
                        queue.async(group: number.isMultiple(of: 2) ? group : nil) {
                            tracked.touch()
                            ran.add()
                        }
                    }
                    submitters.add()
                }
            }
            queue.isSuspended = false
            group.wait()
            queue.waitUntilAllTasksAreFinished()
            #expect(ran.count + cancelled.count == 2_000)
            #expect(census.alive == 0)
            #expect(census.died == 2_000)
        }
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
