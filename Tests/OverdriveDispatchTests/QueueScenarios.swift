import Foundation
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    /// What libdispatch's own test programs do with queues, groups, semaphores and `apply`, each by that program's name:
    /// README.md in this folder says which is which.
    @Suite("libdispatch's scenarios")
    struct QueueScenarios {
        private let cores = ProcessInfo.processInfo.activeProcessorCount

        @Test("cascade: ten thousand tokens go down eighty queues until a quarter of all steps is done")
        func cascade() {
            let queues = (0..<80).map { DispatchQueue(label: "step \($0)") }
            let visits = queues.map { _ in Holder(0) }  // each on its queue alone
            let steps = Counter()
            let tokens = 10_000
            let left = Counter(queues.count * tokens / 4)
            let over = DispatchSemaphore(value: 0)
            @Sendable func step(_ place: Int) {
                guard left.count > 0 else { return }
                if place < queues.count {
                    queues[place].async {
                        visits[place].value += 1
                        steps.add()
                        step(place + 1)
                    }
                }
                if left.add(-1) == 0 { over.signal() }
            }
            for _ in 0..<tokens { step(0) }
            over.wait()
            // A token goes forward: when the queues have ended in this order, none is left.
            let sum = zip(queues, visits).map { queue, visits in queue.sync { visits.value } }.reduce(0, +)
            #expect(sum == steps.count)
            #expect(sum > queues.count * tokens / 8)
        }

        @Test("starfish: a hundred queues on a background one ping each other, and count the replies without a lock")
        func starfish() {
            let size = 100
            final class Node: @unchecked Sendable {
                let queue: DispatchQueue
                var replies = 0  // on the queue alone
                init(_ queue: DispatchQueue) { self.queue = queue }
            }
            for _ in 0..<3 {
                let soup = DispatchQueue.global(qos: .utility)
                let nodes = (0..<size).map { number in
                    Node(DispatchQueue(label: "node \(number)", attributes: .initiallyInactive, target: soup))
                }
                let collected = DispatchGroup()
                for node in nodes {
                    collected.enter()
                    node.queue.async {
                        node.replies = size
                        for other in nodes {
                            other.queue.async {
                                node.queue.async {
                                    node.replies -= 1
                                    if node.replies == 0 { collected.leave() }
                                }
                            }
                        }
                    }
                }
                for node in nodes { node.queue.activate() }
                collected.wait()
                let left = nodes.map { node in node.queue.sync { node.replies } }
                #expect(left == nodes.map { _ in 0 })
            }
        }

        @Test("pingpong: two queues hand a counter to and fro a hundred thousand times, counted by a group")
        func pingPong() {
            let (ping, pong) = (DispatchQueue(label: "ping"), DispatchQueue(label: "pong"))
            let group = DispatchGroup()
            let last = 100_000
            let reached = Box(0)
            @Sendable func hit(_ here: DispatchQueue, _ there: DispatchQueue, _ count: Int) {
                guard count < last else { return reached.value = count }
                there.async(group: group) { hit(there, here, count + 1) }
            }
            hit(ping, pong, 0)
            group.wait()
            #expect(reached.value == last)
        }

        @Test("priority: of equal work in four bands, when half is done the high band has no less than the low one")
        func priority() {
            let bands: [DispatchQoS.QoSClass] = [.background, .utility, .default, .userInitiated]
            let each = 32 * cores
            let done = bands.map { _ in Counter() }
            let left = Counter(bands.count * each / 2)
            let isOver = Box(false)
            let group = DispatchGroup()
            // What comes first is not to count: the workers are held until all is submitted.
            let (held, mayBegin) = (Counter(), Box(false))
            for _ in 0..<cores {
                DispatchQueue.global(qos: .userInteractive).async {
                    held.add()
                    compute(until: { mayBegin.value })
                }
            }
            #expect(eventually { held.count == cores })
            for (band, count) in zip(bands, done) {
                for _ in 0..<each {
                    DispatchQueue.global(qos: band).async(group: group) {
                        let end = DispatchTime.now() + .microseconds(200)
                        while DispatchTime.now() < end {}
                        if isOver.value { return }
                        let now = left.add(-1)
                        if now >= 0 { count.add() }
                        if now == 0 { isOver.value = true }
                    }
                }
            }
            mayBegin.value = true
            group.wait()
            #expect(done.map(\.count).reduce(0, +) == bands.count * each / 2)
            #expect(done[3].count >= done[1].count)
            #expect(done[0].count <= done[2].count)
        }

        @Test("apply: every number once, nested three deep, and beside workers that are all busy")
        func apply() {
            let count = Counter()
            DispatchQueue.concurrentPerform(iterations: 32) { _ in count.add() }
            #expect(count.count == 32)
            let nested = Counter()
            DispatchQueue.concurrentPerform(iterations: 32) { _ in
                DispatchQueue.concurrentPerform(iterations: 32) { _ in
                    DispatchQueue.concurrentPerform(iterations: 32) { _ in nested.add() }
                }
            }
            #expect(nested.count == 32 * 32 * 32)

            let group = DispatchGroup()
            let (started, finished) = (Counter(), Counter())
            let mayEnd = Box(false)
            for _ in 0..<cores {
                DispatchQueue.global().async(group: group) {
                    started.add()
                    compute(until: { mayEnd.value })
                    finished.add()
                }
            }
            #expect(eventually { started.count == cores })
            let beside = Counter()
            DispatchQueue.concurrentPerform(iterations: 32) { _ in beside.add() }
            #expect(beside.count == 32)
            #expect(finished.count == 0)
            mayEnd.value = true
            group.wait()
        }

        @Test("concur: closures of a concurrent queue run several at a time, of a serial one never", arguments: [true, false])
        func concur(isConcurrent: Bool) {
            let queue = DispatchQueue(label: "concur", attributes: isConcurrent ? .concurrent : [])
            let crowd = Crowd()
            let (group, inner) = (DispatchGroup(), DispatchGroup())
            let completed = Counter()
            queue.suspend()
            for _ in 0..<4 {
                queue.async(group: group) {
                    for _ in 0..<4 { queue.async(group: inner) { completed.add() } }
                    crowd.visit { Thread.sleep(forTimeInterval: 0.01) }
                }
            }
            queue.resume()
            group.wait()
            inner.wait()
            #expect(completed.count == 16)
            if !isConcurrent { #expect(crowd.most == 1) }
            // Callers of sync run on threads of their own: as many at a time as there are.
            let together = Crowd()
            let everybody = Counter()
            onThreads(6) { _ in
                queue.sync {
                    together.visit {
                        everybody.add()
                        if isConcurrent { _ = eventually { everybody.count == 6 } }
                    }
                }
            }
            #expect(together.most == (isConcurrent ? 6 : 1))
        }

        @Test("readsync: readers in sync and writers behind barriers never meet, on the queue and through one on it")
        func readSync() {
            let shared = DispatchQueue(label: "readsync", attributes: .concurrent)
            let through = DispatchQueue(label: "through", attributes: .concurrent, target: shared)
            for writes in [shared, through] {
                let (readers, writers, meetings) = (Counter(), Counter(), Counter())
                let group = DispatchGroup()
                let written = Counter()
                onThreads(8) { _ in
                    for lap in 1...250 {
                        writes.sync {
                            readers.add()
                            if writers.count > 0 { meetings.add() }
                            readers.add(-1)
                        }
                        if lap.isMultiple(of: 25) {
                            writes.async(group: group, flags: .barrier) {
                                if writers.add() != 1 || readers.count > 0 { meetings.add() }
                                written.add()
                                writers.add(-1)
                            }
                        }
                        if lap == 125 { writes.sync(flags: .barrier) {} }
                    }
                }
                group.wait()
                #expect(written.count == 80)
                #expect(meetings.count == 0)
            }
        }

        @Test("overcommit: thirty-two queues whose closures wait for the last of them")
        func overcommit() {
            let arrived = Counter()
            let group = DispatchGroup()
            for number in 0..<32 {
                DispatchQueue(label: "overcommit \(number)", target: .global()).async(group: group) {
                    arrived.add()
                    let all = DispatchSemaphore(value: 0)
                    while arrived.count < 32 { _ = all.wait(timeout: .now() + .milliseconds(1)) }
                }
            }
            #expect(group.wait(timeout: .now() + 200) == .success)
            #expect(arrived.count == 32)
        }

        @Test("workqueue: what is submitted behind closures that sleep on every worker still runs meanwhile")
        func workQueue() {
            let raised = DispatchSemaphore(value: 0)
            let mayEnd = DispatchSemaphore(value: 0)
            let group = DispatchGroup()
            for _ in 0..<cores * 2 {
                DispatchQueue.global().async(group: group) { mayEnd.wait() }
            }
            DispatchQueue.global().async { raised.signal() }
            #expect(raised.wait(timeout: .now() + 200) == .success)
            for _ in 0..<cores * 2 { mayEnd.signal() }
            group.wait()
        }

        @Test("sema: a semaphore of one guards a plain variable in apply")
        func sema() {
            let permit = DispatchSemaphore(value: 1)
            let total = Holder(0)
            DispatchQueue.concurrentPerform(iterations: 10_000) { _ in
                permit.wait()
                total.value += 1
                permit.signal()
            }
            #expect(total.value == 10_000)
        }

        @Test("group: a hundred queues, used again, a wait that is too short and one that is not, a notification on main")
        func group() {
            let group = DispatchGroup()
            for _ in 0..<100 { DispatchQueue(label: "").async(group: group) {} }
            group.wait()
            DispatchQueue.global().async(group: group) {}
            group.wait()
            let mayEnd = DispatchSemaphore(value: 0)
            for _ in 0..<3 { DispatchQueue(label: "").async(group: group) { mayEnd.wait() } }
            #expect(group.wait(timeout: .now() + .milliseconds(20)) == .timedOut)
            for _ in 0..<3 { mayEnd.signal() }
            #expect(group.wait(timeout: .now() + 200) == .success)
            let told = DispatchSemaphore(value: 0)
            for _ in 0..<100 { DispatchQueue(label: "").async(group: group) {} }
            group.notify(queue: .main) {
                dispatchPrecondition(condition: .onQueue(.main))
                told.signal()
            }
            #expect(told.wait(timeout: .now() + 200) == .success)
        }

        @Test("group, notified: ten thousand groups of one to eight queues that go meanwhile each tell once")
        func groupNotified() {
            let notifying = DispatchQueue(label: "notify")
            let tested = DispatchGroup()
            var kept: [DispatchQueue] = []
            let told = Counter()
            for cycle in 1...10_000 {
                let group = DispatchGroup()
                let queues = (0..<1 + cycle % 8).map { DispatchQueue(label: "T\(cycle)-\($0)") }
                tested.enter()
                group.enter()
                for queue in queues { queue.async(group: group) {} }
                group.leave()
                group.notify(queue: notifying) {
                    told.add()
                    tested.leave()
                }
                kept = queues  // those of the cycle before go now
                guard tested.wait(timeout: .now() + 60) == .success else { break }
            }
            #expect(told.count == 10_000)
            #expect(!kept.isEmpty)
        }

        @Test("context_for_key: values of a queue and its target, replaced, removed and let go")
        func contextForKey() {
            let census = Census()
            let (own, target) = (DispatchSpecificKey<Tracked>(), DispatchSpecificKey<Tracked>())
            func scene() {
                let below = DispatchQueue(label: "below", attributes: .concurrent)
                let queue = DispatchQueue(label: "queue", target: below)
                below.setSpecific(key: target, value: census.newborn())
                queue.async { queue.setSpecific(key: own, value: census.newborn()) }
                queue.async {
                    #expect(DispatchQueue.getSpecific(key: own) != nil)
                    #expect(DispatchQueue.getSpecific(key: target) === below.getSpecific(key: target))
                    #expect(queue.getSpecific(key: target) == nil)
                }
                queue.async {
                    let first = queue.getSpecific(key: own)
                    queue.setSpecific(key: own, value: census.newborn())
                    #expect(queue.getSpecific(key: own) !== first)
                }
                queue.async {
                    queue.setSpecific(key: own, value: nil)
                    #expect(DispatchQueue.getSpecific(key: own) == nil)
                }
                queue.sync {}
            }
            scene()
            #expect(eventually { census.alive == 0 })
            #expect(census.died == 3)
        }

        @Test("queue_finalizer: what a queue keeps goes after its last closure, and not before")
        func queueFinalizer() {
            let census = Census()
            let key = DispatchSpecificKey<Tracked>()
            let seen = Box(-1)
            func scene() {
                let queue = DispatchQueue(label: "finalizer")
                queue.setSpecific(key: key, value: census.newborn())
                queue.asyncAfter(deadline: .now() + .milliseconds(20)) { seen.value = census.alive }
            }
            scene()
            #expect(eventually { census.alive == 0 })
            #expect(seen.value == 1)
        }

        @Test("sync_on_main: another queue syncs onto main between main's own delayed closures")
        func syncOnMain() {
            let other = DispatchQueue(label: "other")
            let isOver = Box(false)
            let over = DispatchSemaphore(value: 0)
            let (synced, fired) = (Counter(), Counter())
            @Sendable func again() {
                if isOver.value {
                    over.signal()
                    return
                }
                fired.add()
                DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(2), execute: again)
            }
            other.async {
                DispatchQueue.main.async(execute: again)
                for _ in 0..<10 {
                    DispatchQueue.main.sync {
                        dispatchPrecondition(condition: .onQueue(.main))
                        synced.add()
                    }
                    Thread.sleep(forTimeInterval: 0.001)
                }
                isOver.value = true
            }
            over.wait()
            #expect(synced.count == 10)
            #expect(fired.count >= 1)
        }

        @Test("after: each delay begins when the one before has ended, none is early, and one of nothing comes too")
        func after() {
            let (begin, over) = (DispatchTime.now(), DispatchSemaphore(value: 0))
            let times = Log<DispatchTime>()
            DispatchQueue.main.asyncAfter(deadline: begin + .milliseconds(60)) {
                times.note(.now())
                DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(20)) {
                    times.note(.now())
                    DispatchQueue.main.asyncAfter(deadline: .now()) {
                        times.note(.now())
                        over.signal()
                    }
                }
            }
            over.wait()
            let all = times.all
            #expect(all[0] >= begin + .milliseconds(60))
            #expect(all[1] >= all[0] + .milliseconds(20))
            #expect(all[2] >= all[1])
        }
    }
}
