import Dispatch
import Foundation
import Overdrive
import Testing

extension Conformance {
    @Suite("Work with dependencies")
    struct Dependencies {
        @Test("runs after what it depends on", arguments: Surface.all)
        func order(on surface: Surface) {
            let (queue, log) = (surface.operations(), Log<Int>())
            let units = (1...3).map { number in surface.unit { log.note(number) } }
            units[1].add(dependency: units[0])
            units[2].add(dependency: units[1])
            for unit in units.reversed() { queue.add(unit) }
            units[2].waitUntilFinished()
            #expect(log.all == [1, 2, 3])
        }

        @Test("waits for all it depends on", arguments: Surface.all)
        func fanIn(on surface: Surface) {
            let (queue, runs, seen) = (surface.operations(), Counter(), Log<Int>())
            let last = surface.unit { seen.note(runs.count) }
            let first = (0..<20).map { _ in surface.unit { runs.add() } }
            for unit in first { last.add(dependency: unit) }
            queue.add(last)
            for unit in first { queue.add(unit) }
            last.waitUntilFinished()
            #expect(seen.all == [20])
        }

        @Test("may depend on work of another queue", arguments: Surface.all)
        func acrossQueues(on surface: Surface) {
            let (a, b, log) = (surface.operations(limit: 1), surface.operations(limit: 1), Log<Int>())
            let (first, second) = (surface.unit { log.note(1) }, surface.unit { log.note(2) })
            second.add(dependency: first)
            b.add(second)
            a.add(first)
            second.waitUntilFinished()
            #expect(log.all == [1, 2])
        }

        @Test("is waited for by a barrier only if it waits for nothing", arguments: Surface.all)
        func barrier(on surface: Surface) {
            let (queue, log, gate) = (surface.operations(), Log<String>(), Gate())
            let (first, second) = (surface.unit { gate.pass() }, surface.unit { log.note("second") })
            second.add(dependency: first)
            let elsewhere = surface.operations()
            elsewhere.add(first)
            queue.add(second)
            queue.addBarrier { log.note("barrier") }
            if surface.expects(.barrierAndDependencies, theirs: false, ours: true) {
                #expect(eventually { log.all == ["barrier"] })
            } else {
                settle()
                #expect(log.all == [])
            }
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(eventually { log.all.count == 2 })
        }

        @Test("can tell where it runs", arguments: Surface.apart)
        func current(on surface: Surface) {
            let (queues, labels) = (Log<Bool>(), Log<String?>())
            switch surface {
            case .libdispatch:
                let queue = OperationQueue()
                queue.addOperation { queues.note(OperationQueue.current === queue) }
                queue.waitUntilAllOperationsAreFinished()
            case .overdrive, .dropIn:
                let queue = TaskQueue.concurrent(label: "asked")
                queue.async { labels.note(TaskQueue.currentLabel) }
                queue.waitUntilAllTasksAreFinished()
            }
            #expect(queues.all == surface.expects(.currentQueue, theirs: [true], ours: []))
            #expect(labels.all == surface.expects(.currentQueue, theirs: [], ours: ["asked"]))
        }

        @Test("on a queue of limit one leaves its place to what it depends on", arguments: Surface.all)
        func noDeadlock(on surface: Surface) {
            let log = Log<Int>()
            let (first, second) = (surface.unit { log.note(1) }, surface.unit { log.note(2) })
            second.add(dependency: first)
            do {
                let queue = surface.operations(limit: 1)
                queue.add(second)
                queue.add(first)
            }
            second.waitUntilFinished()
            #expect(log.all == [1, 2])
        }

        @Test("does not wait for what is finished already", arguments: Surface.all)
        func finishedDependency(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            let (first, second) = (surface.unit {}, surface.unit { runs.add() })
            queue.add(first)
            first.waitUntilFinished()
            second.add(dependency: first)
            queue.add(second)
            second.waitUntilFinished()
            #expect(runs.count == 1)
        }

        @Test("runs although what it depends on was cancelled", arguments: Surface.all)
        func cancelledDependency(on surface: Surface) {
            let (queue, log) = (surface.operations(), Log<String>())
            let (first, second) = (surface.unit { log.note("first") }, surface.unit { log.note("second") })
            second.add(dependency: first)
            first.cancel()
            queue.add(first)
            queue.add(second)
            second.waitUntilFinished()
            #expect(log.all == ["second"])
        }

