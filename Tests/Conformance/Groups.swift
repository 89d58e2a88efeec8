import Foundation
import Testing

extension Conformance {
    @Suite("A group")
    struct Groups {
        @Test("in which nothing was entered does not keep anybody", arguments: Surface.all)
        func empty(on surface: Surface) {
            let group = surface.group()
            group.wait()
            #expect(group.wait(milliseconds: 0))
            #expect(group.waitForever())
        }

        @Test("is waited for until all its closures are done", arguments: Surface.all, QueueKind.allCases)
        func waiting(on surface: Surface, kind: QueueKind) {
            let (queue, group, runs) = (surface.queue(kind), surface.group(), Counter())
            for _ in 0..<200 { queue.async(group: group) { runs.add() } }
            group.wait()
            #expect(runs.count == 200)
        }

        @Test("times out while closures run; these run on, and a later wait succeeds", arguments: Surface.all)
        func timeout(on surface: Surface) {
            let (queue, group, gate, runs) = (surface.concurrent(), surface.group(), Gate(), Counter())
            for _ in 0..<3 {
                queue.async(group: group) {
                    gate.pass()
                    runs.add()
                }
            }
            #expect(!group.wait(milliseconds: 10))
            #expect(!group.wait(milliseconds: 0))
            #expect(runs.count == 0)
            gate.open()
            #expect(group.waitForever())
            #expect(runs.count == 3)
        }

        @Test("takes a timeout that has passed already for a look", arguments: Surface.all)
        func pastTimeout(on surface: Surface) {
            let group = surface.group()
            group.enter()
            #expect(!group.wait(milliseconds: -100))
            group.leave()
            #expect(group.wait(milliseconds: -100))
        }

        @Test("counts enter and leave across asynchronous calls", arguments: Surface.all)
        func enterAndLeave(on surface: Surface) {
            let (queue, group, answers) = (surface.concurrent(), surface.group(), Counter())
            @Sendable func ask(_ answer: @escaping @Sendable () -> Void) {
                queue.async { queue.async { queue.async(answer) } }
            }
            for _ in 0..<50 {
                group.enter()
                ask {
                    defer { group.leave() }
                    answers.add()
                }
            }
            group.wait()
            #expect(answers.count == 50)
        }

        @Test("needs as many leaves as enters", arguments: Surface.all)
        func balance(on surface: Surface) {
            let group = surface.group()
            for _ in 0..<3 { group.enter() }
            for _ in 0..<2 {
                group.leave()
                #expect(!group.wait(milliseconds: 0))
            }
            group.leave()
            #expect(group.wait(milliseconds: 0))
        }

        @Test("counts a closure from its submission on", arguments: Surface.all)
        func fromSubmission(on surface: Surface) {
            let (queue, group) = (surface.serial(), surface.group())
            queue.suspend()
            queue.async(group: group) {}
            settle()
            #expect(!group.wait(milliseconds: 0))
            queue.resume()
            group.wait()
        }

        @Test("wakes everybody who waits", arguments: Surface.all)
        func severalWaiters(on surface: Surface) {
            let (group, woken) = (surface.group(), Counter())
            group.enter()
            for _ in 0..<5 {
                onThread {
                    group.wait()
                    woken.add()
                }
            }
            settle()
            #expect(woken.count == 0)
            group.leave()
            #expect(eventually { woken.count == 5 })
        }

        @Test("holds whoever waits as long as a closure enters it again", arguments: Surface.all)
        func chained(on surface: Surface) {
            let (queue, group, runs) = (surface.concurrent(), surface.group(), Counter())
            @Sendable func next() {
                queue.async(group: group) { if runs.add() < 100 { next() } }
            }
            next()
            group.wait()
            #expect(runs.count == 100)
        }

        @Test("may be waited for on workers, even on all of them", arguments: Surface.all)
        func waitOnWorkers(on surface: Surface) {
            let (queue, inner, outer, woken) = (surface.concurrent(), surface.group(), surface.group(), Counter())
            inner.enter()
            for _ in 0..<3 {
                queue.async(group: outer) {
                    inner.wait()
                    woken.add()
                }
            }
            queue.async { inner.leave() }
            #expect(outer.wait(milliseconds: Int(patience * 1000)))
            #expect(woken.count == 3)
        }

        @Test("shows who waited what was written before each leave", arguments: Surface.all)
        func visibility(on surface: Surface) {
            let (group, values) = (surface.group(), (0..<8).map { _ in Holder(0) })
            for value in values {
                group.enter()
                onThread {
                    value.value = 42
                    group.leave()
                }
            }
            group.wait()
            #expect(values.map(\.value) == Array(repeating: 42, count: 8))
        }

        @Test("is awaited without blocking", arguments: Surface.all)
        func awaiting(on surface: Surface) async {
            let (queue, group, runs) = (surface.concurrent(), surface.group(), Counter())
            for _ in 0..<50 { queue.async(group: group) { runs.add() } }
            await group.wait()
            #expect(runs.count == 50)
            await group.wait()
        }

        @Test("may be let go of while its closures wait: they run, and the notification too", arguments: Surface.all)
        func released(on surface: Surface) {
            let (queue, gate, notified, runs) = (surface.serial(), Gate(), Gate(), Counter())
            do {
                let group = surface.group()
                queue.async(group: group) { gate.pass() }
                queue.async(group: group) { runs.add() }
                group.notify(on: queue) { notified.open() }
            }
            gate.open()
            #expect(notified.pass(within: patience))
            #expect(runs.count == 1)
        }

