import OverdriveCore
import Testing

/// A way in which a closure comes onto a queue.
private enum Way: CaseIterable {
    case async, inGroup, raised, enforced, barrier, tried, batch, batchInGroup
    case item, itemInGroup, barrierItem
    case delayed, atDeadline, delayedItem, itemAtDeadline, repeating, delayedBarrier
    case groupNotification, groupNotificationItem, itemNotification
    case sync, syncBarrier, syncItem, performed

    /// Whether it returns before the closure has run.
    var isAsynchronous: Bool {
        switch self {
        case .sync, .syncBarrier, .syncItem, .performed: false
        default: true
        }
    }

    /// Whether the closure is the queue's from the moment on at which this returns.
    var submitsAtOnce: Bool {
        switch self {
        case .async, .inGroup, .raised, .enforced, .barrier, .tried, .batch, .batchInGroup, .item, .itemInGroup,
            .barrierItem: true
        default: false
        }
    }

    /// Runs the closure once on the queue, by and by.
    func submit(to queue: TaskQueue, group: WaitGroup, _ body: @escaping @Sendable () -> Void) {
        switch self {
        case .async: queue.async(execute: body)
        case .inGroup: queue.async(group: group, execute: body)
        case .raised: queue.async(qos: .userInitiated, execute: body)
        case .enforced: queue.async(qos: .utility, flags: .enforceQoS, execute: body)
        case .barrier: queue.async(flags: .barrier, execute: body)
        case .tried: #expect(throws: Never.self) { try queue.tryAsync(execute: body) }
        case .batch: queue.asyncBatch { $0.async(execute: body) }
        case .batchInGroup: queue.asyncBatch(group: group) { $0.async(execute: body) }
        case .item: queue.async(execute: WorkItem(execute: body))
        case .itemInGroup: queue.async(group: group, execute: WorkItem(execute: body))
        case .barrierItem: queue.async(execute: WorkItem(flags: .barrier, execute: body))
        case .delayed: queue.asyncAfter(.microseconds(50), execute: body)
        case .atDeadline: queue.asyncAfter(deadline: .now + .microseconds(50), execute: body)
        case .delayedItem: queue.asyncAfter(.microseconds(50), execute: WorkItem(execute: body))
        case .itemAtDeadline: queue.asyncAfter(deadline: .now, execute: WorkItem(execute: body))
        case .repeating:
            queue.every(.seconds(3600), after: .zero) { tick in
                body()
                tick.timer.cancel()
            }
        case .delayedBarrier: queue.asyncAfter(.zero, flags: .barrier, execute: body)
        case .groupNotification: WaitGroup().notify(on: queue, execute: body)
        case .groupNotificationItem: WaitGroup().notify(on: queue, execute: WorkItem(execute: body))
        case .itemNotification:
            let item = WorkItem {}
            item.notify(on: queue, execute: body)
            item.perform()
        case .sync: queue.sync(execute: body)
        case .syncBarrier: queue.sync(flags: .barrier, execute: body)
        case .syncItem: queue.sync(execute: WorkItem(execute: body))
        case .performed: queue.concurrentPerform(iterations: 1) { _ in body() }
        }
    }
}

/// A kind of queue that is one's own.
private enum Kind: String, CaseIterable, Codable {
    case serial, limited, concurrent, onSerial, onLimited, onConcurrent, onEverybodys, chain
    case waiting, callerRuns, rejecting, waitingTarget

    var queue: TaskQueue {
        let scheduler = makeScheduler(workers: 3)

        func limited(_ policy: TaskQueue.BackPressure, _ width: Int = TaskQueue.unlimited) -> TaskQueue {
            TaskQueue(
                pendingLimit: 2, policy: policy, label: "limit", maxConcurrentTaskCount: width, scheduler: scheduler)
        }
        return switch self {
        case .serial: .serial(label: "serial", scheduler: scheduler)
        case .limited: .concurrent(label: "limited", maxConcurrentTaskCount: 2, scheduler: scheduler)
        case .concurrent: .concurrent(label: "concurrent", scheduler: scheduler)
        case .onSerial: .concurrent(label: "a", target: .serial(label: "b", scheduler: scheduler))
        case .onLimited:
            .serial(label: "a", target: .concurrent(label: "b", maxConcurrentTaskCount: 2, scheduler: scheduler))
        case .onConcurrent: .serial(label: "a", target: .concurrent(label: "b", scheduler: scheduler))
        case .onEverybodys: .serial(label: "a", target: .global(qos: .utility))
        case .chain:
            .concurrent(
                label: "a",
                target: .concurrent(
                    label: "b", maxConcurrentTaskCount: 2, target: .serial(label: "c", scheduler: scheduler)))
        case .waiting: limited(.wait)
        case .callerRuns: limited(.callerRuns, 1)
        case .rejecting: limited(.reject)
        case .waitingTarget: .serial(label: "a", target: limited(.wait, 1))
        }
    }
}

