import Foundation
import Testing

extension Conformance {
    @Suite("A queue on a queue")
    struct Targets {
        @Test("keeps to the order of a serial target", arguments: Surface.all, QueueKind.allCases)
        func order(on surface: Surface, kind: QueueKind) {
            let (target, crowd) = (surface.serial("target"), Crowd())
            let queues = (0..<3).map { surface.queue(kind, "\($0)", on: target) }
            let group = surface.group()
            for _ in 0..<100 {
                for queue in queues + [target] { queue.async(group: group) { crowd.visit() } }
            }
            group.wait()
            #expect(crowd.most == 1)
        }

        @Test("comes to its turn on the target in the order of submission", arguments: Surface.all)
        func interleaved(on surface: Surface) {
            let (target, log, gate, group) = (surface.serial("target"), Log<Int>(), Gate(), surface.group())
            let (first, second) = (surface.queue(.serial, on: target), surface.queue(.serial, on: target))
            target.async { gate.pass() }
            first.async(group: group) { log.note(1) }
            target.async(group: group) { log.note(2) }
            second.async(group: group) { log.note(3) }
            gate.open()
            group.wait()
            #expect(log.all == [1, 2, 3])
        }

        @Test("is held by its target's suspension", arguments: Surface.all, QueueKind.allCases)
        func suspended(on surface: Surface, kind: QueueKind) {
            let target = surface.queue(kind)
            let (queue, group) = (surface.queue(.serial, on: target), surface.group())
            target.suspend()
            queue.async(group: group) {}
            settle()
            #expect(!group.wait(milliseconds: 0))
            target.resume()
            group.wait()
        }

        @Test("does not hold its target when it is suspended", arguments: Surface.all)
        func suspendedAlone(on surface: Surface) {
            let target = surface.serial("target")
            let (queue, group) = (surface.queue(.serial, on: target), surface.group())
            queue.suspend()
            queue.async(group: group) {}
            #expect(target.sync { 1 } == 1)
            settle()
            #expect(!group.wait(milliseconds: 0))
            queue.resume()
            group.wait()
        }

        @Test("sees its target's specific values, and its own first", arguments: Surface.all)
        func specifics(on surface: Surface) {
            let (target, key, other) = (surface.serial("target"), surface.specificKey(), surface.specificKey())
            let queue = surface.queue(.serial, on: surface.queue(.concurrent, on: target))
            target.setSpecific(key, "target's")
            target.setSpecific(other, "the other")
            queue.setSpecific(other, "its own")
            let (seen, group) = (Log<[String?]>(), surface.group())
            queue.async(group: group) { seen.note([key.current, other.current]) }
            group.wait()
            #expect(seen.all == [["target's", "its own"]])
            #expect(queue.sync { [key.current, other.current] } == ["target's", "its own"])
        }

        @Test("is on its target", arguments: Surface.all, QueueKind.allCases)
        func assertions(on surface: Surface, kind: QueueKind) {
            let target = surface.queue(kind)
            let (queue, group, passed) = (surface.queue(.serial, on: target), surface.group(), Counter())
            queue.async(group: group) {
                target.assertOnQueue()
                queue.assertOnQueue()
                passed.add()
            }
            group.wait()
            queue.sync { target.assertOnQueue() }
            target.sync { queue.assertNotOnQueue() }
            #expect(passed.count == 1)
        }

        @Test("may be changed while it is inactive", arguments: Surface.all)
        func moved(on surface: Surface) {
            let (target, queue) = (surface.serial("target"), surface.inactive(.serial))
            let group = surface.group()
            queue.setTarget(target)
            target.suspend()
            queue.activate()
            queue.async(group: group) {}
            settle()
            #expect(!group.wait(milliseconds: 0))
            target.resume()
            group.wait()
        }
    }
}