        @Test("may be let go of while it is entered: it never notifies", arguments: Surface.all)
        func releasedWhileEntered(on surface: Surface) {
            let (queue, notified) = (surface.serial(), Counter())
            do {
                let group = surface.group()
                group.enter()
                group.notify(on: queue) { notified.add() }
            }
            settle()
            #expect(notified.count == 0)
        }
    }

    @Suite("A group's notification")
    struct Notifications {
        @Test("comes once, when all is done", arguments: Surface.all)
        func once(on surface: Surface) {
            let (queue, group, runs, seen) = (surface.concurrent(), surface.group(), Counter(), Log<Int>())
            for _ in 0..<100 { queue.async(group: group) { runs.add() } }
            group.notify(on: queue) { seen.note(runs.count) }
            #expect(eventually { seen.all.count == 1 })
            settle()
            #expect(seen.all == [100])
        }

        @Test("comes at once when nothing is under way", arguments: Surface.all)
        func empty(on surface: Surface) {
            let (group, notified) = (surface.group(), Gate())
            group.notify(on: surface.serial()) { notified.open() }
            #expect(notified.pass(within: patience))
        }

        @Test("waits for what was submitted after it was asked for", arguments: Surface.all)
        func lateWork(on surface: Surface) {
            let (queue, group, gate, log) = (surface.serial(), surface.group(), Gate(), Log<String>())
            queue.async(group: group) { gate.pass() }
            group.notify(on: surface.serial("notes")) { log.note("notified") }
            queue.async(group: group) { log.note("late") }
            gate.open()
            #expect(eventually { log.all.contains("notified") })
            #expect(log.all == ["late", "notified"])
        }

        @Test("may be a barrier of its queue", arguments: Surface.all)
        func alone(on surface: Surface) {
            let (queue, group, gate, log) = (surface.concurrent(), surface.group(), Gate(), Log<Int>())
            let done = surface.group()
            group.enter()
            group.notifyAlone(on: queue) { log.note(2) }
            queue.async(group: done) {
                gate.pass()
                log.note(1)
            }
            group.leave()
            queue.async(group: done) { log.note(3) }
            settle()
            gate.open()
            done.wait()
            #expect(log.all == [1, 2, 3])
        }

        @Test("comes for each of many who asked", arguments: Surface.all)
        func many(on surface: Surface) {
            let (queue, group, count) = (surface.concurrent(), surface.group(), Counter())
            group.enter()
            for _ in 0..<100 { group.notify(on: queue) { count.add() } }
            #expect(count.count == 0)
            group.leave()
            #expect(eventually { count.count == 100 })
        }

        @Test("comes in the order of asking on a serial queue", arguments: Surface.all)
        func order(on surface: Surface) {
            let (queue, group, log) = (surface.serial(), surface.group(), Log<Int>())
            group.enter()
            for number in 0..<20 { group.notify(on: queue) { log.note(number) } }
            group.leave()
            #expect(eventually { log.all.count == 20 })
            #expect(log.all == Array(0..<20))
        }

        @Test("is not given again when the group is used again", arguments: Surface.all)
        func notRearmed(on surface: Surface) {
            let (queue, group, count) = (surface.serial(), surface.group(), Counter())
            group.enter()
            group.notify(on: queue) { count.add() }
            group.leave()
            #expect(eventually { count.count == 1 })
            for _ in 0..<5 {
                queue.async(group: group) {}
                group.wait()
            }
            queue.sync {}
            #expect(count.count == 1)
        }

        @Test("may be asked for again", arguments: Surface.all)
        func again(on surface: Surface) {
            let (queue, group, count) = (surface.serial(), surface.group(), Counter())
            for round in 1...10 {
                queue.async(group: group) {}
                group.notify(on: queue) { count.add() }
                #expect(eventually { count.count == round })
            }
        }

        @Test("may be asked for from a notification", arguments: Surface.all)
        func nested(on surface: Surface) {
            let (queue, group, done) = (surface.serial(), surface.group(), Gate())
            group.notify(on: queue) { group.notify(on: queue) { done.open() } }
            #expect(done.pass(within: patience))
        }

        @Test("runs on the queue that was named", arguments: Surface.all)
        func onItsQueue(on surface: Surface) {
            let (queue, group, crowd, visits) = (surface.serial(), surface.group(), Crowd(), Counter())
            @Sendable func visit() {
                crowd.visit { usleep(100) }
                visits.add()
            }
            for _ in 0..<20 {
                group.enter()
                group.notify(on: queue) { visit() }
                queue.async { visit() }
                group.leave()
            }
            #expect(eventually { visits.count == 40 })
            #expect(crowd.most == 1)
        }

        @Test("runs on the main queue where that was named", arguments: Surface.all)
        func onMainQueue(on surface: Surface) async {
            let (queue, group) = (surface.concurrent(), surface.group())
            queue.async(group: group) {}
            let wasOnMain = await withCheckedContinuation { continuation in
                group.notify(on: surface.main) { continuation.resume(returning: isOnMain()) }
            }
            #expect(wasOnMain)
        }

        @Test("waits for a suspended queue's resume", arguments: Surface.all)
        func onSuspendedQueue(on surface: Surface) {
            let (queue, group, count) = (surface.serial(), surface.group(), Counter())
            queue.suspend()
            group.notify(on: queue) { count.add() }
            settle()
            #expect(count.count == 0)
            queue.resume()
            #expect(eventually { count.count == 1 })
        }
    }
}
