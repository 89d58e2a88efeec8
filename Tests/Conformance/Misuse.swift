import Foundation
import OverdriveCore
import Testing

extension Conformance {
    /// Broken promises. libdispatch traps, mostly, and says nothing; ours says which call broke which promise.
    @Suite("Misuse")
    struct Misuse {
        @Test("leave without enter", arguments: Surface.all)
        func leave(on surface: Surface) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface] in
                surface.group().leave()
            }
            expectDeath(result, on: surface, saying: "WaitGroup.leave() was called more often than enter()")
        }

        @Test("sync onto the serial queue that one is on", arguments: Surface.all)
        func selfSync(on surface: Surface) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface] in
                let queue = surface.serial("journal")
                queue.sync { queue.sync {} }
            }
            expectDeath(
                result, on: surface,
                saying: "TaskQueue.sync on the serial queue \"journal\" from one of its own closures would wait for "
                    + "itself: call the function directly instead")
        }

        @Test("sync onto main on the main thread", arguments: Surface.all)
        func mainSync(on surface: Surface) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface] in
                await MainActor.run { surface.main.sync {} }
            }
            expectDeath(
                result, on: surface,
                saying: "TaskQueue.main.sync on the main thread would wait for itself: call the function directly "
                    + "instead")
        }

        @Test("sync onto a serial queue by way of another one that it already waits for", arguments: Surface.all)
        func nestedSelfSync(on surface: Surface) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface] in
                let (queue, other) = (surface.serial("journal"), surface.serial("other"))
                queue.sync { other.sync { queue.sync {} } }
            }
            expectDeath(
                result, on: surface,
                saying: "TaskQueue.sync on the serial queue \"journal\" from one of its own closures would wait for "
                    + "itself: call the function directly instead")
        }

        @Test("resume more often than suspend", arguments: Surface.all, QueueKind.allCases)
        func overResume(on surface: Surface, kind: QueueKind) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                [surface, kind] in
                let queue = surface.queue(kind, "pages")
                queue.suspend()
                queue.resume()
                queue.resume()
            }
            expectDeath(
                result, on: surface, saying: "TaskQueue.resume() of \"pages\" was called more often than suspend()")
        }

        @Test("suspending a queue that everybody shares", arguments: Surface.all)
        func suspendGlobal(on surface: Surface) async {
            let result = await #expect(
                processExitsWith: surface.expects(.sharedQueues, theirs: .success, ours: .failure),
                observing: [\.standardErrorContent]
            ) { [surface] in
                let (queue, group) = (surface.global(.utility), surface.group())
                queue.suspend()
                queue.async(group: group) {}
                group.wait()
            }
            expectDeath(
                result, on: surface, theirs: .exit,
                saying: surface == .dropIn
                    ? nil : "TaskQueue.suspend() of \"global-utility\", which is everybody's: make a TaskQueue of your own")
        }

        @Test("letting go of a suspended queue", arguments: Surface.all)
        func releaseSuspended(on surface: Surface) async {
            let result = await #expect(
                processExitsWith: surface.expects(.releasedSuspended, theirs: .failure, ours: .success),
                observing: [\.standardErrorContent]
            ) { [surface] in
                let (group, runs) = (surface.group(), Counter())
                do {
                    let queue = surface.serial()
                    queue.suspend()
                    for _ in 0..<3 { queue.async(group: group) { runs.add() } }
                }
                guard group.wait(milliseconds: Int(patience * 1000)), runs.count == 3 else { exit(1) }
            }
            expectDeath(result, on: surface, saying: nil)
        }

        @Test("a limit of nothing", arguments: Surface.all)
        func noLimit(on surface: Surface) async {
            let result = await #expect(
                processExitsWith: surface.expects(.limitOfZero, theirs: .exitCode(hangs), ours: .failure),
                observing: [\.standardErrorContent]
            ) { [surface] in
                let queue = surface.operations(limit: 0)
                queue.add {}
                orHangs(on: surface, isExpected: surface != .overdrive) { queue.waitUntilAllAreFinished() }
            }
            expectDeath(
                result, on: surface, theirs: .exit,
                saying: surface == .dropIn ? nil : "maxConcurrentTaskCount is 0: choose 1 or more, or TaskQueue.unlimited")
        }

        @Test("a limit below nothing", arguments: Surface.all)
        func negativeLimit(on surface: Surface) async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface] in
                surface.operations().limit = -2
            }
            expectDeath(
                result, on: surface, theirs: .message,
                saying: "maxConcurrentTaskCount is -2: choose 1 or more, or TaskQueue.unlimited")
        }

        @Test("waiting for a queue of limit one from its own closure", arguments: Surface.all)
        func selfWait(on surface: Surface) async {
            let result = await #expect(
                processExitsWith: surface.expects(.waitingForOneself, theirs: .exitCode(hangs), ours: .failure),
                observing: [\.standardErrorContent]
            ) { [surface] in
                let (queue, done) = (surface.operations(limit: 1), Gate())
                queue.add {
                    queue.waitUntilAllAreFinished()
                    done.open()
                }
                orHangs(on: surface) { done.pass() }
            }
            expectDeath(
                result, on: surface, theirs: .exit,
                saying: "TaskQueue.waitUntilAllTasksAreFinished() of \"\" from one of its own closures would wait "
                    + "for itself")
        }

        @Test("waiting on a worker for a group that one is counted on", arguments: Surface.all)
        func waitForOwnGroup(on surface: Surface) {
            // A hang on both, but for a timeout.
            let (queue, group, done, outcome) = (surface.concurrent(), surface.group(), Gate(), Log<Bool>())
            queue.async(group: group) {
                outcome.note(group.wait(milliseconds: 5))
                done.open()
            }
            done.pass()
            #expect(outcome.all == [false])
            group.wait()
        }
    }
}
