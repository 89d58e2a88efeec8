import Foundation
import OverdriveCore
import Testing

extension Conformance {
    @Suite("A work item")
    struct WorkItems {
        @Test("runs on the calling thread when it is performed", arguments: Surface.all)
        func perform(on surface: Surface) {
            let threads = Log<UInt>()
            surface.item { threads.note(threadIdentity()) }.perform()
            #expect(threads.all == [threadIdentity()])
        }

        @Test("runs once for one submission", arguments: Surface.all, QueueKind.allCases)
        func async(on surface: Surface, kind: QueueKind) {
            let (queue, runs) = (surface.queue(kind), Counter())
            let item = surface.item { runs.add() }
            queue.async(item)
            item.wait()
            #expect(runs.count == 1)
            #expect(!item.isCancelled)
        }

        @Test("runs on the calling thread in sync, in the queue's order", arguments: Surface.all)
        func sync(on surface: Surface) {
            let (queue, log, threads) = (surface.serial(), Log<Int>(), Log<UInt>())
            queue.async { log.note(1) }
            queue.sync(surface.item {
                log.note(2)
                threads.note(threadIdentity())
            })
            #expect(log.all == [1, 2])
            #expect(threads.all == [threadIdentity()])
        }

        @Test("runs once for each of several submissions", arguments: Surface.all)
        func reuse(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            let item = surface.item { runs.add() }
            for _ in 0..<10 { queue.async(item) }
            for _ in 0..<5 { item.perform() }
            queue.sync {}
            #expect(runs.count == 15)
        }

        @Test("is counted by a group", arguments: Surface.all)
        func group(on surface: Surface) {
            let (queue, group, gate, runs) = (surface.concurrent(), surface.group(), Gate(), Counter())
            queue.async(group: group, surface.item {
                gate.pass()
                runs.add()
            })
            #expect(!group.wait(milliseconds: 0))
            gate.open()
            group.wait()
            #expect(runs.count == 1)
        }

        @Test("that was cancelled before its turn does not run", arguments: Surface.all, QueueKind.allCases)
        func cancelledBefore(on surface: Surface, kind: QueueKind) {
            let (queue, group, runs, others) = (surface.queue(kind), surface.group(), Counter(), Counter())
            queue.suspend()
            let item = surface.item { runs.add() }
            queue.async(group: group) { others.add() }
            queue.async(group: group, item)
            queue.async(group: group) { others.add() }
            item.cancel()
            queue.resume()
            group.wait()
            #expect(runs.count == 0)
            #expect(others.count == 2)
        }

        @Test("that was cancelled before it is submitted does not run", arguments: Surface.all)
        func cancelledUnsubmitted(on surface: Surface) {
            let (queue, group, runs) = (surface.serial(), surface.group(), Counter())
            let item = surface.item { runs.add() }
            item.cancel()
            queue.async(group: group, item)
            queue.sync(item)
            item.perform()
            group.wait()
            #expect(runs.count == 0)
            #expect(item.isCancelled)
        }

        @Test("that is cancelled while it runs goes on to its end", arguments: Surface.all)
        func cancelledWhileRunning(on surface: Surface) {
            let (queue, gate, ends) = (surface.serial(), Gate(), Counter())
            let item = surface.item {
                gate.pass()
                ends.add()
            }
            queue.async(item)
            #expect(eventually { gate.arrivals == 1 })
            item.cancel()
            #expect(item.isCancelled)
            gate.open()
            item.wait()
            #expect(ends.count == 1)
        }

        @Test("may be cancelled twice, and after its end", arguments: Surface.all)
        func cancelledTwice(on surface: Surface) {
            let runs = Counter()
            let item = surface.item { runs.add() }
            item.perform()
            item.cancel()
            item.cancel()
            #expect(item.isCancelled)
            item.perform()
            #expect(runs.count == 1)
        }

        @Test("that did not end in time may be waited for again", arguments: Surface.all)
        func timeout(on surface: Surface) {
            let (queue, gate) = (surface.serial(), Gate())
            let item = surface.item { gate.pass() }
            queue.async(item)
            #expect(!item.wait(milliseconds: 5))
            #expect(!item.wait(milliseconds: 0))
            gate.open()
            #expect(item.wait(milliseconds: Int(patience * 1000)))
        }

