import Foundation
import Testing

extension Conformance {
    @Suite("sync")
    struct Sync {
        @Test("runs on the calling thread", arguments: Surface.all, QueueKind.allCases)
        func thread(on surface: Surface, kind: QueueKind) {
            #expect(surface.queue(kind).sync { threadIdentity() } == threadIdentity())
        }

        @Test("runs on the calling thread, on a queue that everybody shares", arguments: Surface.all)
        func globalThread(on surface: Surface) {
            #expect(surface.global().sync { threadIdentity() } == threadIdentity())
        }

        @Test("runs on the calling thread although it had to wait", arguments: Surface.all)
        func threadAfterWaiting(on surface: Surface) {
            let (queue, gate, log) = (surface.serial(), Gate(), Log<String>())
            queue.async { gate.pass() }
            onThread {
                settle()
                log.note("waits")
                gate.open()
            }
            let thread = queue.sync {
                log.note("runs")
                return threadIdentity()
            }
            #expect(thread == threadIdentity())
            #expect(log.all == ["waits", "runs"])
        }

        @Test("returns what the closure returns", arguments: Surface.all, QueueKind.allCases)
        func result(on surface: Surface, kind: QueueKind) {
            let words: [String] = surface.queue(kind).sync { ["1", "2", "3"].reversed() }
            #expect(words == ["3", "2", "1"])
        }

        @Test("throws what the closure throws", arguments: Surface.all, QueueKind.allCases)
        func failure(on surface: Surface, kind: QueueKind) {
            let queue = surface.queue(kind)
            #expect(throws: Flaw(number: 7)) { try queue.sync { throw Flaw(number: 7) } }
            #expect(queue.sync { 1 } == 1)
        }

        @Test("on a serial queue excludes its closures", arguments: Surface.all)
        func exclusive(on surface: Surface) {
            let (queue, crowd) = (surface.serial(), Crowd())
            onThreads(4) { _ in
                for _ in 0..<100 {
                    queue.async { crowd.visit() }
                    queue.sync { crowd.visit() }
                }
            }
            queue.sync {}
            #expect(crowd.most == 1)
        }

        @Test("on a concurrent queue waits for nobody", arguments: Surface.all)
        func concurrentDoesNotWait(on surface: Surface) {
            let (queue, gate, group) = (surface.concurrent(), Gate(), surface.group())
            for _ in 0..<3 { queue.async(group: group) { gate.pass() } }
            #expect(queue.sync { 5 } == 5)
            gate.open()
            group.wait()
        }

        @Test("on a concurrent queue runs beside another", arguments: Surface.all)
        func concurrentAtOnce(on surface: Surface) {
            let (queue, meeting, met) = (surface.concurrent(), Meeting(of: 3), Counter())
            onThreads(3) { _ in queue.sync { if meeting.attend() { met.add() } } }
            #expect(met.count == 3)
        }

        @Test("on a concurrent queue may be called from its own closures", arguments: Surface.all)
        func concurrentRecursion(on surface: Surface) {
            let (queue, group, results) = (surface.concurrent(), surface.group(), Log<Int>())
            queue.async(group: group) { results.note(queue.sync { queue.sync { 9 } }) }
            group.wait()
            #expect(results.all == [9])
        }

        @Test("passes a throw through several queues", arguments: Surface.all)
        func nestedFailure(on surface: Surface) {
            let (a, b) = (surface.serial("a"), surface.serial("b"))
            #expect(throws: Flaw(number: 2)) { try a.sync { try b.sync { throw Flaw(number: 2) } } }
            #expect(a.sync { b.sync { true } })
        }

        @Test("from closures that all wait for one that has not started", arguments: Surface.all)
        func waitersDoNotStarve(on surface: Surface) {
            let (workers, owner, group, gate) = (surface.concurrent(), surface.serial(), surface.group(), Gate())
            let results = Counter()
            owner.async { gate.pass() }
            for _ in 0..<3 { workers.async(group: group) { owner.sync { _ = results.add() } } }
            workers.async { gate.open() }
            #expect(group.wait(milliseconds: Int(patience * 1000)))
            #expect(results.count == 3)
        }

        @Test("from a serial queue's closure to another serial queue", arguments: Surface.all)
        func fromSerial(on surface: Surface) {
            let (a, b, log) = (surface.serial("a"), surface.serial("b"), Log<String>())
            b.async { log.note("first on b") }
            a.async {
                b.sync { log.note("from a") }
                log.note("back on a")
            }
            a.sync {}
            #expect(log.all == ["first on b", "from a", "back on a"])
        }

        @Test("to a suspended queue waits for its resume", arguments: Surface.all)
        func suspended(on surface: Surface) {
            let (queue, isResumed, seen) = (surface.serial(), Counter(), Log<Int>())
            queue.suspend()
            onThread { queue.sync { seen.note(isResumed.count) } }
            settle()
            #expect(seen.all == [])
            isResumed.add()
            queue.resume()
            #expect(eventually { seen.all.count == 1 })
            #expect(seen.all == [1])
        }

        @Test("sees what async closures wrote, and they what it wrote", arguments: Surface.all)
        func visibility(on surface: Surface) {
            let (queue, list) = (surface.serial(), Holder([Int]()))
            for number in 0..<100 {
                queue.async { list.value.append(2 * number) }
                queue.sync { list.value.append(2 * number + 1) }
            }
            #expect(queue.sync { list.value } == Array(0..<200))
        }
    }
}
