import Foundation
import OverdriveCore
import Synchronization
import Testing

extension Conformance {
    @Suite("Quality of service")
    struct QualityOfService {
        /// Of theirs, a shared one; of ours, one on that scheduler.
        private static func queue(on surface: Surface, _ scheduler: Scheduler, _ qos: QoS) -> Queue {
            let ours = TaskQueue(qos: qos.ours, scheduler: scheduler)
            return surface.pick(DispatchQueue.global(qos: qos.theirs.qosClass), DropIn.DispatchQueue(taskQueue: ours), ours)
        }

        @Test("is what a queue was made with", arguments: Surface.all, QoS.allCases)
        func ofQueue(on surface: Surface, qos: QoS) {
            let theirs = qos == .userInteractive ? QoS.userInitiated : qos
            let expected = surface.expects(.fiveBands, theirs: theirs, ours: qos)
            #expect(surface.concurrent(qos: qos).qos == expected)
            #expect(surface.serial(qos: qos).qos == expected)
            // The drop-in types know five bands and keep that a default queue was told none.
            let theirGlobal = qos == .default ? nil : surface == .dropIn ? qos : theirs
            #expect(surface.global(qos).qos == surface.expects(.plainQoS, theirs: theirGlobal, ours: qos))
        }

        @Test("of a queue that was told none", arguments: Surface.all)
        func plain(on surface: Surface) {
            #expect(surface.serial().qos == surface.expects(.plainQoS, theirs: nil, ours: .default))
            #expect(surface.concurrent().qos == surface.expects(.plainQoS, theirs: nil, ours: .default))
        }

        @Test("of the main queue", arguments: Surface.all)
        func main(on surface: Surface) {
            #expect(surface.main.qos == surface.expects(.plainQoS, theirs: nil, ours: .userInteractive))
        }

        @Test("may be given for one closure", arguments: Surface.all, QoS.allCases)
        func ofClosure(on surface: Surface, qos: QoS) {
            let (queue, runs) = (surface.concurrent(), Counter())
            for _ in 0..<20 { queue.async(qos: qos) { runs.add() } }
            #expect(eventually { runs.count == 20 })
        }

        @Test("changes nothing about a serial queue's order", arguments: Surface.all)
        func serialOrder(on surface: Surface) {
            let (queue, log) = (surface.serial(qos: .utility), Log<Int>())
            for number in 0..<100 {
                queue.async(qos: QoS.allCases[number % 5]) { log.note(number) }
            }
            queue.sync {}
            #expect(log.all == Array(0..<100))
        }

        @Test("decides who goes first, where there is more to do than workers", arguments: Surface.all)
        func priority(on surface: Surface) throws {
            // One worker: of several one may hold an interactive closure while another begins the next band.
            let scheduler = try Scheduler(workers: 1, spareWorkers: 0)
            func queue(_ qos: QoS) -> Queue { Self.queue(on: surface, scheduler, qos) }
            let (group, gate, log) = (surface.group(), Gate(), Log<QoS>())
            queue(.userInteractive).async(group: group) { gate.pass() }
            #expect(eventually { gate.arrivals == 1 })
            for _ in 0..<20 { queue(.background).async(group: group) { log.note(.background) } }
            for _ in 0..<20 { queue(.userInteractive).async(group: group) { log.note(.userInteractive) } }
            gate.open()
            group.wait()
            let inOrder = log.all.prefix(20).allSatisfy { $0 == .userInteractive }
            #expect(log.all.count == 40)
            #expect(surface.expects(.bandsInOrder, theirs: true, ours: inOrder))
        }

        @Test("of a waiter is no reason to wait for ever", arguments: Surface.all)
        func waiter(on surface: Surface) {
            let (group, inner, runs) = (surface.group(), surface.group(), Counter())
            surface.global(.userInteractive).async(group: group) {
                for _ in 0..<200 { surface.global().async { runs.add() } }
                surface.global(.background).async(group: inner) { runs.add() }
                let serial = surface.serial(qos: .background)
                serial.async { runs.add() }
                _ = serial.sync { runs.add() }
                inner.wait()
            }
            group.wait()
            #expect(eventually { runs.count == 203 })
        }

        @Test("of a waiter overrides that of what it waits for", arguments: Surface.all)
        func overridden(on surface: Surface) throws {
            // Who waits hands its place to the spare, which has the choice of all.
            let scheduler = try Scheduler(workers: 1, spareWorkers: 1)
            @Sendable func queue(_ qos: QoS) -> Queue { Self.queue(on: surface, scheduler, qos) }
            let (outer, inner, before, seen) = (surface.group(), surface.group(), Counter(), Log<Int>())
            queue(.userInteractive).async(group: outer) {
                for _ in 0..<100 { queue(.default).async(group: outer) { before.add() } }
                queue(.background).async(group: inner) { seen.note(before.count) }
                inner.wait()
            }
            outer.wait()
            #expect(seen.all.count == 1 && before.count == 100)
            let wentFirst = seen.all == [0]
            #expect(surface.expects(.qosOverride, theirs: true, ours: wentFirst))
        }

        @Test("is readable inside a closure", arguments: Surface.all, QoS.allCases)
        func current(on surface: Surface, qos: QoS) {
            let (group, seen) = (surface.group(), Log<QoS?>())
            surface.global(qos).async(group: group) {
                seen.note(surface.currentQoS)
            }
            group.wait()
            #expect(seen.all == [surface.expects(.qosInside, theirs: nil, ours: qos)])
        }
    }
}
