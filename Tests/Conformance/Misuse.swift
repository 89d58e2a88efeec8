import Foundation
import OverdriveCore
import Testing

extension Conformance {
    /// Broken promises. libdispatch traps, mostly, and says nothing; ours says which call broke which promise.
    @Suite("Misuse")
    struct Misuse {
        private struct Scene: Sendable {
            let name, sentence: String
            let answer: Answer
            let body: @Sendable (Surface) async -> Void

            init(
                _ name: String, says sentence: String, theirs answer: Answer = .trap,
                _ body: @escaping @Sendable (Surface) async -> Void
            ) {
                (self.name, self.sentence, self.answer, self.body) = (name, sentence, answer, body)
            }
        }

        @Test("ends the process", arguments: Surface.all, scenes.map(\.name))
        func ends(on surface: Surface, name: String) async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [surface, name] in
                for scene in Self.scenes where scene.name == name { await scene.body(surface) }
            }
            let scene = try #require(Self.scenes.first { $0.name == name })
            expectDeath(result, on: surface, theirs: scene.answer, saying: scene.sentence)
        }

        private static let ofItself = "from one of its own closures would wait for itself: call the function directly instead"
        private static let scenes = [
            Scene("leave without enter", says: "WaitGroup.leave() was called more often than enter()") { $0.group().leave() },
            Scene(
                "sync onto the serial queue that one is on", says: "TaskQueue.sync on the serial queue \"journal\" \(ofItself)"
            ) { surface in
                let queue = surface.serial("journal")
                queue.sync { queue.sync {} }
            },
            Scene(
                "sync onto a serial queue by way of another one that it already waits for",
                says: "TaskQueue.sync on the serial queue \"journal\" \(ofItself)"
            ) { surface in
                let (queue, other) = (surface.serial("journal"), surface.serial("other"))
                queue.sync { other.sync { queue.sync {} } }
            },
            Scene(
                "sync onto a queue from a closure of its serial target",
                says: "TaskQueue.sync on \"high\" from a closure of \"low\", the queue that it is on, would wait for itself: call "
                    + "the function directly instead"
            ) { surface in
                let target = surface.serial("low")
                let queue = surface.queue(.serial, "high", on: target)
                target.sync { queue.sync {} }
            },
            Scene(
                "sync onto main on the main thread",
                says: "TaskQueue.main.sync on the main thread would wait for itself: call the function directly instead"
            ) { surface in await MainActor.run { surface.main.sync {} } },
            Scene(
                "resume of an inactive queue", says: "TaskQueue.resume() of \"pages\" was called more often than suspend()"
            ) { $0.inactive(.serial, "pages").resume() },
            Scene(
                "a limit below nothing", says: "maxConcurrentTaskCount is -2: choose 1 or more, or TaskQueue.unlimited",
                theirs: .message
            ) { $0.operations().limit = -2 },
            Scene(
                "work that is added twice",
                says: "TaskQueue.add(task:) of \"photo\", which was added or started before: make a new task", theirs: .message
            ) { surface in
                let (queue, unit) = (surface.operations(), surface.unit("photo") {})
                queue.add(unit)
                unit.waitUntilFinished()
                queue.add(unit)
            },
            Scene(
                "asserting a barrier in another closure",
                says: "TaskQueue.assertOnQueueAsBarrier() of \"cache\" was called from a closure that is no barrier"
            ) { surface in
                let queue = surface.concurrent("cache")
                queue.sync { queue.assertOnQueueAsBarrier() }
            },
            Scene(
                "asserting a queue elsewhere",
                says: "TaskQueue.assertOnQueue() of \"journal\" was called on a thread that runs no queue's closure"
            ) { $0.serial("journal").assertOnQueue() },
            Scene(
                "asserting a queue on another one",
                says: "TaskQueue.assertOnQueue() of \"journal\" was called from a closure of \"pages\""
            ) { surface in
                let (queue, other) = (surface.serial("journal"), surface.serial("pages"))
                other.sync { queue.assertOnQueue() }
            },
            Scene(
                "asserting not to be on a queue there",
                says: "TaskQueue.assertNotOnQueue() of \"journal\" was called from one of its own closures"
            ) { surface in
                let queue = surface.serial("journal")
                queue.sync { queue.assertNotOnQueue() }
            },
        ]
            + QueueKind.allCases.map { kind in
                Scene(
                    "resume more often than suspend of a \(kind) queue",
                    says: "TaskQueue.resume() of \"pages\" was called more often than suspend()"
                ) { surface in
                    let queue = surface.queue(kind, "pages")
                    queue.suspend()
                    queue.resume()
                    queue.resume()
                }
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
