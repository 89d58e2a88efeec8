import Foundation
import Testing

extension Conformance {
    /// What people use an OperationQueue for: closures with a limit.
    @Suite("A queue with a limit")
    struct LimitedQueues {
        @Test("of one runs closures in order", arguments: Surface.all)
        func order(on surface: Surface) {
            let (queue, log) = (surface.operations(limit: 1), Log<Int>())
            for number in 0..<100 { queue.add { log.note(number) } }
            queue.waitUntilAllAreFinished()
            #expect(log.all == Array(0..<100))
        }

        @Test("never runs more at once", arguments: Surface.all, [1, 2, 3, 4])
        func limit(on surface: Surface, limit: Int) {
            let (queue, crowd, runs) = (surface.operations(limit: limit), Crowd(), Counter())
            for _ in 0..<100 {
                queue.add {
                    crowd.visit { usleep(50) }
                    runs.add()
                }
            }
            queue.waitUntilAllAreFinished()
            #expect(runs.count == 100)
            #expect(crowd.most <= limit)
        }

        @Test("does run as many at once", arguments: Surface.all, [1, 2, 3, 4])
        func fullWidth(on surface: Surface, limit: Int) {
            let (queue, gate) = (surface.operations(limit: limit), Gate())
            for _ in 0..<limit + 3 { queue.add { gate.pass() } }
            #expect(eventually { gate.arrivals >= limit })
            settle()
            #expect(gate.arrivals == limit)
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(gate.arrivals == limit + 3)
        }

        @Test("has none unless told", arguments: Surface.all)
        func unlimited(on surface: Surface) {
            let queue = surface.operations()
            #expect(queue.limit == -1)
            let (meeting, met) = (Meeting(of: 4), Counter())
            for _ in 0..<4 { queue.add { if meeting.attend() { met.add() } } }
            queue.waitUntilAllAreFinished()
            #expect(met.count == 4)
        }

        @Test("says what the limit is", arguments: Surface.all)
        func readsBack(on surface: Surface) {
            let queue = surface.operations(limit: 3)
            #expect(queue.limit == 3)
            queue.limit = 7
            #expect(queue.limit == 7)
            queue.limit = -1
            #expect(queue.limit == -1)
        }

        @Test("runs more at once as soon as the limit is raised", arguments: Surface.all, [false, true])
        func raised(on surface: Surface, forWaiting: Bool) {
            let (queue, meeting, met, begun) = (surface.operations(limit: 1), Meeting(of: 3), Counter(), Counter())
            queue.isSuspended = forWaiting
            for _ in 0..<3 {
                queue.add {
                    begun.add()
                    if meeting.attend() { met.add() }
                }
                if !forWaiting { #expect(eventually { begun.count == 1 }) }
            }
            queue.isSuspended = false
            settle()
            #expect(begun.count == 1)
            queue.limit = 3
            queue.waitUntilAllAreFinished()
            #expect(met.count == 3)
        }

        @Test("runs fewer at once after the limit was lowered", arguments: Surface.all)
        func lowered(on surface: Surface) {
            let (queue, first, then) = (surface.operations(limit: 3), Gate(), Gate())
            for _ in 0..<3 { queue.add { first.pass() } }
            #expect(eventually { first.arrivals == 3 })
            queue.limit = 1
            for _ in 0..<30 { queue.add { then.pass() } }
            first.open()
            #expect(eventually { then.arrivals >= 1 })
            settle()
            #expect(then.arrivals == 1)
            then.open()
            queue.waitUntilAllAreFinished()
            #expect(then.arrivals == 30)
        }

        @Test("takes closures from its closures", arguments: Surface.all, [1, 2])
        func fromInside(on surface: Surface, limit: Int) {
            let (queue, runs) = (surface.operations(limit: limit), Counter())
            @Sendable func next() {
                queue.add { if runs.add() < 50 { next() } }
            }
            next()
            queue.waitUntilAllAreFinished()
            #expect(runs.count == 50)
        }

        @Test("counts what is pending", arguments: Surface.all)
        func pending(on surface: Surface) {
            let (queue, gate) = (surface.operations(limit: 1), Gate())
            #expect(queue.pending == 0)
            queue.add { gate.pass() }
            for _ in 0..<9 { queue.add {} }
            #expect(eventually { gate.arrivals == 1 })
            #expect(queue.pending == 10)
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(eventually { queue.pending == 0 })
        }

        @Test("is waited for, also when it is empty, and by many", arguments: Surface.all)
        func waiting(on surface: Surface) {
            let (queue, runs) = (surface.operations(limit: 2), Counter())
            queue.waitUntilAllAreFinished()
            for _ in 0..<100 { queue.add { runs.add() } }
            onThreads(3) { _ in
                queue.waitUntilAllAreFinished()
                #expect(runs.count == 100)
            }
        }

        @Test("runs what it holds although its owner let go of it", arguments: Surface.all)
        func released(on surface: Surface) {
            let (runs, gate) = (Counter(), Gate())
            do {
                let queue = surface.operations(limit: 1)
                queue.add { gate.pass() }
                queue.add { runs.add() }
                queue.add { runs.add() }
            }
            gate.open()
            #expect(eventually { runs.count == 2 })
        }

        @Test("releases what its closures captured", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, census) = (surface.operations(limit: 2), Census())
            for _ in 0..<30 {
                let mortal = census.newborn()
                queue.add { mortal.touch() }
            }
            queue.waitUntilAllAreFinished()
            #expect(eventually { census.died == 30 })
        }
    }