        @Test("that is cancelled in a queue has ended after its turn", arguments: Surface.all)
        func waitingForCancelled(on surface: Surface) {
            let queue = surface.serial()
            let item = surface.item {}
            item.cancel()
            queue.async(item)
            #expect(item.wait(milliseconds: Int(patience * 1000)))
        }

        @Test("that is cancelled and never submitted", arguments: Surface.all)
        func cancelledNeverSubmitted(on surface: Surface) {
            let (queue, notified) = (surface.serial(), Counter())
            let item = surface.item {}
            item.notify(on: queue) { notified.add() }
            item.cancel()
            let ends = surface.expects(.cancelledUnsubmitted, theirs: false, ours: true)
            settle()
            #expect(item.wait(milliseconds: 0) == ends)
            queue.sync {}
            #expect(notified.count == (ends ? 1 : 0))
        }

        @Test("that is cancelled in a suspended queue", arguments: Surface.all)
        func cancelledWhileSuspended(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            let item = surface.item { runs.add() }
            queue.suspend()
            queue.async(item)
            item.cancel()
            settle()
            #expect(
                item.wait(milliseconds: 0) == surface.expects(.cancelledUnsubmitted, theirs: false, ours: true))
            queue.resume()
            queue.sync {}
            #expect(runs.count == 0)
        }

        @Test("that nobody ever submits has ended when it was performed", arguments: Surface.all)
        func neverSubmitted(on surface: Surface) {
            let item = surface.item {}
            #expect(!item.wait(milliseconds: 0))
            item.perform()
            #expect(item.wait(milliseconds: 0))
        }

        @Test("releases what it captured with it", arguments: Surface.all)
        func captures(on surface: Surface) {
            let census = Census()
            do {
                let (queue, mortal) = (surface.serial(), census.newborn())
                let item = surface.item { mortal.touch() }
                queue.async(item)
                item.wait()
            }
            #expect(eventually { census.died == 1 })
        }

