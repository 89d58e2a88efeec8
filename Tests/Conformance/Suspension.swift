import Foundation
import Testing

extension Conformance {
    @Suite("A suspended queue")
    struct Suspension {
        @Test("starts nothing until it is resumed", arguments: Surface.all, QueueKind.allCases)
        func holds(on surface: Surface, kind: QueueKind) {
            let (queue, group, runs) = (surface.queue(kind), surface.group(), Counter())
            queue.suspend()
            for _ in 0..<20 { queue.async(group: group) { runs.add() } }
            settle()
            #expect(!group.wait(milliseconds: 0))
            #expect(runs.count == 0)
            queue.resume()
            group.wait()
            #expect(runs.count == 20)
        }

        @Test("needs as many resumes as suspends", arguments: Surface.all, [1, 2, 100])
        func nesting(on surface: Surface, depth: Int) {
            let (queue, group, runs) = (surface.serial(), surface.group(), Counter())
            for _ in 0..<depth { queue.suspend() }
            queue.async(group: group) { runs.add() }
            for _ in 1..<depth { queue.resume() }
            settle()
            #expect(!group.wait(milliseconds: 0))
            queue.resume()
            group.wait()
            #expect(runs.count == 1)
        }

        @Test("lets what runs go on to its end", arguments: Surface.all, QueueKind.allCases)
        func inFlight(on surface: Surface, kind: QueueKind) {
            let (queue, group, gate) = (surface.queue(kind), surface.group(), Gate())
            queue.async(group: group) { gate.pass() }
            #expect(eventually { gate.arrivals == 1 })
            queue.suspend()
            gate.open()
            group.wait()
            queue.resume()
        }

        @Test("may have been suspended by its own closure, which holds back the next", arguments: Surface.all)
        func fromInside(on surface: Surface) {
            let (queue, group, log) = (surface.serial(), surface.group(), Log<Int>())
            let suspended = Gate()
            queue.async(group: group) {
                queue.suspend()
                log.note(1)
                suspended.open()
            }
            queue.async(group: group) { log.note(2) }
            suspended.pass()
            settle()
            #expect(!group.wait(milliseconds: 0))
            #expect(log.all == [1])
            queue.resume()
            group.wait()
            #expect(log.all == [1, 2])
        }

        @Test("does not hold back other queues", arguments: Surface.all)
        func others(on surface: Surface) {
            let (held, free, group) = (surface.serial("held"), surface.serial("free"), surface.group())
            held.suspend()
            held.async {}
            free.async(group: group) {}
            group.wait()
            #expect(free.sync { 1 } == 1)
            held.resume()
            held.sync {}
        }

        @Test("is resumed while a closure of its still runs", arguments: Surface.all)
        func resumedWhileRunning(on surface: Surface) {
            let (queue, crowd, gate) = (surface.serial(), Crowd(), Gate())
            queue.async {
                crowd.visit { gate.pass() }
            }
            #expect(eventually { gate.arrivals == 1 })
            queue.suspend()
            queue.async { crowd.visit() }
            queue.resume()
            settle()
            gate.open()
            queue.sync {}
            #expect(crowd.most == 1)
        }
    }
}
