import Foundation
import Testing

extension Conformance {
    @Suite("A queue's specific values")
    struct Specifics {
        @Test("are seen by its closures, and by nobody else", arguments: Surface.all, QueueKind.allCases)
        func scope(on surface: Surface, kind: QueueKind) {
            let (queue, other, key, seen) = (surface.queue(kind), surface.queue(kind), surface.specificKey(), Log<String?>())
            let group = surface.group()
            queue.setSpecific(key, "here")
            queue.async(group: group) { seen.note(key.current) }
            group.wait()
            other.async(group: group) { seen.note(key.current) }
            group.wait()
            #expect(seen.all == ["here", nil])
            #expect(key.current == nil)
        }

        @Test("are seen in sync", arguments: Surface.all)
        func sync(on surface: Surface) {
            let (queue, key) = (surface.serial(), surface.specificKey())
            queue.setSpecific(key, "here")
            #expect(queue.sync { key.current } == "here")
            #expect(key.current == nil)
        }

        @Test("are asked of a queue from anywhere", arguments: Surface.all)
        func direct(on surface: Surface) {
            let (queue, key) = (surface.serial(), surface.specificKey())
            #expect(queue.getSpecific(key) == nil)
            queue.setSpecific(key, "here")
            #expect(queue.getSpecific(key) == "here")
        }

        @Test("are replaced and removed", arguments: Surface.all)
        func replaced(on surface: Surface) {
            let (queue, key) = (surface.serial(), surface.specificKey())
            queue.setSpecific(key, "first")
            queue.setSpecific(key, "second")
            #expect(queue.sync { key.current } == "second")
            queue.setSpecific(key, nil)
            #expect(queue.sync { key.current } == nil)
            #expect(queue.getSpecific(key) == nil)
        }

        @Test("have as many names as there are keys", arguments: Surface.all)
        func severalKeys(on surface: Surface) {
            let (queue, a, b) = (surface.serial(), surface.specificKey(), surface.specificKey())
            queue.setSpecific(a, "a")
            #expect(queue.getSpecific(b) == nil)
            queue.setSpecific(b, "b")
            #expect(queue.sync { [a.current, b.current] } == ["a", "b"])
        }

        @Test("are the innermost queue's in nested syncs", arguments: Surface.all)
        func nested(on surface: Surface) {
            let (outer, inner, key) = (surface.serial("outer"), surface.serial("inner"), surface.specificKey())
            outer.setSpecific(key, "outer")
            inner.setSpecific(key, "inner")
            #expect(outer.sync { inner.sync { key.current } } == "inner")
            #expect(outer.sync { inner.sync {}; return key.current } == "outer")
        }

        @Test("of an outer queue, where the inner one has none", arguments: Surface.all)
        func outer(on surface: Surface) {
            let (outer, inner, key) = (surface.serial("outer"), surface.serial("inner"), surface.specificKey())
            outer.setSpecific(key, "outer")
            #expect(
                outer.sync { inner.sync { key.current } }
                    == surface.expects(.specificsAround, theirs: nil, ours: "outer"))
        }

        @Test("of the main queue are seen there", arguments: Surface.all)
        func main(on surface: Surface) {
            let key = surface.specificKey()
            surface.main.setSpecific(key, "main")
            #expect(surface.main.sync { key.current } == "main")
            surface.main.setSpecific(key, nil)
            #expect(surface.main.sync { key.current } == nil)
        }

        @Test("are read by many threads, and replaced meanwhile", arguments: Surface.all)
        func contended(on surface: Surface) {
            let (queue, key, strange) = (surface.concurrent(), surface.specificKey(), Counter())
            // libdispatch frees the old value while somebody may be reading it: there nobody replaces it.
            let replaces = surface.expects(.specificsReplaced, theirs: false, ours: true)
            queue.setSpecific(key, "0")
            onThreads(3) { thread in
                for round in 0..<200 {
                    if replaces { queue.setSpecific(key, "\(thread)\(round)") }
                    if queue.sync({ key.current }) == nil { strange.add() }
                }
            }
            #expect(strange.count == 0)
        }
    }

    @Suite("Asserting the queue")
    struct Assertions {
        @Test("passes where it holds", arguments: Surface.all, QueueKind.allCases)
        func holds(on surface: Surface, kind: QueueKind) {
            let (queue, other, group, passed) = (surface.queue(kind), surface.queue(kind), surface.group(), Counter())
            other.assertNotOnQueue()
            queue.sync {
                queue.assertOnQueue()
                other.assertNotOnQueue()
                passed.add()
            }
            queue.async(group: group) {
                queue.assertOnQueue()
                other.assertNotOnQueue()
                passed.add()
            }
            group.wait()
            #expect(passed.count == 2)
        }

        @Test("as a barrier passes in barriers, and everywhere on a serial queue", arguments: Surface.all)
        func barriers(on surface: Surface) {
            let (queue, serial, group, passed) = (surface.concurrent(), surface.serial(), surface.group(), Counter())
            queue.asyncBarrier(group: group) {
                queue.assertOnQueueAsBarrier()
                passed.add()
            }
            serial.async(group: group) {
                serial.assertOnQueueAsBarrier()
                passed.add()
            }
            group.wait()
            serial.sync { serial.assertOnQueueAsBarrier() }
            #expect(passed.count == 2)
        }

        @Test("passes on the main queue", arguments: Surface.all)
        func main(on surface: Surface) {
            surface.main.sync { surface.main.assertOnQueue() }
            surface.main.assertNotOnQueue()
            #expect(surface.main.sync { true })
        }
    }
}
