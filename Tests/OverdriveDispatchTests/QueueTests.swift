import Dispatch
import Foundation
import OverdriveCore
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    @Suite("DispatchQueue")
    struct Queues {
        @Test("keeps label, quality of service and identity as they were given")
        func attributes() {
            let queue = DispatchQueue(label: "org.example", qos: .userInitiated, attributes: .concurrent)
            #expect(queue.label == "org.example")
            #expect(queue.qos == .userInitiated)
            #expect(DispatchQueue(label: "plain").qos == .unspecified)
            #expect(DispatchQueue(label: "low", target: .global(qos: .utility)).taskQueue.qos == .utility)
            #expect(DispatchQueue.main === DispatchQueue.main)
            #expect(DispatchQueue.main.label == "com.apple.main-thread")
            #expect(DispatchQueue.global().label == "com.apple.root.default-qos")
            #expect(DispatchQueue.global(qos: .background) === DispatchQueue.global(priority: .background))
            #expect(Set([queue, queue, .main]).count == 2)
        }

        @Test("the shared queues have the names and qualities of service that Dispatch gives them, the older spellings too")
        func shared() {
            let bands: [(DispatchQoS.QoSClass, TaskQueue.QoS, String)] = [
                (.userInteractive, .userInteractive, "user-interactive"), (.userInitiated, .userInitiated, "user-initiated"),
                (.default, .default, "default"), (.utility, .utility, "utility"), (.background, .background, "background"),
                (.unspecified, .default, "default"),
            ]
            for (asked, band, name) in bands {
                let queue = DispatchQueue.global(qos: asked)
                #expect(queue.label == "com.apple.root.\(name)-qos")
                #expect(queue.sync { TaskQueue.QoS.current } == band)
                #expect(queue.underlying.label == Dispatch.DispatchQueue.global(qos: asked == .unspecified ? .default : asked).label)
            }
            let older: [(DispatchQueue.GlobalQueuePriority, DispatchQoS.QoSClass)] = [
                (.high, .userInitiated), (.default, .default), (.low, .utility), (.background, .background),
            ]
            for (priority, qos) in older { #expect(DispatchQueue.global(priority: priority) === DispatchQueue.global(qos: qos)) }
        }

        @Test("made inactive on a target, ours or libdispatch's, holds its closures until it is activated", arguments: [true, false], [true, false])
        func inactiveOnTarget(isConcurrent: Bool, isForeign: Bool) {
            let target = isForeign ? DispatchQueue(underlying: Dispatch.DispatchQueue(label: "theirs", attributes: .concurrent)) : DispatchQueue(label: "ours", attributes: .concurrent)
            let queue = DispatchQueue(
                label: "inactive", attributes: isConcurrent ? [.concurrent, .initiallyInactive] : .initiallyInactive, target: target)
            let (ran, crowd, group) = (Counter(), Crowd(), DispatchGroup())
            for _ in 0..<2 {
                queue.async(group: group) {
                    ran.add()
                    crowd.visit { if isConcurrent { _ = eventually { crowd.now == 2 || crowd.most == 2 } } }
                }
            }
            target.sync(flags: .barrier) {}
            #expect(ran.count == 0)
            queue.activate()
            group.wait()
            #expect(ran.count == 2 && crowd.most == (isConcurrent ? 2 : 1))
        }

        @Test("on libdispatch's is suspended, resumed and given a target as they are")
        func foreignControl() {
            let theirs = DispatchQueue(underlying: Dispatch.DispatchQueue(label: "theirs"))
            let queue = DispatchQueue(label: "on theirs", attributes: .initiallyInactive, target: theirs)
            let (line, log) = (DispatchQueue(underlying: Dispatch.DispatchQueue(label: "line")), Log<Int>())
            queue.setTarget(queue: line)
            queue.activate()
            line.suspend()
            queue.async { log.note(1) }
            theirs.sync {}
            Thread.sleep(forTimeInterval: 0.02)
            #expect(log.all == [])
            line.resume()
            queue.sync {}
            #expect(log.all == [1])
        }

        @Test("what waits until a time of the wall clock waits so long, and no longer; for ever where it is the end of time")
        func wallTimes() {
            let (group, semaphore, item) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchWorkItem {})
            group.enter()
            let begin = DispatchTime.now()
            #expect(group.wait(wallTimeout: .now() + .milliseconds(30)) == .timedOut)
            #expect(semaphore.wait(wallTimeout: .now() + .milliseconds(30)) == .timedOut)
            #expect(item.wait(wallTimeout: .now() + .milliseconds(30)) == .timedOut)
            // A clock may be set meanwhile; nobody does that by so much.
            #expect(DispatchTime.now() >= begin + .milliseconds(60))
            let queue = DispatchQueue(label: "later")
            queue.asyncAfter(deadline: .now() + .milliseconds(20)) {
                group.leave()
                semaphore.signal()
            }
            queue.asyncAfter(deadline: .now() + .milliseconds(20), execute: item)
            #expect(group.wait(wallTimeout: .distantFuture) == .success && semaphore.wait(wallTimeout: .distantFuture) == .success)
            #expect(item.wait(wallTimeout: .distantFuture) == .success)
        }

        @Test("main's closures matter most, and so does what they have done beside them")
        func mainMatters() async {
            let seen = await withCheckedContinuation { continuation in
                DispatchQueue.main.async {
                    let inherited = Box<TaskQueue.QoS?>(nil)
                    let done = DispatchSemaphore(value: 0)
                    let queue = DispatchQueue(label: "inherits")
                    queue.async(flags: .inheritQoS) {
                        inherited.value = .current
                        done.signal()
                    }
                    done.wait()
                    let later = Box<TaskQueue.QoS?>(nil)
                    queue.asyncAfter(wallDeadline: .now(), flags: .inheritQoS) {
                        later.value = .current
                        done.signal()
                    }
                    done.wait()
                    continuation.resume(returning: [TaskQueue.QoS.current, inherited.value, later.value])
                }
            }
            #expect(seen == [.userInteractive, .userInteractive, .userInteractive])
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

        @Test("on an inactive queue of the engine's lets that one start")
        func inactiveTaskQueue() {
            let queue = DispatchQueue(taskQueue: .serial(label: "inactive", initiallyInactive: true))
            let ran = Counter()
            queue.async { ran.add() }
            queue.activate()
            #expect(eventually { ran.count == 1 })
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
            // A full machine may let one time come before the next is asked for: they lie far apart, and the queue is held.
            queue.suspend()
            let began = DispatchTime.now()
            for _ in 0..<3 { group.enter() }
            queue.asyncAfter(deadline: began + .milliseconds(600)) {
                #expect(DispatchTime.now() >= began + .milliseconds(600))
                log.note("600")
                group.leave()
            }
            queue.asyncAfter(deadline: began + 0.02, qos: .userInitiated, flags: .barrier) {
                log.note("20")
                group.leave()
            }
            queue.asyncAfter(wallDeadline: .now() + .milliseconds(1)) { group.leave() }
            queue.asyncAfter(deadline: .distantFuture) { log.note("never") }
            queue.asyncAfter(deadline: .distantFuture, execute: DispatchWorkItem { log.note("never") })
            let cancelled = DispatchWorkItem { log.note("cancelled") }
            queue.asyncAfter(deadline: .now() + 0.01, execute: cancelled)
            cancelled.cancel()
            queue.resume()
            #expect(group.wait(timeout: patience) == .success)
            #expect(log.all == ["20", "600"])
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

        @Test("a closure is on the shared queue that its queue was given as target, and sees that one's values")
        func sharedTarget() {
            let (shared, name) = (DispatchQueue.global(qos: .utility), DispatchSpecificKey<String>())
            shared.setSpecific(key: name, value: "shared")
            defer { shared.setSpecific(key: name, value: nil) }
            let queue = DispatchQueue(label: "serial", target: shared)
            let late = DispatchQueue(label: "late", attributes: .initiallyInactive)
            late.setTarget(queue: shared)
            late.activate()
            let queues = [
                queue, late, DispatchQueue(label: "concurrent", attributes: .concurrent, target: shared),
                DispatchQueue(label: "on another", target: queue),
                // Its own quality of service chooses the shared queue, also where it has no target.
                DispatchQueue(label: "wins", qos: .utility, target: .global(qos: .background)),
                DispatchQueue(label: "without", qos: .utility, attributes: .concurrent),
            ]
            for queue in queues {
                for runs in [{ queue.sync(execute: $0) }, { queue.async(execute: $0); queue.sync(flags: .barrier) {} }]
                    as [(@escaping @Sendable () -> Void) -> Void] {
                    runs {
                        dispatchPrecondition(condition: .onQueue(shared))
                        dispatchPrecondition(condition: .notOnQueue(.global(qos: .background)))
                        #expect(DispatchQueue.getSpecific(key: name) == "shared", "\(queue)")
                    }
                }
                #expect(queue.getSpecific(key: name) == nil)
            }
            dispatchPrecondition(condition: .notOnQueue(shared))
            #expect(queue.qos == .utility && queues[4].qos == .utility)
        }
    }
}
