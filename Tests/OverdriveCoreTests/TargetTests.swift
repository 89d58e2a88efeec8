import OverdriveCore
import Testing

@Suite("A queue on a queue", .timeLimit(.minutes(10)))
struct TargetTests {
    @Test("keeps its target's limit and its own order", arguments: [1, 2])
    func limit(width: Int) {
        let target = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 3))
        let (first, second) = (TaskQueue.serial(label: "a", target: target), TaskQueue.concurrent(target: target))
        let (crowd, order) = (Crowd(), Log<Int>())
        for number in 0..<300 {
            first.async { crowd.visit { order.note(number) } }
            second.async { crowd.visit() }
            target.async { crowd.visit() }
        }
        for queue in [first, second, target] { queue.waitUntilAllTasksAreFinished() }
        #expect(crowd.most <= width)
        #expect(order.all == Array(0..<300))
    }

    @Test("has its quality of service, and takes its target's scheduler")
    func qos() {
        let target = TaskQueue.serial(qos: .utility, scheduler: makeScheduler())
        #expect(TaskQueue.serial(target: target).qos == .utility)
        #expect(TaskQueue.serial(qos: .userInitiated, target: target).qos == .userInitiated)
    }

    @Test("is held by its target's suspension, not the other way round")
    func suspended() {
        let target = TaskQueue.serial(scheduler: makeScheduler())
        let queue = TaskQueue.serial(target: target)
        let runs = Counter()
        target.suspend()
        queue.async { runs.add() }
        #expect(queue.pendingTaskCount == 1)
        #expect(!queue.isSuspended)
        #expect(runs.count == 0)
        target.resume()
        queue.waitUntilAllTasksAreFinished()
        queue.suspend()
        #expect(target.sync { 1 } == 1)
        queue.resume()
    }

    @Test("keeps its target, and its values, until its last closure")
    func lives() {
        let key = TaskQueue.SpecificKey<String>()
        for _ in 0..<50 {
            let (seen, group) = (Log<String?>(), WaitGroup())
            do {
                let target = TaskQueue.serial(scheduler: makeScheduler())
                target.setSpecific(key: key, value: "target's")
                let queue = TaskQueue.concurrent(target: TaskQueue.serial(target: target))
                for _ in 0..<10 { queue.async(group: group) { seen.note(TaskQueue.getSpecific(key: key)) } }
            }
            group.wait()
            #expect(seen.all == Array(repeating: "target's", count: 10))
        }
    }

    @Test("let go together with its suspended or inactive target runs its closures", arguments: [false, true])
    func letGoWithTarget(inactive: Bool) {
        let key = TaskQueue.SpecificKey<String>()
        for _ in 0..<20 {
            let (seen, group) = (Log<String?>(), WaitGroup())
            do {
                let last = TaskQueue.serial(scheduler: makeScheduler())
                last.setSpecific(key: key, value: "the last one's")
                last.suspend()
                let target = TaskQueue.serial(target: last, initiallyInactive: inactive)
                if !inactive { target.suspend() }
                let queue = TaskQueue.concurrent(target: target)
                for _ in 0..<10 { queue.async(group: group) { seen.note(TaskQueue.getSpecific(key: key)) } }
            }
            #expect(group.wait(timeout: .seconds(20)) == .success)
            #expect(seen.all == Array(repeating: "the last one's", count: 10))
        }
    }

    @Test("let go before its target finds the values of what that is put on later")
    func targetMovedLater() {
        let key = TaskQueue.SpecificKey<String>()
        let scheduler = makeScheduler()
        let (seen, group) = (Log<String?>(), WaitGroup())
        do {
            let target = TaskQueue.serial(initiallyInactive: true, scheduler: scheduler)
            do {
                let queue = TaskQueue.concurrent(target: target)
                for _ in 0..<10 { queue.async(group: group) { seen.note(TaskQueue.getSpecific(key: key)) } }
            }
            let last = TaskQueue.serial(scheduler: scheduler)
            last.setSpecific(key: key, value: "the last one's")
            target.setTarget(last)
        }
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(seen.all == Array(repeating: "the last one's", count: 10))
    }

    @Test("may be put on another one while it is inactive")
    func moved() {
        let scheduler = makeScheduler()
        let (first, second) = (TaskQueue.serial(scheduler: scheduler), TaskQueue.serial(scheduler: scheduler))
        let queue = TaskQueue.serial(label: "moving", target: first, initiallyInactive: true)
        first.suspend()
        queue.setTarget(second)
        queue.activate()
        #expect(queue.sync { second.assertOnQueue(); return 1 } == 1)
        first.resume()
    }

    @Test("on everybody's queue is on it")
    func shared() {
        let queue = TaskQueue.serial(target: .global(qos: .utility))
        #expect(queue.qos == .utility)
        #expect(queue.sync { TaskQueue.global(qos: .utility).assertOnQueue(); return 1 } == 1)
    }

    @Test("is refused where it would be on itself, with the path")
    func circle() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (a, b) = (
                TaskQueue.serial(label: "a", initiallyInactive: true),
                TaskQueue.serial(label: "b", initiallyInactive: true))
            a.setTarget(b)
            b.setTarget(a)
        }
        #expect(said(result).contains("TaskQueue.setTarget of \"b\" would put it on itself: \"b\" -> \"a\" -> \"b\""))
    }

    @Test("cannot be moved any more once it is active")
    func late() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            TaskQueue.serial(label: "late").setTarget(.serial())
        }
        #expect(said(result).contains("TaskQueue.setTarget of \"late\", which is active"))
    }

    @Test("cannot be on a dispatch queue")
    func main() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = TaskQueue.serial(label: "x", target: .main)
        }
        #expect(said(result).contains("TaskQueue \"x\" cannot be on \"main\", which runs on a dispatch queue"))
    }

    @Test("is not waited for from a closure of its serial target")
    func selfWait() async {
        let syncing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let low = TaskQueue.serial(label: "low")
            let high = TaskQueue.serial(label: "high", target: low)
            low.sync { high.sync {} }
        }
        #expect(said(syncing).contains("TaskQueue.sync on \"high\" from a closure of \"low\", the queue that it is on"))
        let waiting = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let low = TaskQueue.serial(label: "low")
            let high = TaskQueue.serial(label: "high", target: low)
            low.sync { wait(for: high) }
        }
        #expect(
            said(waiting).contains(
                "TaskQueue.waitUntilAllTasksAreFinished() of \"high\" from a closure of \"low\", the queue that it is on"))
    }

    /// Found by thinking: all of the target's places were held by callers that waited for one of them.
    @Test("is waited for from every closure of its limited target", arguments: [2, 3, TaskQueue.unlimited])
    func lends(width: Int) {
        let target = TaskQueue(maxConcurrentTaskCount: 2, scheduler: makeScheduler(workers: 3))
        let upper = TaskQueue.concurrent(maxConcurrentTaskCount: width, target: target)
        let serial = TaskQueue.serial(target: upper)
        let (crowd, syncs) = (Crowd(), Counter())
        for number in 0..<300 {
            serial.async { crowd.visit() }
            upper.async { crowd.visit() }
            target.async {
                if number % 3 == 0 {
                    upper.sync { crowd.visit { syncs.add() } }
                } else if number % 3 == 1 {
                    serial.sync { crowd.visit { syncs.add() } }
                } else {
                    serial.sync(flags: .barrier) { crowd.visit { syncs.add() } }
                }
            }
        }
        for _ in 0..<100 { serial.sync { crowd.visit { syncs.add() } } }
        for queue in [serial, upper, target] { queue.waitUntilAllTasksAreFinished() }
        #expect(syncs.count == 400)
        #expect(crowd.most <= 2)
    }

    @Test("and a limited queue itself is synced onto by all of its closures")
    func inside() {
        let queue = TaskQueue(maxConcurrentTaskCount: 2, scheduler: makeScheduler(workers: 3))
        let (begun, syncs) = (Counter(), Counter())
        for _ in 0..<2 {
            queue.async {
                begun.add()
                #expect(eventually { begun.count == 2 })
                queue.sync { _ = syncs.add() }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(syncs.count == 2)
    }

    private func said(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
}

private func wait(for queue: TaskQueue) {
    queue.waitUntilAllTasksAreFinished()
}
