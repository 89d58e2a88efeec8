import Foundation
import OverdriveCore
import Testing

extension Conformance {
    @Suite("A barrier")
    struct Barriers {
        @Test("waits for everything earlier and holds back everything later", arguments: Surface.all)
        func between(on surface: Surface) {
            let (queue, log, before, inside, group) = (
                surface.concurrent(), Log<String>(), Gate(), Gate(), surface.group()
            )
            for _ in 0..<2 {
                queue.async(group: group) {
                    before.pass()
                    log.note("before")
                }
            }
            queue.asyncBarrier(group: group) {
                inside.pass()
                log.note("barrier")
            }
            for _ in 0..<3 { queue.async(group: group) { log.note("after") } }
            settle()
            #expect(log.all == [])
            before.open()
            #expect(eventually { log.all.count == 2 })
            settle()
            #expect(log.all == ["before", "before"])
            inside.open()
            group.wait()
            #expect(log.all == ["before", "before", "barrier", "after", "after", "after"])
        }

        @Test("runs alone", arguments: Surface.all)
        func exclusive(on surface: Surface) {
            let (queue, group, readers, writers) = (surface.concurrent(), surface.group(), Crowd(), Crowd())
            let overlaps = Counter()
            for number in 0..<400 {
                if number.isMultiple(of: 20) {
                    queue.asyncBarrier(group: group) {
                        writers.visit {
                            overlaps.add(readers.now)
                            sched_yield()
                            overlaps.add(readers.now)
                        }
                    }
                } else {
                    queue.async(group: group) {
                        readers.visit {
                            overlaps.add(writers.now)
                            sched_yield()
                            overlaps.add(writers.now)
                        }
                    }
                }
            }
            group.wait()
            #expect(overlaps.count == 0)
            #expect(writers.most == 1)
        }

        @Test("protects a variable of many readers", arguments: Surface.all)
        func readersAndWriters(on surface: Surface) {
            let (queue, pair, torn) = (surface.concurrent(), Holder((0, 0)), Counter())
            onThreads(4) { thread in
                for round in 0..<150 {
                    if (round + thread).isMultiple(of: 10) {
                        queue.asyncBarrier {
                            pair.value.0 += 1
                            pair.value.1 += 1
                        }
                    } else if queue.sync({ pair.value.0 != pair.value.1 }) {
                        torn.add()
                    }
                }
            }
            let written = queue.syncBarrier { pair.value }
            #expect(written == (60, 60))
            #expect(torn.count == 0)
        }

        @Test("leaves readers at the same time before and after it", arguments: Surface.all)
        func parallelReaders(on surface: Surface) {
            let (queue, group, met) = (surface.concurrent(), surface.group(), Counter())
            let (before, after) = (Meeting(of: 2), Meeting(of: 2))
            for _ in 0..<2 { queue.async(group: group) { if before.attend() { met.add() } } }
            queue.asyncBarrier(group: group) {}
            for _ in 0..<2 { queue.async(group: group) { if after.attend() { met.add() } } }
            group.wait()
            #expect(met.count == 4)
        }

        @Test("may be submitted by the queue's own closures", arguments: Surface.all)
        func fromInside(on surface: Surface) {
            let (queue, group, log) = (surface.concurrent(), surface.group(), Log<String>())
            queue.async(group: group) {
                queue.asyncBarrier(group: group) { log.note("write") }
                log.note("read")
            }
            group.wait()
            #expect(log.all == ["read", "write"])
        }

        @Test("on a serial queue changes nothing", arguments: Surface.all)
        func serial(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<Int>())
            for number in 0..<30 {
                if number.isMultiple(of: 3) {
                    queue.asyncBarrier { log.note(number) }
                } else {
                    queue.async { log.note(number) }
                }
            }
            queue.syncBarrier { log.note(30) }
            #expect(log.all == Array(0...30))
        }

        @Test("goes on to its end when the queue is suspended meanwhile", arguments: Surface.all)
        func suspendedMeanwhile(on surface: Surface) {
            let (queue, group, log, gate) = (surface.concurrent(), surface.group(), Log<String>(), Gate())
            queue.asyncBarrier {
                gate.pass()
                log.note("write")
            }
            queue.async(group: group) { log.note("read") }
            #expect(eventually { gate.arrivals == 1 })
            queue.suspend()
            gate.open()
            #expect(eventually { log.all == ["write"] })
            settle()
            #expect(!group.wait(milliseconds: 0))
            #expect(log.all == ["write"])
            queue.resume()
            group.wait()
            #expect(log.all == ["write", "read"])
        }