        @Test("counts what it depends on, each once", arguments: Surface.all)
        func count(on surface: Surface) {
            let (unit, a, b) = (surface.unit {}, surface.unit {}, surface.unit {})
            #expect(unit.dependencyCount == 0)
            unit.add(dependency: a)
            unit.add(dependency: b)
            #expect(unit.dependencyCount == 2)
            unit.remove(dependency: a)
            #expect(unit.dependencyCount == 1)
        }

        @Test("runs when the last thing it waited for was taken off", arguments: Surface.all)
        func removed(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            let (never, unit) = (surface.unit {}, surface.unit { runs.add() })
            unit.add(dependency: never)
            unit.remove(dependency: never)
            queue.add(unit)
            if surface.expects(.dependencyRemoved, theirs: false, ours: true) {
                #expect(eventually { runs.count == 1 })
            } else {
                settle()
                #expect(runs.count == 0)
                unit.cancel()
            }
        }

        @Test("brings along what it depends on, where that is on no queue", arguments: Surface.all)
        func broughtAlong(on surface: Surface) {
            let (queue, log) = (surface.operations(), Log<Int>())
            let (first, second) = (surface.unit { log.note(1) }, surface.unit { log.note(2) })
            second.add(dependency: first)
            queue.add(second)
            if surface.expects(.dependencyAdded, theirs: false, ours: true) {
                #expect(eventually { log.all == [1, 2] })
            } else {
                settle()
                #expect(log.all == [])
                queue.add(first)
                second.waitUntilFinished()
            }
        }
    }

    @Suite("Work that was added to a queue")
    struct Units {
        @Test("is started on the calling thread where no queue has it", arguments: Surface.all)
        func start(on surface: Surface) {
            let threads = Log<UInt>()
            let unit = surface.unit { threads.note(threadIdentity()) }
            unit.start()
            unit.waitUntilFinished()
            #expect(threads.all == [threadIdentity()])
            #expect(unit.isFinished)
        }

        @Test("is executing while it runs, and finished afterwards", arguments: Surface.all)
        func state(on surface: Surface) {
            let (queue, gate) = (surface.operations(), Gate())
            let unit = surface.unit { gate.pass() }
            #expect(!unit.isExecuting && !unit.isFinished)
            queue.add(unit)
            #expect(eventually { gate.arrivals == 1 })
            #expect(unit.isExecuting && !unit.isFinished)
            gate.open()
            unit.waitUntilFinished()
            #expect(eventually { !unit.isExecuting && unit.isFinished })
        }

        @Test("does not run when it was cancelled before", arguments: Surface.all)
        func cancelled(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            let units = (0..<5).map { _ in surface.unit { runs.add() } }
            units[2].cancel()
            for unit in units { queue.add(unit) }
            for unit in units { unit.waitUntilFinished() }
            #expect(runs.count == 4)
            #expect(units[2].isCancelled && units[2].isFinished)
        }

        @Test("goes on to its end when it is cancelled while it runs", arguments: Surface.all)
        func cancelledWhileRunning(on surface: Surface) {
            let (queue, gate, ends) = (surface.operations(), Gate(), Counter())
            let unit = surface.unit {
                gate.pass()
                ends.add()
            }
            queue.add(unit)
            #expect(eventually { gate.arrivals == 1 })
            unit.cancel()
            #expect(unit.isCancelled && !unit.isFinished)
            gate.open()
            unit.waitUntilFinished()
            #expect(ends.count == 1)
        }

        @Test("is over, and never ran, after a cancel on a suspended queue and its resume", arguments: Surface.all)
        func cancelledWhileSuspended(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            let unit = surface.unit { runs.add() }
            queue.isSuspended = true
            queue.add(unit)
            unit.cancel()
            queue.isSuspended = false
            unit.waitUntilFinished()
            #expect(runs.count == 0)
            #expect(unit.isCancelled && unit.isFinished)
        }

        @Test("tells when it is over, also when it was cancelled", arguments: Surface.all, [false, true])
        func completion(on surface: Surface, cancelled: Bool) {
            let (queue, done) = (surface.operations(), Gate())
            let unit = surface.unit {}
            unit.onCompletion { done.open() }
            if cancelled { unit.cancel() }
            queue.add(unit)
            #expect(done.pass(within: patience))
            #expect(unit.isFinished)
        }

