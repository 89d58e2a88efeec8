import Foundation
import Testing

extension Conformance {
    @Suite("A serial queue")
    struct SerialQueues {
        @Test("computes beside others, as many at a time as there are CPUs or as there are queues", arguments: Surface.all)
        func threads(on surface: Surface) {
            let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
            let (inside, over) = (Counter(), Counter())
            let queues = (0..<count).map { surface.serial("busy \($0)") }
            for queue in queues {
                queue.async {
                    inside.add()
                    while over.count == 0 {}
                }
            }
            let all = surface.expects(.overcommit, theirs: true, ours: false)
            if all {
                #expect(eventually { inside.count == count })
            } else {
                linger(milliseconds: 100)
                #expect(inside.count < count)
            }
            over.add()
            #expect(eventually { inside.count == count })
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

        @Test("keeps the order of each of several threads", arguments: Surface.all)
        func orderOfThreads(on surface: Surface) {
            let (queue, log) = (surface.serial(), Log<[Int]>())
            onThreads(4) { thread in
                for number in 0..<250 { queue.async { log.note([thread, number]) } }
            }
            queue.sync {}
            for thread in 0..<4 {
                #expect(log.all.filter { $0[0] == thread }.map { $0[1] } == Array(0..<250))
            }
        }

        @Test("needs no lock for what only its closures touch", arguments: Surface.all)
        func protection(on surface: Surface) {
            let (queue, total) = (surface.serial(), Plain(0))
            onThreads(4) { _ in
                for _ in 0..<500 { queue.async { total.value += 1 } }
            }
            #expect(queue.sync { total.value } == 2000)
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

        @Test("returns from async before the closure runs", arguments: Surface.all)
        func returnsAtOnce(on surface: Surface) {
            let (queue, gate, runs) = (surface.serial(), Gate(), Counter())
            queue.async {
                gate.pass()
                runs.add()
            }
            #expect(runs.count == 0)
            gate.open()
            queue.sync {}
            #expect(runs.count == 1)
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

        @Test("runs closures elsewhere than on the submitting thread", arguments: Surface.all)
        func otherThread(on surface: Surface) {
            let (queue, threads, done) = (surface.serial(), Log<UInt>(), Gate())
            queue.async {
                threads.note(threadIdentity())
                done.open()
            }
            done.pass()
            #expect(threads.all.count == 1)
            #expect(threads.all != [threadIdentity()])
        }

        @Test("runs beside another serial queue", arguments: Surface.all)
        func twoAtOnce(on surface: Surface) {
            let (meeting, group, met) = (Meeting(of: 2), surface.group(), Counter())
            for queue in [surface.serial("a"), surface.serial("b")] {
                queue.async(group: group) { if meeting.attend() { met.add() } }
            }
            group.wait()
            #expect(met.count == 2)
        }

        @Test("one of a hundred: all of them run", arguments: Surface.all)
        func overcommit(on surface: Surface) {
            let (group, runs) = (surface.group(), Counter())
            let queues = (0..<100).map { surface.serial("queue \($0)") }
            for queue in queues { queue.async(group: group) { runs.add() } }
            group.wait()
            #expect(runs.count == 100)
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

        @Test("plays ping-pong with another one", arguments: Surface.all)
        func pingPong(on surface: Surface) {
            let (here, there, count, done) = (surface.serial("here"), surface.serial("there"), Plain(0), Gate())
            @Sendable func hit(_ queue: Queue, _ next: Queue) {
                queue.async {
                    count.value += 1
                    if count.value == 1000 { done.open() } else { hit(next, queue) }
                }
            }
            hit(here, there)
            #expect(done.pass())
            #expect(count.value == 1000)
        }

        @Test("hands work down a cascade", arguments: Surface.all)
        func cascade(on surface: Surface) {
            let queues = (0..<10).map { surface.serial("step \($0)") }
            let (log, group) = (Log<Int>(), surface.group())
            @Sendable func step(_ index: Int) {
                queues[index].async(group: group) {
                    log.note(index)
                    if index + 1 < queues.count { step(index + 1) }
                }
            }
            for _ in 0..<20 { step(0) }
            group.wait()
            #expect(log.all.count == 200)
            for index in 0..<10 { #expect(log.all.filter { $0 == index }.count == 20) }
        }

        @Test("collects from a star of queues", arguments: Surface.all)
        func starfish(on surface: Surface) {
            let (center, total, group) = (surface.serial("center"), Plain(0), surface.group())
            for arm in 0..<16 {
                let queue = surface.serial("arm \(arm)")
                for _ in 0..<20 {
                    queue.async(group: group) { center.async(group: group) { total.value += 1 } }
                }
            }
            group.wait()
            #expect(center.sync { total.value } == 320)
        }

        @Test("shows a closure what happened before it was submitted", arguments: Surface.all)
        func publication(on surface: Surface) {
            let (queue, box, sums) = (surface.serial(), Plain([Int]()), Log<Int>())
            for round in 1...50 {
                box.value = Array(repeating: round, count: round)
                queue.async { sums.note(box.value.reduce(0, +)) }
                queue.sync {}
            }
            #expect(sums.all == (1...50).map { $0 * $0 })
        }

        @Test("runs what it holds although its owner let go of it", arguments: Surface.all)
        func released(on surface: Surface) {
            let (runs, gate, group) = (Counter(), Gate(), surface.group())
            do {
                let queue = surface.serial()
                queue.async(group: group) { gate.pass() }
                for _ in 0..<50 { queue.async(group: group) { runs.add() } }
            }
            gate.open()
            group.wait()
            #expect(runs.count == 50)
        }

        @Test("releases what its closures captured", arguments: Surface.all)
        func captures(on surface: Surface) {
            let (queue, deaths) = (surface.serial(), Counter())
            for _ in 0..<50 {
                let mortal = Mortal(deaths)
                queue.async { mortal.touch() }
            }
            queue.sync {}
            #expect(eventually { deaths.count == 50 })
        }

        @Test("runs a closure that submits itself again, a thousand times", arguments: Surface.all)
        func resubmission(on surface: Surface) {
            let (queue, runs, done) = (surface.serial(), Plain(0), Gate())
            @Sendable func again() {
                runs.value += 1
                if runs.value < 1000 { queue.async { again() } } else { done.open() }
            }
            queue.async { again() }
            #expect(done.pass())
            #expect(runs.value == 1000)
        }

        @Test("loses none of twenty thousand", arguments: Surface.all)
        func many(on surface: Surface) {
            let (queue, total) = (surface.serial(), Plain(0))
            for _ in 0..<20_000 { queue.async { total.value += 1 } }
            #expect(queue.sync { total.value } == 20_000)
        }

        @Test("is called what it was called", arguments: Surface.all, ["journal", ""])
        func label(on surface: Surface, label: String) {
            #expect(surface.serial(label).label == label)
            #expect(surface.concurrent(label).label == label)
        }
    }
}
