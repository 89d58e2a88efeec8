import Foundation
import Testing

extension Conformance {
    @Suite("An inactive queue")
    struct Activation {
        @Test("starts nothing until it is activated", arguments: Surface.all, QueueKind.allCases)
        func holds(on surface: Surface, kind: QueueKind) {
            let (queue, group, runs) = (surface.inactive(kind), surface.group(), Counter())
            for _ in 0..<20 { queue.async(group: group) { runs.add() } }
            settle()
            #expect(!group.wait(milliseconds: 0))
            #expect(runs.count == 0)
            queue.activate()
            group.wait()
            #expect(runs.count == 20)
        }

        @Test("keeps the order of what waits", arguments: Surface.all)
        func order(on surface: Surface) {
            let (queue, log) = (surface.inactive(.serial), Log<Int>())
            for number in 0..<100 { queue.async { log.note(number) } }
            queue.activate()
            for number in 100..<150 { queue.async { log.note(number) } }
            queue.sync {}
            #expect(log.all == Array(0..<150))
        }

        @Test("is activated once however often it is asked to", arguments: Surface.all, QueueKind.allCases)
        func again(on surface: Surface, kind: QueueKind) {
            let queue = surface.inactive(kind)
            for _ in 0..<3 { queue.activate() }
            #expect(queue.sync { 1 } == 1)
            queue.activate()
            #expect(queue.sync { 2 } == 2)
        }

        @Test("counts suspensions beside that", arguments: Surface.all, QueueKind.allCases)
        func suspended(on surface: Surface, kind: QueueKind) {
            let (queue, group) = (surface.inactive(kind), surface.group())
            queue.suspend()
            queue.async(group: group) {}
            queue.activate()
            settle()
            #expect(!group.wait(milliseconds: 0))
            queue.resume()
            group.wait()
        }

        @Test("stays inactive when it is suspended and resumed", arguments: Surface.all)
        func resumed(on surface: Surface) {
            let (queue, group) = (surface.inactive(.serial), surface.group())
            queue.suspend()
            queue.async(group: group) {}
            queue.resume()
            settle()
            #expect(!group.wait(milliseconds: 0))
            queue.activate()
            group.wait()
        }

        @Test("keeps a sync waiting until another thread activates it", arguments: Surface.all)
        func sync(on surface: Surface) {
            let (queue, other, isActive) = (surface.inactive(.serial), surface.serial("other"), Counter())
            other.async {
                settle()
                isActive.add()
                queue.activate()
            }
            #expect(queue.sync { isActive.count } == 1)
        }
    }
}
