import Foundation
import OverdriveCore
import Testing

extension Conformance {
    @Suite("A closure that is submitted later")
    struct Delays {
        @Test("never runs before its time", arguments: Surface.all, [0, 1, 20])
        func notBefore(on surface: Surface, delay: Int) {
            let (queue, spans, begin) = (surface.serial(), Log<Duration>(), ContinuousClock.now)
            queue.after(milliseconds: delay) { spans.note(ContinuousClock.now - begin) }
            #expect(eventually { spans.all.count == 1 })
            #expect(spans.all.allSatisfy { $0 >= .milliseconds(delay) })
        }

        @Test("runs at once when its time has passed", arguments: Surface.all)
        func past(on surface: Surface) {
            let done = Gate()
            surface.serial().after(milliseconds: -1000) { done.open() }
            #expect(done.pass(within: patience))
        }

        @Test("runs in the order of the times, whatever order they were given in", arguments: Surface.all)
        func order(on surface: Surface) {
            // Each delay counts from its own call: again, with longer ones, where the calls took longer than they may.
            let inOrder = (0..<8).contains { round in
                let (queue, log) = (surface.serial(), Log<Int>())
                for tens in [4, 1, 3, 2] {
                    queue.after(milliseconds: tens * 10 << round) { log.note(tens) }
                }
                #expect(eventually { log.all.count == 4 })
                return log.all == [1, 2, 3, 4]
            }
            #expect(inOrder)
        }

        @Test("that is called off never runs", arguments: Surface.all)
        func cancelled(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            queue.suspend()
            let later = queue.later(milliseconds: 10) { runs.add() }
            later.cancel()
            surface.pass(milliseconds: 10)
            queue.resume()
            queue.sync {}
            #expect(runs.count == 0)
        }

        @Test("may be called off after it ran, and twice", arguments: Surface.all)
        func cancelledLate(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            let later = queue.later(milliseconds: 1) { runs.add() }
            #expect(eventually { runs.count == 1 })
            later.cancel()
            later.cancel()
            surface.pass(milliseconds: 1)
            #expect(runs.count == 1)
        }

        @Test("at the end of time does not run", arguments: Surface.all)
        func distantFuture(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            queue.afterForEver { runs.add() }
            surface.pass(milliseconds: 1)
            #expect(runs.count == 0)
        }

        @Test("waits for a suspended queue's resume", arguments: Surface.all)
        func suspended(on surface: Surface) {
            let (queue, runs) = (surface.serial(), Counter())
            queue.suspend()
            queue.after(milliseconds: 1) { runs.add() }
            surface.pass(milliseconds: 1)
            #expect(runs.count == 0)
            queue.resume()
            #expect(eventually { runs.count == 1 })
        }

        @Test("runs on the main queue where that was named", arguments: Surface.all)
        func main(on surface: Surface) {
            let seen = Log<Bool>()
            surface.main.after(milliseconds: 1) { seen.note(isOnMain()) }
            #expect(eventually { seen.all == [true] })
        }

        @Test("keeps its queue", arguments: Surface.all)
        func keepsQueue(on surface: Surface) {
            let done = Gate()
            do { surface.serial().after(milliseconds: 5) { done.open() } }
            #expect(done.pass(within: patience))
        }

