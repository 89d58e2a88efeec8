import Foundation
import Testing

extension Conformance {
    @Suite("A semaphore")
    struct Semaphores {
        @Test("gives as many permits as it has", arguments: Surface.all, [0, 1, 3])
        func value(on surface: Surface, value: Int) {
            let semaphore = surface.semaphore(value)
            for _ in 0..<value { #expect(semaphore.wait(milliseconds: 0)) }
            #expect(!semaphore.wait(milliseconds: 0))
            #expect(!semaphore.wait(milliseconds: 5))
            for _ in 0..<value { semaphore.signal() }
        }

        @Test("remembers a signal that came first", arguments: Surface.all)
        func signalFirst(on surface: Surface) {
            let semaphore = surface.semaphore(0)
            semaphore.signal()
            semaphore.signal()
            semaphore.wait()
            #expect(semaphore.waitForever())
            #expect(!semaphore.wait(milliseconds: 0))
        }

        @Test("says whether a signal woke somebody", arguments: Surface.all)
        func wokeSomebody(on surface: Surface) {
            let (semaphore, passed) = (surface.semaphore(0), Gate())
            #expect(!semaphore.signal())
            semaphore.wait()
            onThread {
                semaphore.wait()
                passed.open()
            }
            // Signals before the thread waits are remembered, and taken back.
            #expect(eventually {
                if semaphore.signal() { return true }
                return passed.pass(within: 0) || !semaphore.wait(milliseconds: 0)
            })
            #expect(passed.pass(within: patience))
        }

        @Test("passes permits to who has waited longest", arguments: Surface.all)
        func fairness(on surface: Surface) {
            let (semaphore, log) = (surface.semaphore(0), Log<Int>())
            for number in 0..<5 {
                onThread {
                    semaphore.wait()
                    log.note(number)
                }
                settle()
            }
            for number in 1...5 {
                semaphore.signal()
                #expect(eventually { log.all.count == number })
            }
            // libdispatch wakes some waiter, and a thread that comes later may even be before it.
            let inOrder = surface.expects(.fairSemaphores, theirs: log.all.sorted(), ours: log.all)
            #expect(inOrder == [0, 1, 2, 3, 4])
        }

        @Test("lets no more in than it has permits", arguments: Surface.all, [1, 2, 3])
        func limit(on surface: Surface, permits: Int) {
            let (semaphore, crowd) = (surface.semaphore(permits), Crowd())
            onThreads(5) { _ in
                for _ in 0..<50 {
                    semaphore.wait()
                    crowd.visit()
                    semaphore.signal()
                }
            }
            #expect(crowd.most <= permits)
        }

        @Test("does let as many in", arguments: Surface.all)
        func fullWidth(on surface: Surface) {
            let (semaphore, meeting, met) = (surface.semaphore(3), Meeting(of: 3), Counter())
            onThreads(3) { _ in
                semaphore.wait()
                if meeting.attend() { met.add() }
                semaphore.signal()
            }
            #expect(met.count == 3)
        }

        @Test("forgets a wait that timed out", arguments: Surface.all)
        func timedOut(on surface: Surface) {
            let semaphore = surface.semaphore(0)
            for _ in 0..<5 { #expect(!semaphore.wait(milliseconds: 1)) }
            semaphore.signal()
            #expect(semaphore.wait(milliseconds: 0))
            #expect(!semaphore.wait(milliseconds: 0))
        }

        @Test("loses no permit when signals race with timeouts", arguments: Surface.all)
        func timeoutRace(on surface: Surface) {
            let (semaphore, taken) = (surface.semaphore(0), Counter())
            onThreads(3) { thread in
                for _ in 0..<200 {
                    if thread == 0 {
                        semaphore.signal()
                    } else if semaphore.wait(milliseconds: 0) {
                        taken.add()
                    }
                }
            }
            while semaphore.wait(milliseconds: 0) { taken.add() }
            #expect(taken.count == 200)
        }

        @Test("plays ping-pong with another one", arguments: Surface.all)
        func pingPong(on surface: Surface) {
            let (ping, pong, log) = (surface.semaphore(0), surface.semaphore(0), Holder([Int]()))
            onThreads(2) { thread in
                for round in 0..<200 {
                    if thread == 0 {
                        log.value.append(2 * round)
                        ping.signal()
                        pong.wait()
                    } else {
                        ping.wait()
                        log.value.append(2 * round + 1)
                        pong.signal()
                    }
                }
            }
            #expect(log.value == Array(0..<400))
        }

        @Test("may be waited for on all workers while a closure that signals is pending", arguments: Surface.all)
        func compensation(on surface: Surface) {
            let (queue, group, semaphore) = (surface.concurrent(), surface.group(), surface.semaphore(0))
            for _ in 0..<3 { queue.async(group: group) { semaphore.wait() } }
            queue.async(group: group) { for _ in 0..<3 { semaphore.signal() } }
            #expect(group.wait(milliseconds: Int(patience * 1000)))
        }

        @Test("may go away when it has all its permits again, or more", arguments: Surface.all)
        func release(on surface: Surface) {
            // It would end the process if it minded.
            for extra in 0..<3 {
                let semaphore = surface.semaphore(2)
                semaphore.wait()
                #expect(!semaphore.signal())
                for _ in 0..<extra { #expect(!semaphore.signal()) }
            }
        }
    }
}