    @Suite("isSuspended")
    struct SuspensionFlag {
        @Test("holds closures back", arguments: Surface.all, [1, 2, -1])
        func holds(on surface: Surface, limit: Int) {
            let (queue, runs) = (surface.operations(limit: limit), Counter())
            queue.isSuspended = true
            for _ in 0..<10 { queue.add { runs.add() } }
            settle()
            #expect(runs.count == 0)
            #expect(queue.pending == 10)
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(runs.count == 10)
        }

        @Test("is a flag: set twice, it is taken back once", arguments: Surface.all)
        func flag(on surface: Surface) {
            let (queue, runs) = (surface.operations(), Counter())
            #expect(!queue.isSuspended)
            queue.isSuspended = true
            queue.isSuspended = true
            #expect(queue.isSuspended)
            queue.add { runs.add() }
            queue.isSuspended = false
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(runs.count == 1)
            #expect(!queue.isSuspended)
        }

        @Test("lets what runs go on to its end", arguments: Surface.all)
        func inFlight(on surface: Surface) {
            let (queue, log, gate) = (surface.operations(limit: 1), Log<Int>(), Gate())
            queue.add {
                gate.pass()
                log.note(1)
            }
            queue.add { log.note(2) }
            #expect(eventually { gate.arrivals == 1 })
            queue.isSuspended = true
            gate.open()
            #expect(eventually { log.all == [1] })
            settle()
            #expect(log.all == [1])
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(log.all == [1, 2])
        }
    }

    @Suite("cancelAll")
    struct CancelAll {
        @Test("keeps what waits from ever running; what runs goes on", arguments: Surface.all)
        func waiting(on surface: Surface) {
            let (queue, log, gate) = (surface.operations(limit: 1), Log<Int>(), Gate())
            queue.add {
                gate.pass()
                log.note(0)
            }
            for number in 1...9 { queue.add { log.note(number) } }
            #expect(eventually { gate.arrivals == 1 })
            queue.cancelAll()
            gate.open()
            queue.waitUntilAllAreFinished()
            #expect(log.all == [0])
        }

        @Test("empties a suspended queue at once, or when it is resumed", arguments: Surface.all)
        func pending(on surface: Surface) {
            let queue = surface.operations(limit: 1)
            queue.isSuspended = true
            for _ in 0..<10 { queue.add {} }
            queue.cancelAll()
            #expect(queue.pending == surface.expects(.cancelledWhileSuspended, theirs: 10, ours: 0))
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(eventually { queue.pending == 0 })
        }

        @Test("does not touch what is submitted afterwards", arguments: Surface.all)
        func later(on surface: Surface) {
            let (queue, log) = (surface.operations(limit: 1), Log<String>())
            queue.isSuspended = true
            queue.add { log.note("early") }
            queue.cancelAll()
            queue.add { log.note("late") }
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(log.all == ["late"])
        }

        @Test("may be called by the queue's own closures", arguments: Surface.all)
        func fromInside(on surface: Surface) {
            let (queue, log, added) = (surface.operations(limit: 1), Log<Int>(), Gate())
            queue.add {
                added.pass()
                queue.cancelAll()
                log.note(0)
            }
            for number in 1...9 { queue.add { log.note(number) } }
            added.open()
            queue.waitUntilAllAreFinished()
            #expect(log.all == [0])
        }

        @Test("releases what the closures captured", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, census) = (surface.operations(limit: 1), Census())
            queue.isSuspended = true
            for _ in 0..<10 {
                let mortal = census.newborn()
                queue.add { mortal.touch() }
            }
            queue.cancelAll()
            queue.isSuspended = false
            queue.waitUntilAllAreFinished()
            #expect(eventually { census.died == 10 })
        }
    }
}