        @Test("releases what it captured", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, census) = (surface.serial(), Census())
            do {
                let mortal = census.newborn()
                queue.after(milliseconds: 1) { mortal.touch() }
            }
            #expect(eventually { census.died == 1 })
        }
    }

    @Suite("A repeating timer")
    struct RepeatingTimers {
        @Test("calls again and again, never before its times", arguments: Surface.all)
        func ticks(on surface: Surface) {
            let (queue, times, begin) = (surface.serial(), Log<Duration>(), ContinuousClock.now)
            let timer = queue.every(milliseconds: 3) { _ in times.note(ContinuousClock.now - begin) }
            #expect(eventually { times.all.count >= 5 })
            timer.cancel()
            for (index, time) in times.all.enumerated() { #expect(time >= .milliseconds(3 * (index + 1))) }
        }

        @Test("waits for its first time", arguments: Surface.all)
        func first(on surface: Surface) {
            let (queue, times, begin) = (surface.serial(), Log<Duration>(), ContinuousClock.now)
            let timer = queue.every(milliseconds: 1, after: 20) { _ in times.note(ContinuousClock.now - begin) }
            #expect(eventually { times.all.count >= 2 })
            timer.cancel()
            #expect(times.all.allSatisfy { $0 >= .milliseconds(20) })
        }

        @Test("does not call any more after it was cancelled on its own queue", arguments: Surface.all)
        func cancelled(on surface: Surface) {
            let (queue, calls) = (surface.serial(), Counter())
            let timer = queue.every(milliseconds: 1) { _ in calls.add() }
            #expect(eventually { calls.count >= 3 })
            let seen = queue.sync {
                timer.cancel()
                return calls.count
            }
            #expect(timer.isCancelled)
            surface.pass(milliseconds: 5)
            #expect(calls.count == seen)
        }

        @Test("may be cancelled by its own call", arguments: Surface.all)
        func cancelsItself(on surface: Surface) {
            let (queue, calls, own, set) = (surface.serial(), Counter(), Holder<Ticker?>(nil), Gate())
            let timer = queue.every(milliseconds: 1) { _ in
                set.pass()
                if calls.add() == 3 { own.value?.cancel() }
            }
            own.value = timer
            set.open()
            #expect(eventually { calls.count == 3 })
            surface.pass(milliseconds: 5)
            #expect(calls.count == 3)
            own.value = nil
        }

        @Test("may be cancelled before its first call", arguments: Surface.all)
        func cancelledBefore(on surface: Surface) {
            let (queue, calls) = (surface.serial(), Counter())
            queue.suspend()
            let timer = queue.every(milliseconds: 10) { _ in calls.add() }
            timer.cancel()
            timer.cancel()
            surface.pass(milliseconds: 10)
            queue.resume()
            queue.sync {}
            #expect(calls.count == 0)
        }

        @Test("makes one call of what it missed while its queue was suspended, and counts it", arguments: Surface.all)
        func coalesced(on surface: Surface) {
            let (queue, missed) = (surface.serial(), Log<Int>())
            queue.suspend()
            let timer = queue.every(milliseconds: 2) { missed.note($0) }
            surface.pass(milliseconds: 30)
            #expect(missed.all == [])
            queue.resume()
            #expect(eventually { missed.all.count >= 2 })
            timer.cancel()
            let first = missed.all.first ?? 0
            #expect(first >= 8)
        }

        @Test("is not late for good after a slow call: calls and missed ones are as many as its times", arguments: Surface.all)
        func noDrift(on surface: Surface) {
            let (queue, ticks, calls, begin) = (surface.serial(), Counter(), Counter(), ContinuousClock.now)
            let timer = queue.every(milliseconds: 2) { missed in
                ticks.add(1 + missed)
                if calls.add() == 1 { usleep(15_000) }
            }
            #expect(eventually { calls.count >= 5 })
            let (elapsed, counted) = queue.sync { (ContinuousClock.now - begin, ticks.count) }
            timer.cancel()
            // As many times have passed, but for the one that may be on its way.
            #expect(counted <= Int(elapsed / .milliseconds(2)))
            #expect(counted >= 11)
        }

        @Test("on a concurrent queue never calls while it calls", arguments: Surface.all)
        func concurrent(on surface: Surface) {
            let (queue, crowd, calls) = (surface.concurrent(), Crowd(), Counter())
            let timer = queue.every(milliseconds: 1) { _ in
                crowd.visit { usleep(3000) }
                calls.add()
            }
            #expect(eventually { calls.count >= 4 })
            timer.cancel()
            #expect(crowd.most == 1)
        }

        @Test("calls on the main queue where that was named", arguments: Surface.all)
        func main(on surface: Surface) {
            let (calls, strange) = (Counter(), Counter())
            let timer = surface.main.every(milliseconds: 1) { _ in
                if !isOnMain() { strange.add() }
                calls.add()
            }
            #expect(eventually { calls.count >= 3 })
            timer.cancel()
            #expect(strange.count == 0)
        }

        @Test("releases what its closure captured when it was cancelled", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, census, calls) = (surface.serial(), Census(), Counter())
            do {
                let mortal = census.newborn()
                let timer = queue.every(milliseconds: 1) { _ in
                    mortal.touch()
                    calls.add()
                }
                #expect(eventually { calls.count >= 1 })
                timer.cancel()
            }
            #expect(eventually { census.died == 1 })
        }

        @Test("that nobody keeps", arguments: Surface.all)
        func notKept(on surface: Surface) {
            let (queue, calls) = (surface.serial(), Counter())
            weak var forgotten: TaskQueue.Timer?
            do {
                let timer = queue.every(milliseconds: 1) { _ in calls.add() }
                if case .ours(let timer) = timer { forgotten = timer }
            }
            if surface.expects(.timerLives, theirs: false, ours: true) {
                #expect(eventually { calls.count >= 3 })
                forgotten?.cancel()
            } else {
                surface.pass(milliseconds: 1)
                let seen = calls.count
                surface.pass(milliseconds: 5)
                #expect(calls.count == seen)
            }
        }
    }
}
