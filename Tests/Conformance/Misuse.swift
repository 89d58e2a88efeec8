import Foundation
import OverdriveCore
import Testing

extension Conformance {
    /// Broken promises. libdispatch traps, mostly, and says nothing; ours says which call broke which promise.
    @Suite("Misuse")
    struct Misuse {
        @Test("ends the process", arguments: Surface.all, scenes.map(\.name))
        func ends(on surface: Surface, name: String) async throws {
            let scene = try #require(Self.scenes.first { $0.name == name })
            let result = await #expect(processExitsWith: scene.end(on: surface), observing: [\.standardErrorContent]) { [surface, name] in
                for scene in Self.scenes where scene.name == name { await scene.body(surface) }
            }
            scene.check(result, on: surface)
        }

        private static let ofItself = "a closure of the queue would wait for itself"
        private static let scenes = [
            Scene("leave without enter", says: "WaitGroup.leave(): called more often than enter(). Call it once for each enter().") { $0.group().leave() },
            Scene(
                "sync onto the serial queue that one is on", says: "TaskQueue.sync: \(ofItself) (\"journal\"). Call the function directly."
            ) { surface in
                let queue = surface.serial("journal")
                queue.sync { queue.sync {} }
            },
            Scene(
                "sync onto a serial queue by way of another one that it already waits for",
                says: "TaskQueue.sync: \(ofItself) (\"journal\"). Call the function directly."
            ) { surface in
                let (queue, other) = (surface.serial("journal"), surface.serial("other"))
                queue.sync { other.sync { queue.sync {} } }
            },
            Scene(
                "sync onto a queue from a closure of its serial target",
                says: "TaskQueue.sync: a closure of the target would wait for itself (\"high\" on \"low\"). Call the function "
                    + "directly."
            ) { surface in
                let target = surface.serial("low")
                let queue = surface.queue(.serial, "high", on: target)
                target.sync { queue.sync {} }
            },
            Scene(
                "sync onto main on the main thread",
                says: "TaskQueue.main.sync: the main thread would wait for itself. Call the function directly."
            ) { surface in await MainActor.run { surface.main.sync {} } },
            Scene(
                "resume of an inactive queue", says: "TaskQueue.resume(): called more often than suspend() (\"pages\"). Call it once for each suspend()."
            ) { $0.inactive(.serial, "pages").resume() },
            Scene(
                "a limit below nothing", says: "TaskQueue.maxConcurrentTaskCount: out of range (-2). Choose 1 or more, or TaskQueue.unlimited.",
                theirs: .message
            ) { $0.operations().limit = -2 },
            Scene(
                "work that is added twice",
                says: "TaskQueue.add(task:): the task was added or started before (\"photo\"). Make a new task.", theirs: .message
            ) { surface in
                let (queue, unit) = (surface.operations(), surface.unit("photo") {})
                queue.add(unit)
                unit.waitUntilFinished()
                queue.add(unit)
            },
            Scene(
                "asserting a barrier in another closure",
                says: "TaskQueue.assertOnQueueAsBarrier(): the closure is not a barrier (\"cache\"). Submit it with .barrier."
            ) { surface in
                let queue = surface.concurrent("cache")
                queue.sync { queue.assertOnQueueAsBarrier() }
            },
            Scene(
                "asserting a queue elsewhere",
                says: "TaskQueue.assertOnQueue(): not on the queue (\"journal\"), but on a thread that runs no queue's closure. Submit to it."
            ) { $0.serial("journal").assertOnQueue() },
            Scene(
                "asserting a queue on another one",
                says: "TaskQueue.assertOnQueue(): not on the queue (\"journal\"), but in a closure of \"pages\". Submit to it."
            ) { surface in
                let (queue, other) = (surface.serial("journal"), surface.serial("pages"))
                other.sync { queue.assertOnQueue() }
            },
            Scene(
                "asserting not to be on a queue there",
                says: "TaskQueue.assertNotOnQueue(): called from a closure of the queue (\"journal\"). Call it elsewhere."
            ) { surface in
                let queue = surface.serial("journal")
                queue.sync { queue.assertNotOnQueue() }
            },
            Scene(
                "suspending a queue that everybody shares",
                says: "TaskQueue.suspend(): the queue is shared (\"global-utility\"). Make another TaskQueue.",
                theirs: .survives, differs: .sharedQueues
            ) { surface in
                let (queue, group) = (surface.global(.utility), surface.group())
                queue.suspend()
                queue.async(group: group) {}
                group.wait()
            },
            Scene("letting go of a suspended queue", says: nil, differs: .releasedSuspended) { surface in
                let (group, runs) = (surface.group(), Counter())
                do {
                    let queue = surface.serial()
                    queue.suspend()
                    for _ in 0..<3 { queue.async(group: group) { runs.add() } }
                }
                guard group.wait(milliseconds: Int(patience * 1000)), runs.count == 3 else { exit(1) }
            },
            Scene("letting go of an inactive queue", says: nil, differs: .releasedInactive) { surface in
                let (group, runs) = (surface.group(), Counter())
                do {
                    let queue = surface.inactive(.serial)
                    for _ in 0..<3 { queue.async(group: group) { runs.add() } }
                }
                guard group.wait(milliseconds: Int(patience * 1000)), runs.count == 3 else { exit(1) }
            },
            Scene(
                "a limit of nothing", says: "TaskQueue.maxConcurrentTaskCount: out of range (0). Choose 1 or more, or TaskQueue.unlimited.",
                theirs: .hangs, differs: .limitOfZero
            ) { surface in
                let queue = surface.operations(limit: 0)
                queue.add {}
                orHangs(on: surface, isExpected: surface != .overdrive) { queue.waitUntilAllAreFinished() }
            },
            Scene(
                "waiting for a queue of limit one from its own closure",
                says: "TaskQueue.waitUntilAllTasksAreFinished(): \(ofItself) (\"\"). Wait elsewhere.",
                theirs: .hangs, differs: .waitingForOneself
            ) { surface in
                let (queue, done) = (surface.operations(limit: 1), Gate())
                queue.add {
                    queue.waitUntilAllAreFinished()
                    done.open()
                }
                orHangs(on: surface) { done.pass() }
            },
            Scene(
                "a barrier of sync from one of the queue's own closures",
                says: "TaskQueue.sync(flags: .barrier): \(ofItself) (\"pages\"). Call the function directly.", theirs: .hangs, differs: .waitingForOneself
            ) { surface in
                let (queue, done) = (surface.concurrent("pages"), Gate())
                queue.async {
                    queue.syncBarrier {}
                    done.open()
                }
                orHangs(on: surface) { done.pass() }
            },
            Scene(
                "a work item that is waited for by its own body",
                says: "WorkItem.wait(): the item's body would wait for itself. Wait elsewhere.", theirs: .hangs,
                differs: .waitingForOneself
            ) { surface in
                let own = Holder<Item?>(nil)
                let item = surface.item { own.value?.wait() }
                own.value = item
                orHangs(on: surface) { item.perform() }
            },
            Scene("a work item that is waited for twice", says: nil, differs: .itemReuse) { surface in
                let item = surface.item {}
                surface.serial().async(item)
                item.wait()
                item.wait()
            },
            Scene("a work item that is asked for a notification after two runs", says: nil, differs: .itemReuse) { surface in
                let (item, done) = (surface.item {}, Gate())
                item.perform()
                item.perform()
                item.notify(on: surface.serial()) { done.open() }
                guard done.pass(within: patience) else { exit(1) }
            },
            Scene(
                "a semaphore that goes away with fewer permits than it began with",
                says: "CountingSemaphore.deinit: permits are missing (1 of 2 are there). Call signal() as often as wait()."
            ) { $0.semaphore(2).wait() },
            Scene(
                "a semaphore with a negative number of permits", says: "CountingSemaphore(value:): negative number of permits (-1). Choose 0 or more.",
                theirs: .anyDeath
            ) { $0.semaphore(-1).signal() },
            Scene(
                "work that depends on itself",
                says: "Task.add(dependency:): the task would wait for itself (\"photo\"). Choose another dependency.", theirs: .hangs,
                differs: .dependencyCircles
            ) { surface in
                let unit = surface.unit("photo") {}
                orHangs(on: surface) { unit.add(dependency: unit) }
            },
            // The drop-in types keep Foundation's rings, which a cancel opens.
            Scene(
                "work that depends on itself in a circle",
                says: "Task.add(dependency:): a circle (\"b\" waits for \"a\", \"a\" for \"b\"). Remove one of these dependencies.",
                theirs: .hangs, differs: .dependencyCircles, isKeptByDropIn: true
            ) { surface in
                let (queue, a, b) = (surface.operations(), surface.unit("a") {}, surface.unit("b") {})
                a.add(dependency: b)
                b.add(dependency: a)
                queue.add(a)
                queue.add(b)
                orHangs(on: surface, isExpected: surface != .overdrive) { a.waitUntilFinished() }
            },
        ]
            + QueueKind.allCases.map { kind in
                Scene(
                    "resume more often than suspend of a \(kind) queue",
                    says: "TaskQueue.resume(): called more often than suspend() (\"pages\"). Call it once for each suspend()."
                ) { surface in
                    let queue = surface.queue(kind, "pages")
                    queue.suspend()
                    queue.resume()
                    queue.resume()
                }
            }

        @Test("waiting on a worker for a group that one is counted on", arguments: Surface.all)
        func waitForOwnGroup(on surface: Surface) {
            // A hang on both, but for a timeout.
            let (queue, group, outcome) = (surface.concurrent(), surface.group(), Log<Bool>())
            queue.async(group: group) { outcome.note(group.wait(milliseconds: 5)) }
            group.wait()
            #expect(outcome.all == [false])
        }
    }
}
