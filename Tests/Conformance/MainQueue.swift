import Foundation
import OverdriveCore
import Testing

extension Conformance {
    @Suite("The main queue")
    struct MainQueue {
        @Test("runs closures on the main actor, in order", arguments: Surface.all)
        func order(on surface: Surface) {
            let (group, log) = (surface.group(), Log<Int>())
            for number in 0..<50 {
                surface.main.async(group: group) {
                    MainActor.assertIsolated()
                    log.note(number)
                }
            }
            group.wait()
            #expect(log.all == Array(0..<50))
        }

        @Test("runs sync closures there, and their results come back", arguments: Surface.all)
        func sync(on surface: Surface) {
            #expect(surface.main.sync { isOnMain() })
            #expect(!isOnMain())
        }

        @Test("throws here what a sync closure throws there", arguments: Surface.all)
        func syncFailure(on surface: Surface) {
            #expect(throws: Flaw.self) { try surface.main.sync { throw Flaw() } }
        }

        @Test("runs sync closures of workers", arguments: Surface.all)
        func syncFromWorkers(on surface: Surface) {
            let (queue, group, count) = (surface.concurrent(), surface.group(), Counter())
            for _ in 0..<20 {
                queue.async(group: group) { if surface.main.sync(isOnMain) { count.add() } }
            }
            group.wait()
            #expect(count.count == 20)
        }

        @Test("does not run its own closures' closures inside async", arguments: Surface.all)
        func neverInline(on surface: Surface) {
            let (group, log) = (surface.group(), Log<String>())
            surface.main.async(group: group) {
                surface.main.async(group: group) { log.note("later") }
                log.note("now")
            }
            group.wait()
            #expect(log.all == ["now", "later"])
        }

        @Test("shares its order with the process's main queue", arguments: Surface.all)
        func shared(on surface: Surface) {
            let log = Log<Int>()
            for number in 0..<5 {
                surface.main.async { log.note(3 * number) }
                DispatchQueue.main.async { log.note(3 * number + 1) }
                TaskQueue.main.async { log.note(3 * number + 2) }
            }
            surface.main.sync {}
            #expect(log.all == Array(0..<15))
        }

        @Test("has its own name", arguments: Surface.all)
        func label(on surface: Surface) {
            #expect(
                surface.main.label
                    == surface.expects(.labels, theirs: "com.apple.main-thread", ours: "main"))
        }
    }
}