@Suite("Every way onto every kind of queue", .timeLimit(.minutes(10)))
struct EveryWayTests {
    @Test("runs its closure once, on that queue, and leaves nothing behind", arguments: Kind.allCases)
    private func runsOnce(kind: Kind) {
        for way in Way.allCases {
            let queue = kind.queue
            let (runs, elsewhere, group, census) = (Counter(), Counter(), WaitGroup(), Census())
            do {
                let captured = census.newborn()
                way.submit(to: queue, group: group) {
                    captured.touch()
                    queue.assertOnQueue()
                    if TaskQueue.currentLabel != queue.label { elsewhere.add() }
                    runs.add()
                }
            }
            #expect(way.isAsynchronous || runs.count == 1, "\(way) on \(kind)")
            #expect(eventually { runs.count == 1 }, "\(way) on \(kind)")
            group.wait()
            queue.waitUntilAllTasksAreFinished()
            #expect(queue.pendingTaskCount == 0, "\(way) on \(kind)")
            #expect(elsewhere.count == 0, "\(way) on \(kind)")
            #expect(eventually { census.alive == 0 }, "\(way) on \(kind)")
            #expect(runs.count == 1, "\(way) on \(kind)")
        }
    }

    @Test("is held by a suspension, and runs when that ends", arguments: Kind.allCases)
    private func suspended(kind: Kind) async {
        await #expect(processExitsWith: .success) { [kind] in EveryWayTests.hold(kind) }
    }

    /// In a process in which nothing else goes on.
    private static func hold(_ kind: Kind) {
        for way in Way.allCases {
            let queue = kind.queue
            let (runs, submitted, group) = (Counter(), Counter(), WaitGroup())
            queue.suspend()
            onThread {
                way.submit(to: queue, group: group) { runs.add() }
                submitted.add()
            }
            #expect(comesToRest(), "\(way) on \(kind)")
            if way.submitsAtOnce { #expect(queue.pendingTaskCount == 1, "\(way) on \(kind)") }
            #expect(runs.count == 0, "\(way) on \(kind)")
            #expect(submitted.count == (way.isAsynchronous ? 1 : 0), "\(way) on \(kind)")
            queue.resume()
            #expect(eventually { runs.count == 1 && submitted.count == 1 }, "\(way) on \(kind)")
        }
    }

    @Test("is taken back by cancelAll, counted, and its group is done with it", arguments: Kind.allCases)
    private func cancelled(kind: Kind) {
        for way in Way.allCases where way.submitsAtOnce {
            let queue = kind.queue
            let (runs, group, census) = (Counter(), WaitGroup(), Census())
            queue.suspend()
            do {
                let captured = census.newborn()
                way.submit(to: queue, group: group) {
                    captured.touch()
                    runs.add()
                }
            }
            #expect(queue.cancelAll() == 1, "\(way) on \(kind)")
            group.wait()
            #expect(queue.pendingTaskCount == 0, "\(way) on \(kind)")
            #expect(eventually { census.alive == 0 }, "\(way) on \(kind)")
            queue.resume()
            queue.sync {}
            #expect(runs.count == 0, "\(way) on \(kind)")
        }
    }

    @Test("comes after what was submitted before, on a serial queue", arguments: Way.allCases)
    private func inOrder(way: Way) {
        let queue = TaskQueue.serial(scheduler: makeScheduler(workers: 3))
        let (log, group) = (Log<Int>(), WaitGroup())
        for number in 0..<100 { queue.async { log.note(number) } }
        way.submit(to: queue, group: group) { log.note(100) }
        #expect(eventually { log.all.count == 101 })
        #expect(log.all == Array(0...100))
    }

    @Test("from the queue's own closures runs too, where it does not wait for itself", arguments: Kind.allCases)
    private func fromInside(kind: Kind) {
        for way in Way.allCases where way.isAsynchronous {
            let queue = kind.queue
            let (runs, group) = (Counter(), WaitGroup())
            queue.async { way.submit(to: queue, group: group) { runs.add() } }
            #expect(eventually { runs.count == 1 }, "\(way) on \(kind)")
        }
    }

    @Test("of those that leave something for later passes the limit of a full queue")
    func full() {
        let queue = TaskQueue(pendingLimit: 1, policy: .reject, maxConcurrentTaskCount: 1, scheduler: makeScheduler())
        let runs = Counter()
        queue.suspend()
        queue.async { runs.add() }
        queue.async { runs.add() }
        #expect(queue.rejectedTaskCount == 1)
        queue.asyncAfter(.zero) { runs.add() }
        queue.asyncAfter(deadline: .now) { runs.add() }
        #expect(eventually { queue.pendingTaskCount == 3 })
        #expect(queue.rejectedTaskCount == 1)
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 3)
    }

    @Test("that is awaited: run has its result, waits for a resume, and is told of cancelAll", arguments: Kind.allCases)
    private func awaited(kind: Kind) async throws {
        let queue = kind.queue
        let onIt = try await queue.run {
            queue.assertOnQueue()
            return TaskQueue.currentLabel == queue.label
        }
        #expect(onIt)
        queue.suspend()
        async let held = queue.run { 7 }
        while queue.pendingTaskCount == 0 { await Task.yield() }
        queue.resume()
        #expect(try await held == 7)
        await queue.drained()  // it is counted a little longer than it is awaited
        queue.suspend()
        async let lost = queue.run { 8 }
        while queue.pendingTaskCount == 0 { await Task.yield() }
        #expect(queue.cancelAll() == 1)
        var told = false
        do { _ = try await lost } catch is CancellationError { told = true }
        #expect(told)
        queue.resume()
        await queue.drained()
    }
}
