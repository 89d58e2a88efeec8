import Foundation
import Testing

extension Conformance {
    @Suite("A concurrent queue")
    struct ConcurrentQueues {
        @Test("runs each closure once", arguments: Surface.all)
        func exactlyOnce(on surface: Surface) {
            let (queue, group) = (surface.concurrent(), surface.group())
            let runs = (0..<5000).map { _ in Counter() }
            for run in runs { queue.async(group: group) { run.add() } }
            group.wait()
            #expect(runs.allSatisfy { $0.count == 1 })
        }

        @Test("runs closures at the same time", arguments: Surface.all, [2, 3])
        func atOnce(on surface: Surface, parties: Int) {
            let (queue, group, meeting, met) = (surface.concurrent(), surface.group(), Meeting(of: parties), Counter())
            for _ in 0..<parties {
                queue.async(group: group) { if meeting.attend() { met.add() } }
            }
            group.wait()
            #expect(met.count == parties)
        }

        @Test("goes on beside a closure that waits", arguments: Surface.all)
        func besideABlockedOne(on surface: Surface) {
            let (queue, gate, blocked, others) = (surface.concurrent(), Gate(), surface.group(), surface.group())
            let runs = Counter()
            queue.async(group: blocked) { gate.pass() }
            for _ in 0..<100 { queue.async(group: others) { runs.add() } }
            others.wait()
            #expect(runs.count == 100)
            gate.open()
            blocked.wait()
        }

        @Test("takes closures from inside closures", arguments: Surface.all)
        func tree(on surface: Surface) {
            let (queue, group, leaves) = (surface.concurrent(), surface.group(), Counter())
            @Sendable func grow(_ depth: Int) {
                queue.async(group: group) {
                    guard depth > 0 else {
                        leaves.add()
                        return
                    }
                    grow(depth - 1)
                    grow(depth - 1)
                }
            }
            grow(9)
            group.wait()
            #expect(leaves.count == 512)
        }

        @Test("that everybody shares runs closures in every band", arguments: Surface.all, QoS.allCases)
        func globals(on surface: Surface, qos: QoS) {
            let (queue, group, runs) = (surface.global(qos), surface.group(), Counter())
            for _ in 0..<50 { queue.async(group: group) { runs.add() } }
            group.wait()
            #expect(runs.count == 50)
        }

        @Test("that everybody shares runs closures at the same time", arguments: Surface.all)
        func globalAtOnce(on surface: Surface) {
            let (queue, group, meeting, met) = (surface.global(), surface.group(), Meeting(of: 2), Counter())
            for _ in 0..<2 { queue.async(group: group) { if meeting.attend() { met.add() } } }
            group.wait()
            #expect(met.count == 2)
        }

        @Test("that everybody shares has its own name", arguments: Surface.all)
        func globalLabel(on surface: Surface) {
            #expect(
                surface.global().label
                    == surface.expects(
                        .labels, theirs: "com.apple.root.default-qos", ours: "global-default"))
        }
    }
}
