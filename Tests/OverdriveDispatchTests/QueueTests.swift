import Foundation
import OverdriveCore
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    @Suite("DispatchQueue")
    struct Queues {
        @Test("runs a serial queue's closures one at a time, in order, from many threads")
        func serial() {
            let queue = DispatchQueue(label: "serial", qos: .utility)
            let crowd = Crowd()
            let log = Log<Int>()
            for number in 0..<500 {
                queue.async { crowd.visit { log.note(number) } }
            }
            queue.sync {}
            #expect(log.all == Array(0..<500))
            #expect(crowd.most == 1)
        }

        @Test("keeps label, quality of service and identity as they were given")
        func attributes() {
            let queue = DispatchQueue(label: "org.example", qos: .userInitiated, attributes: .concurrent)
            #expect(queue.label == "org.example")
            #expect(queue.qos == .userInitiated)
            #expect(DispatchQueue(label: "plain").qos == .unspecified)
            #expect(DispatchQueue.main === DispatchQueue.main)
            #expect(DispatchQueue.main.label == "com.apple.main-thread")
            #expect(DispatchQueue.global().label == "com.apple.root.default-qos")
            #expect(DispatchQueue.global(qos: .background) === DispatchQueue.global(priority: .background))
            #expect(Set([queue, queue, .main]).count == 2)
        }

        @Test("main's closures matter most, and so does what they have done beside them")
        func mainMatters() async {
            let seen = await withCheckedContinuation { continuation in
                DispatchQueue.main.async {
                    let inherited = Box<TaskQueue.QoS?>(nil)
                    let done = DispatchSemaphore(value: 0)
                    DispatchQueue(label: "inherits").async(flags: .inheritQoS) {
                        inherited.value = .current
                        done.signal()
                    }
                    done.wait()
                    continuation.resume(returning: [TaskQueue.QoS.current, inherited.value])
                }
            }
            #expect(seen == [.userInteractive, .userInteractive])
        }

        @Test("has sync return, throw a typed error, and rethrow")
        func sync() throws {
            let queue = DispatchQueue(label: "sync")
            #expect(queue.sync { 7 } == 7)
            do throws(Flaw) {
                try queue.sync { () throws(Flaw) in throw Flaw(number: 3) }
            } catch {
                #expect(error.number == 3)
            }
            func passing<T>(_ body: () throws -> T) rethrows -> T { try queue.sync { try body() } }
            #expect(passing { "nested" } == "nested")
            #expect(throws: Flaw.self) { try queue.sync(flags: .barrier) { throw Flaw() } }
            var local = 0
            queue.sync { local += 1 }
            #expect(local == 1)
        }

        @Test("has barriers run alone on a concurrent queue")
        func barriers() {
            let queue = DispatchQueue(label: "readers", attributes: .concurrent)
            let group = DispatchGroup()
            let inside = Counter()
            let intruders = Counter()
            for round in 0..<200 {
                if round % 10 == 9 {
                    queue.async(group: group, flags: .barrier) { if inside.count != 0 { intruders.add() } }
                } else {
                    queue.async(group: group) {
                        inside.add()
                        inside.add(-1)
                    }
                }
            }
            #expect(group.wait(timeout: patience) == .success)
            queue.sync(flags: .barrier) { if inside.count != 0 { intruders.add() } }
            #expect(intruders.count == 0)
            // A barrier is alone already.
            #expect(queue.sync(flags: .barrier) { queue.sync { 7 } } == 7)
        }

        @Test("takes a closure of a serial target's queues one at a time, and main as a target")
        func targets() async {
            let target = DispatchQueue(label: "target")
            let crowd = Crowd()
            let group = DispatchGroup()
            for number in 0..<4 {
                let queue = DispatchQueue(label: "on target \(number)", attributes: .concurrent, target: target)
                for _ in 0..<50 { queue.async(group: group) { crowd.visit() } }
            }
            await withCheckedContinuation { continuation in
                group.notify(queue: DispatchQueue(label: "on main", target: .main)) {
                    dispatchPrecondition(condition: .onQueue(.main))
                    continuation.resume()
                }
            }
            #expect(crowd.most == 1)
        }

        @Test("holds closures while it is inactive or suspended, and suspends nothing that is shared")
        func control() {
            let queue = DispatchQueue(label: "inactive", attributes: .initiallyInactive)
            let log = Log<String>()
            queue.setTarget(queue: DispatchQueue(label: "late target"))
            queue.async { log.note("ran") }
            #expect(log.all == [])
            queue.activate()
            queue.sync {}
            queue.suspend()
            queue.suspend()
            queue.async { log.note("again") }
            queue.resume()
            #expect(log.all == ["ran"])
            queue.resume()
            queue.sync {}
            #expect(log.all == ["ran", "again"])
            DispatchQueue.global().suspend()
            DispatchQueue.global().sync {}
        }

        @Test("submits later by the machine's clock and by the wall clock, and not early")
        func after() {
            let queue = DispatchQueue(label: "later")
            let group = DispatchGroup()
            let log = Log<String>()
            let began = DispatchTime.now()
            for _ in 0..<3 { group.enter() }
            queue.asyncAfter(deadline: began + .milliseconds(60)) {
                #expect(DispatchTime.now() >= began + .milliseconds(60))
                log.note("60")
                group.leave()
            }
            queue.asyncAfter(deadline: began + 0.02, qos: .userInitiated, flags: .barrier) {
                log.note("20")
                group.leave()
            }
            queue.asyncAfter(wallDeadline: .now() + .milliseconds(1)) { group.leave() }
            queue.asyncAfter(deadline: .distantFuture) { log.note("never") }
            let cancelled = DispatchWorkItem { log.note("cancelled") }
            queue.asyncAfter(deadline: .now() + 0.01, execute: cancelled)
            cancelled.cancel()
            #expect(group.wait(timeout: patience) == .success)
            #expect(log.all == ["20", "60"])
        }

        @Test("keeps values of any type, its own and its target's")
        func specifics() {
            let key = DispatchSpecificKey<[String: () -> Int]>()
            let name = DispatchSpecificKey<String>()
            let target = DispatchQueue(label: "target")
            let queue = DispatchQueue(label: "queue", target: target)
            target.setSpecific(key: name, value: "target")
            queue.setSpecific(key: key, value: ["seven": { 7 }])
            queue.sync {
                #expect(DispatchQueue.getSpecific(key: key)?["seven"]?() == 7)
                #expect(DispatchQueue.getSpecific(key: name) == "target")
            }
            #expect(queue.getSpecific(key: name) == nil)
            #expect(DispatchQueue.getSpecific(key: name) == nil)
            target.setSpecific(key: name, value: nil)
            #expect(target.sync { DispatchQueue.getSpecific(key: name) } == nil)
        }

        @Test("calls concurrentPerform's closure once for each number, nested too")
        func concurrentPerform() {
            let seen = Box(Array(repeating: 0, count: 400))
            DispatchQueue.concurrentPerform(iterations: 20) { row in
                DispatchQueue.concurrentPerform(iterations: 20) { column in
                    seen.change { $0[row * 20 + column] += 1 }
                }
            }
            #expect(seen.value == Array(repeating: 1, count: 400))
            DispatchQueue.concurrentPerform(iterations: 0) { _ in Issue.record("there is no number") }
        }
    }

    @Suite("DispatchGroup, DispatchSemaphore and DispatchWorkItem")
    struct Companions {
        @Test("a group waits for a hundred queues, and is used again")
        func groups() {
            let group = DispatchGroup()
            for _ in 0..<2 {
                let done = Counter()
                for number in 0..<100 {
                    DispatchQueue(label: "queue \(number)").async(group: group) { done.add() }
                }
                #expect(group.wait(wallTimeout: .distantFuture) == .success)
                #expect(done.count == 100)
            }
            group.enter()
            #expect(group.wait(timeout: .now()) == .timedOut)
            #expect(group.wait(timeout: .now() + .milliseconds(5)) == .timedOut)
            #expect(group.wait(wallTimeout: .now() + .milliseconds(5)) == .timedOut)
            group.leave()
            group.wait()
        }

        @Test("a group tells by a closure and by an item")
        func notifications() {
            let group = DispatchGroup()
            let told = DispatchSemaphore(value: 0)
            group.enter()
            group.notify(queue: .global()) { told.signal() }
            group.notify(queue: .global(), work: DispatchWorkItem { told.signal() })
            #expect(told.wait(timeout: .now() + .milliseconds(5)) == .timedOut)
            group.leave()
            told.wait()
            told.wait()
        }

        @Test("a semaphore's permits and signals are counted")
        func semaphores() {
            let semaphore = DispatchSemaphore(value: 1)
            #expect(semaphore.wait(timeout: .now()) == .success)
            #expect(semaphore.wait(wallTimeout: .now()) == .timedOut)
            #expect(semaphore.signal() == 0)
            let laps = Counter()
            let lock = DispatchSemaphore(value: 1)
            let group = DispatchGroup()
            for _ in 0..<8 {
                DispatchQueue.global().async(group: group) {
                    for _ in 0..<100 {
                        lock.wait()
                        laps.add()
                        lock.signal()
                    }
                }
            }
            group.wait()
            #expect(laps.count == 800)
        }

        @Test("an item runs, is waited for, tells and is cancelled")
        func items() {
            let queue = DispatchQueue(label: "items")
            let log = Log<String>()
            let told = DispatchSemaphore(value: 0)
            let item = DispatchWorkItem(qos: .utility, flags: .barrier) { log.note("ran") }
            item.notify(queue: queue) { told.signal() }
            item.notify(queue: queue, execute: DispatchWorkItem { told.signal() })
            queue.async(execute: item)
            item.wait()
            told.wait()
            told.wait()
            queue.sync(execute: DispatchWorkItem { log.note("sync") })
            let cancelled = DispatchWorkItem { log.note("never") }
            cancelled.cancel()
            #expect(cancelled.isCancelled)
            let group = DispatchGroup()
            queue.async(group: group, execute: cancelled)
            cancelled.perform()
            group.wait()
            #expect(cancelled.wait(timeout: patience) == .success)
            #expect(log.all == ["ran", "sync"])
        }
    }
}
