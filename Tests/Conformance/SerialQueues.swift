import Foundation
import OverdriveCore
import Testing

/// What the calling thread has had of the CPUs.
private func cpuTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension Conformance {
    @Suite("A serial queue")
    struct SerialQueues {
        @Test("computes beside others, as many at a time as there are CPUs or as there are queues", arguments: Surface.all)
        func threads(on surface: Surface) {
            let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
            let expected = surface.expects(.overcommit, theirs: count, ours: Scheduler.shared.workerCount)
            let (crowd, group) = (Crowd(), surface.group())
            for number in 0..<count {
                surface.serial("busy \(number)").async(group: group) {
                    crowd.visit {
                        compute(until: { crowd.most >= expected })
                        // Where there are more of them: so long that these had their turns on the CPUs as well.
                        let end = cpuTime() + .milliseconds(10)
                        while expected < count, cpuTime() < end {}
                    }
                }
            }
            group.wait()
            #expect(crowd.most == expected)
        }

        @Test("starts closures in the order of submission", arguments: Surface.all)
        func order(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<Int>())
            for number in 0..<1000 { queue.async { log.note(number) } }
            queue.sync {}
            #expect(log.all == Array(0..<1000))
        }

        @Test("runs one closure at a time, whoever submits", arguments: Surface.all)
        func exclusive(on surface: Surface) {
            let (queue, crowd) = (surface.serial(), Crowd())
            onThreads(4) { _ in
                for _ in 0..<200 { queue.async { crowd.visit() } }
            }
            queue.sync {}
            #expect(crowd.most == 1)
        }

        @Test("runs a closure that was submitted from inside after what was submitted before", arguments: Surface.all)
        func submittedInside(on surface: Surface) {
            let (queue, log, gate) = (surface.serial(), Log<String>(), Gate())
            queue.async {
                gate.pass()
                queue.async { log.note("inner") }
                log.note("outer")
            }
            queue.async { log.note("second") }
            gate.open()
            queue.sync {}
            queue.sync {}
            #expect(log.all == ["outer", "second", "inner"])
        }

        @Test("does not run a closure inside async, not even for its own closures", arguments: Surface.all)
        func neverInline(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<String>())
            queue.async {
                queue.async { log.note("later") }
                log.note("now")
            }
            queue.sync {}
            queue.sync {}
            #expect(log.all == ["now", "later"])
        }

        @Test("or a concurrent one runs closures elsewhere than on the submitting thread", arguments: Surface.all, QueueKind.allCases)
        func otherThread(on surface: Surface, kind: QueueKind) {
            let (queue, threads) = (surface.queue(kind), Log<UInt>())
            queue.async { threads.note(threadIdentity()) }
            #expect(eventually { threads.all.count == 1 })
            #expect(threads.all != [threadIdentity()])
        }

        @Test("one of twelve whose closures wait for each other: all of them get to run", arguments: Surface.all)
        func manyBlocked(on surface: Surface) {
            let (group, meeting, met) = (surface.group(), Meeting(of: 12), Counter())
            for index in 0..<12 {
                surface.serial("queue \(index)").async(group: group) { if meeting.attend() { met.add() } }
            }
            group.wait()
            #expect(met.count == 12)
        }

        @Test("or a concurrent one runs what it holds although its owner let go of it", arguments: Surface.all, QueueKind.allCases)
        func released(on surface: Surface, kind: QueueKind) {
            let (runs, gate, group) = (Counter(), Gate(), surface.group())
            do {
                let queue = surface.queue(kind)
                queue.async(group: group) { gate.pass() }
                for _ in 0..<50 { queue.async(group: group) { runs.add() } }
            }
            gate.open()
            group.wait()
            #expect(runs.count == 50)
        }

        @Test("releases what its closures captured", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, census) = (surface.serial(), Census())
            for _ in 0..<50 {
                let mortal = census.newborn()
                queue.async { mortal.touch() }
            }
            queue.sync {}
            #expect(eventually { census.died == 50 })
        }

        @Test("runs a closure that submits itself again, a thousand times", arguments: Surface.all)
        func resubmission(on surface: Surface) {
            let (queue, runs, done) = (surface.serial(), Holder(0), Gate())
            @Sendable func again() {
                runs.value += 1
                if runs.value < 1000 { queue.async { again() } } else { done.open() }
            }
            queue.async { again() }
            #expect(done.pass(within: patience))
            #expect(runs.value == 1000)
        }

        @Test("is called what it was called", arguments: Surface.all, ["journal", ""])
        func label(on surface: Surface, label: String) {
            #expect(surface.serial(label).label == label)
            #expect(surface.concurrent(label).label == label)
        }
    }
}