        @Test("does not hold back other queues", arguments: Surface.all)
        func others(on surface: Surface) {
            let (queue, other, gate, group) = (surface.concurrent(), surface.concurrent(), Gate(), surface.group())
            queue.asyncBarrier(group: group) { gate.pass() }
            let free = surface.group()
            for _ in 0..<10 { other.async(group: free) {} }
            free.wait()
            #expect(other.syncBarrier { true })
            gate.open()
            group.wait()
        }

        @Test("of sync runs on the caller, alone, and returns or throws", arguments: Surface.all)
        func sync(on surface: Surface) {
            let (queue, crowd) = (surface.concurrent(), Crowd())
            for _ in 0..<20 { queue.async { crowd.visit { usleep(50) } } }
            let (thread, others) = queue.syncBarrier { (threadIdentity(), crowd.now) }
            #expect(thread == threadIdentity())
            #expect(others == 0)
            #expect(throws: Flaw.self) { try queue.syncBarrier { throw Flaw() } }
            #expect(queue.sync { 1 } == 1)
        }

        @Test("of sync holds back plain syncs", arguments: Surface.all)
        func holdsBackSyncs(on surface: Surface) {
            let (queue, gate, log) = (surface.concurrent(), Gate(), Log<String>())
            onThread {
                queue.syncBarrier {
                    gate.pass()
                    log.note("write")
                }
            }
            #expect(eventually { gate.arrivals == 1 })
            onThread { queue.sync { log.note("read") } }
            settle()
            #expect(log.all == [])
            gate.open()
            #expect(eventually { log.all.count == 2 })
            #expect(log.all == ["write", "read"])
        }

        @Test("may be a work item", arguments: Surface.all)
        func item(on surface: Surface) {
            let (queue, log, gate, group) = (surface.concurrent(), Log<String>(), Gate(), surface.group())
            queue.async(group: group) {
                gate.pass()
                log.note("before")
            }
            queue.async(group: group, surface.barrierItem { log.note("barrier") })
            queue.async(group: group) { log.note("after") }
            settle()
            gate.open()
            group.wait()
            #expect(log.all == ["before", "barrier", "after"])
        }

        @Test("that is a work item performs like any other", arguments: Surface.all)
        func performedItem(on surface: Surface) {
            let (queue, gate, group, runs) = (surface.concurrent(), Gate(), surface.group(), Counter())
            queue.async(group: group) { gate.pass() }
            surface.barrierItem { runs.add() }.perform()
            #expect(runs.count == 1)
            gate.open()
            group.wait()
        }

        @Test("that is a cancelled work item lets the others through", arguments: Surface.all)
        func cancelledItem(on surface: Surface) {
            let (queue, group, runs) = (surface.concurrent(), surface.group(), Counter())
            let item = surface.barrierItem { runs.add(100) }
            queue.suspend()
            queue.async(group: group) { runs.add() }
            queue.async(group: group, item)
            queue.async(group: group) { runs.add() }
            item.cancel()
            queue.resume()
            group.wait()
            #expect(runs.count == 2)
        }
    }

    @Suite("A barrier of a queue with a limit")
    struct OperationBarriers {
        @Test("waits for everything earlier and holds back everything later", arguments: Surface.all, [2, -1])
        func between(on surface: Surface, limit: Int) {
            let (queue, log, gate) = (surface.operations(limit: limit), Log<String>(), Gate())
            queue.add {
                gate.pass()
                log.note("before")
            }
            queue.add { log.note("before") }
            queue.addBarrier { log.note("barrier") }
            queue.add { log.note("after") }
            settle()
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(log.all == ["before", "before", "barrier", "after"])
        }

        @Test("on an empty, suspended queue", arguments: Surface.all)
        func suspended(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            queue.isSuspended = true
            queue.addBarrier { runs.add() }
            if surface.expects(.barrierOnSuspended, theirs: true, ours: false) {
                #expect(eventually { runs.count == 1 })
            } else {
                settle()
                #expect(runs.count == 0)
            }
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(eventually { runs.count == 1 })
        }

        @Test("is counted as pending", arguments: Surface.all)
        func pending(on surface: Surface) {
            let (queue, gate, runs) = (surface.operations(), Gate(), Counter())
            queue.add { gate.pass() }
            queue.addBarrier { runs.add() }
            #expect(queue.pending == surface.expects(.barrierCounts, theirs: 1, ours: 2))
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(eventually { runs.count == 1 })
        }

        @Test("is taken back by cancelAll with what is behind it, and what is submitted afterwards runs", arguments: Surface.all)
        func afterCancel(on surface: Surface) {
            let (queue, log, gate) = (surface.operations(), Log<String>(), Gate())
            queue.add { gate.pass() }
            queue.addBarrier { log.note("barrier") }
            queue.add { log.note("behind it") }
            #expect(eventually { gate.arrivals == 1 })
            queue.cancelAll()
            queue.add { log.note("late") }
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(eventually { log.all == ["late"] })
        }
    }
}