        @Test("is added with others and waited for", arguments: Surface.all)
        func addAndWait(on surface: Surface) {
            let (queue, runs) = (surface.operations(limit: 2), Counter())
            let units = (0..<20).map { _ in surface.unit { runs.add() } }
            queue.addAndWait(units)
            #expect(runs.count == 20)
            #expect(units.allSatisfy { $0.isFinished })
        }

        @Test("of several blocks is over when all are, each of which ran once", arguments: Surface.all)
        func blocks(on surface: Surface) {
            let (queue, runs) = (surface.operations(), (0..<4).map { _ in Counter() })
            let unit = surface.emptyUnit()
            for run in runs { unit.add(block: { run.add() }) }
            queue.add(unit)
            unit.waitUntilFinished()
            #expect(runs.map(\.count) == [1, 1, 1, 1])
        }

        @Test("of no block is over at once", arguments: Surface.all)
        func noBlock(on surface: Surface) {
            let (queue, unit) = (surface.operations(), surface.emptyUnit())
            queue.add(unit)
            unit.waitUntilFinished()
            #expect(unit.isFinished)
        }

        @Test("of several blocks runs them at the same time", arguments: Surface.all)
        func concurrentBlocks(on surface: Surface) {
            let (queue, crowd, meeting) = (surface.operations(), Crowd(), Meeting(of: 2))
            let together = surface.expects(.concurrentBlocks, theirs: false, ours: true)
            let unit = surface.emptyUnit()
            for _ in 0..<2 {
                unit.add(block: { crowd.visit { if together { meeting.attend() } else { usleep(2000) } } })
            }
            queue.add(unit)
            unit.waitUntilFinished()
            #expect(crowd.most == (together ? 2 : 1))
        }

        @Test("goes by its priority, or by when it came", arguments: Surface.apart)
        func priorities(on surface: Surface) {
            let (queue, log) = (surface.operations(limit: 1), Log<Int>())
            queue.isSuspended = true
            let units = (1...2).map { number in surface.unit { log.note(number) } }
            if case .theirs(let unit) = units[1] { unit.queuePriority = .veryHigh }
            for unit in units { queue.add(unit) }
            queue.isSuspended = false
            for unit in units { unit.waitUntilFinished() }
            #expect(log.all == surface.expects(.priorities, theirs: [2, 1], ours: [1, 2]))
        }

        @Test("is listed by its queue", arguments: Surface.apart)
        func listed(on surface: Surface) {
            let queue = surface.operations()
            queue.isSuspended = true
            let units = (0..<5).map { _ in surface.unit {} }
            for unit in units { queue.add(unit) }
            let (listed, added) = (queue.listed, units.map(\.identity))
            #expect(listed.sorted() == added.sorted())
            // Ours may happen to be the same.
            #expect(surface.expects(.taskOrder, theirs: listed == added, ours: true))
            queue.isSuspended = false
            for unit in units { unit.waitUntilFinished() }
        }

        @Test("that has finished does not keep its queue", arguments: Surface.apart)
        func keepsNoQueue(on surface: Surface) {
            let unit = surface.unit {}
            let isGone: () -> Bool
            do {
                let queue = surface.operations()
                queue.add(unit)
                unit.waitUntilFinished()
                isGone = queue.watch()
            }
            #expect(eventually(isGone))
            withExtendedLifetime(unit) {}
        }

        @Test("of a queue over a dispatch queue is held back, or that is a broken promise", arguments: Surface.apart)
        func onDispatchQueue(on surface: Surface) async {
            await #expect(
                processExitsWith: surface.expects(.onDispatchQueue, theirs: .success, ours: .failure)
            ) { [surface] in
                Self.suspendOverDispatch(surface)
            }
        }

        private static func suspendOverDispatch(_ surface: Surface) {
            let legacy = DispatchQueue(label: "legacy")
            switch surface {
            case .libdispatch:
                let (queue, runs) = (OperationQueue(), Counter())
                queue.underlyingQueue = legacy
                queue.isSuspended = true
                queue.addOperation { runs.add() }
                precondition(runs.count == 0)
                queue.isSuspended = false
                queue.waitUntilAllOperationsAreFinished()
                precondition(runs.count == 1)
            case .overdrive, .dropIn:
                TaskQueue(queue: legacy).isSuspended = true
            }
            withExtendedLifetime(legacy) {}
        }
    }
}