        @Test("is run or skipped, never both, when a cancel races with it", arguments: Surface.all)
        func race(on surface: Surface) {
            let queue = surface.concurrent()
            let runs = (0..<100).map { _ in Counter() }
            let seen = runs.map { runs in
                let item = surface.item { runs.add() }
                queue.async(item)
                item.cancel()
                item.wait()
                return runs.count
            }
            settle()
            #expect(runs.map(\.count) == seen)
            #expect(seen.allSatisfy { $0 <= 1 })
        }
    }

    @Suite("A work item's notification")
    struct ItemNotifications {
        @Test("comes after the run", arguments: Surface.all)
        func after(on surface: Surface) {
            let (queue, log) = (surface.concurrent(), Log<String>())
            let item = surface.item { log.note("run") }
            item.notify(on: surface.serial()) { log.note("notified") }
            #expect(log.all == [])
            queue.async(item)
            #expect(eventually { log.all.contains("notified") })
            #expect(log.all == ["run", "notified"])
        }

        @Test("may be a barrier of its queue", arguments: Surface.all)
        func alone(on surface: Surface) {
            let (queue, group, gate, log) = (surface.concurrent(), surface.group(), Gate(), Log<Int>())
            let item = surface.item {}
            item.notifyAlone(on: queue) { log.note(2) }
            queue.async(group: group) {
                gate.pass()
                log.note(1)
            }
            item.perform()
            queue.async(group: group) { log.note(3) }
            settle()
            gate.open()
            group.wait()
            #expect(log.all == [1, 2, 3])
        }

        @Test("comes at once when the item has ended", arguments: Surface.all)
        func late(on surface: Surface) {
            let (done, item) = (Gate(), surface.item {})
            item.perform()
            item.notify(on: surface.serial()) { done.open() }
            #expect(done.pass(within: patience))
        }

        @Test("comes for each who asked", arguments: Surface.all)
        func several(on surface: Surface) {
            let (count, item) = (Counter(), surface.item {})
            for _ in 0..<5 { item.notify(on: surface.serial()) { count.add() } }
            item.perform()
            #expect(eventually { count.count == 5 })
        }

        @Test("comes for a cancelled item too", arguments: Surface.all)
        func cancelled(on surface: Surface) {
            let (queue, done, runs) = (surface.serial(), Gate(), Counter())
            let item = surface.item { runs.add() }
            item.notify(on: queue) { done.open() }
            item.cancel()
            queue.async(item)
            #expect(done.pass(within: patience))
            #expect(runs.count == 0)
        }

        @Test("runs on the queue that was named", arguments: Surface.all)
        func onItsQueue(on surface: Surface) {
            let (seen, item) = (Log<Bool>(), surface.item {})
            item.notify(on: surface.main) { seen.note(isOnMain()) }
            item.perform()
            #expect(eventually { seen.all == [true] })
        }

        @Test("may be another item", arguments: Surface.all)
        func item(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<String>())
            let (first, second) = (surface.item { log.note("first") }, surface.item { log.note("second") })
            first.notify(on: queue, second)
            queue.async(first)
            second.wait()
            #expect(log.all == ["first", "second"])
        }

        @Test("that is another item may be cancelled", arguments: Surface.all)
        func cancelledItem(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<String>())
            let (first, second) = (surface.item { log.note("first") }, surface.item { log.note("second") })
            first.notify(on: queue, second)
            second.cancel()
            queue.async(first)
            second.wait()
            queue.sync {}
            #expect(log.all == ["first"])
        }

        @Test("comes when the item is let go before it ever ran", arguments: Surface.all)
        func released(on surface: Surface) {
            let done = Gate()
            do {
                let item = surface.item {}
                item.notify(on: surface.serial()) { done.open() }
            }
            #expect(done.pass(within: patience))
        }

        @Test("of a group may be an item", arguments: Surface.all)
        func ofGroup(on surface: Surface) {
            let (queue, group, runs) = (surface.concurrent(), surface.group(), Counter())
            let item = surface.item { runs.add(10) }
            for _ in 0..<10 { queue.async(group: group) { runs.add() } }
            group.notify(on: queue, item)
            item.wait()
            #expect(runs.count == 20)
        }
    }

    @Suite("concurrentPerform")
    struct ConcurrentPerform {
        @Test("calls the body once for each number", arguments: Surface.all, [1, 2, 1000])
        func exact(on surface: Surface, iterations: Int) {
            let calls = (0..<iterations).map { _ in Counter() }
            surface.concurrentPerform(iterations) { calls[$0].add() }
            #expect(calls.allSatisfy { $0.count == 1 })
        }

        @Test("of nothing does nothing", arguments: Surface.all)
        func nothing(on surface: Surface) {
            let calls = Counter()
            surface.concurrentPerform(0) { _ in calls.add() }
            #expect(calls.count == 0)
        }

        @Test("returns when all is done, and shows what was written", arguments: Surface.all)
        func results(on surface: Surface) {
            let squares = (0..<300).map { _ in Holder(0) }
            surface.concurrentPerform(300) { squares[$0].value = $0 * $0 }
            #expect(squares.map(\.value) == (0..<300).map { $0 * $0 })
        }

        @Test("nests", arguments: Surface.all)
        func nested(on surface: Surface) {
            let calls = Counter()
            surface.concurrentPerform(8) { _ in
                surface.concurrentPerform(8) { _ in surface.concurrentPerform(4) { _ in calls.add() } }
            }
            #expect(calls.count == 256)
        }

        @Test("is called inside a queue's closures", arguments: Surface.all, QueueKind.allCases)
        func insideClosures(on surface: Surface, kind: QueueKind) {
            let (queue, group, calls) = (surface.queue(kind), surface.group(), Counter())
            for _ in 0..<10 {
                queue.async(group: group) { surface.concurrentPerform(20) { _ in calls.add() } }
            }
            group.wait()
            #expect(calls.count == 200)
        }

        @Test("lets the caller take part", arguments: Surface.all)
        func callerTakesPart(on surface: Surface) {
            // Whoever comes first, a body runs at least once on the caller, or all of them elsewhere: with one number
            // it is the caller's.
            let threads = Log<UInt>()
            surface.concurrentPerform(1) { _ in threads.note(threadIdentity()) }
            #expect(threads.all == [threadIdentity()])
        }

        @Test("runs bodies at the same time", arguments: Surface.all)
        func atOnce(on surface: Surface) {
            let (meeting, met) = (Meeting(of: 2), Counter())
            surface.concurrentPerform(2) { _ in if meeting.attend() { met.add() } }
            #expect(met.count == 2)
        }
    }
}
