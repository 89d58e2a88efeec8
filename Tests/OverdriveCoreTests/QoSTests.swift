import Dispatch
import OverdriveCore
import Testing

@Suite("Quality of service", .timeLimit(.minutes(10)))
struct QoSTests {
    @Test("is ordered from background to user interactive")
    func order() {
        #expect(TaskQueue.QoS.allCases.sorted() == [.background, .utility, .default, .userInitiated, .userInteractive])
        #expect(TaskQueue.QoS.userInteractive > .background)
        #expect(TaskQueue.QoS.allCases.count == 5)
    }

    @Test("is nobody's outside of closures")
    func outside() {
        onThreads(1) { _ in #expect(TaskQueue.QoS.current == nil) }
    }

    @Test("is the queue's inside of its closures", arguments: TaskQueue.QoS.allCases, [1, TaskQueue.unlimited])
    func inside(qos: TaskQueue.QoS, width: Int) async throws {
        let queue = TaskQueue(qos: qos, maxConcurrentTaskCount: width, scheduler: makeScheduler())
        #expect(try await queue.run { TaskQueue.QoS.current } == qos)
    }

    @Test("of a closure may be raised above its queue's, not lowered", arguments: [1, TaskQueue.unlimited])
    func raised(width: Int) {
        let scheduler = makeScheduler()
        for own in TaskQueue.QoS.allCases {
            let queue = TaskQueue(qos: own, maxConcurrentTaskCount: width, scheduler: scheduler)
            for asked in TaskQueue.QoS.allCases {
                let seen = Log<TaskQueue.QoS?>()
                queue.async(qos: asked) { seen.note(.current) }
                queue.waitUntilAllTasksAreFinished()
                #expect(seen.all == [max(own, asked)])
            }
        }
    }

    @Test("decides who starts first")
    func whoIsFirst() {
        let scheduler = makeScheduler(workers: 1)
        let order = Log<TaskQueue.QoS>()
        let group = WaitGroup()
        let (started, gate) = (Gate(), Gate())
        TaskQueue(scheduler: scheduler).async {
            started.open()
            gate.pass()
        }
        started.pass()
        for qos in TaskQueue.QoS.allCases.reversed() {
            TaskQueue(qos: qos, scheduler: scheduler).async(group: group) { order.note(qos) }
        }
        gate.open()
        group.wait()
        #expect(order.all == TaskQueue.QoS.allCases)
    }

    enum Awaited: CaseIterable { case group, queue, item, turn }

    @Test("is lent by who waits to what it waits for", arguments: Awaited.allCases, [1, 2, TaskQueue.unlimited])
    func lent(awaited: Awaited, width: Int) async throws {
        guard awaited != .turn || width == 1 else { return }  // elsewhere a sync need not wait
        // Who waits hands its place to the spare, which has the choice of all.
        let scheduler = makeScheduler(workers: 1, spares: 1)
        let interactive = TaskQueue(qos: .userInteractive, scheduler: scheduler)
        let middle = TaskQueue(scheduler: scheduler)
        let background = TaskQueue(qos: .background, maxConcurrentTaskCount: width, scheduler: scheduler)
        let (before, seen) = (Counter(), Log<Int>())
        try await interactive.run {
            for _ in 0..<100 { middle.async { before.add() } }
            let body = { @Sendable in seen.note(before.count) }
            switch awaited {
            case .group:
                let group = WaitGroup()
                background.async(group: group, execute: body)
                group.wait()
            case .queue:
                background.async(execute: body)
                background.waitUntilAllTasksAreFinished()
            case .item:
                let item = WorkItem(execute: body)
                background.async(execute: item)
                item.wait()
            case .turn:
                background.async(execute: body)
                background.sync {}
            }
        }
        #expect(seen.all == [0])
        await middle.drained()
        #expect(before.count == 100)
    }

    @Test("of a closure is lent to what a serial queue holds before it")
    func raisedInASerialQueue() async throws {
        let scheduler = makeScheduler(workers: 1)
        let serial = TaskQueue.serial(qos: .background, scheduler: scheduler)
        let middle = TaskQueue(scheduler: scheduler)
        let order = Log<String>()
        let (started, gate) = (Gate(), Gate())
        middle.async {
            started.open()
            gate.pass()
        }
        started.pass()
        serial.async { order.note("first") }
        for _ in 0..<20 { middle.async { order.note("middle") } }
        serial.async(qos: .userInitiated) { order.note("second") }
        serial.async { order.note("third") }
        gate.open()
        while order.all.count < 23 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(order.all == ["first", "second"] + Array(repeating: "middle", count: 20) + ["third"])
    }

    @Test("in a sync is the queue's or the caller's, whichever is higher", arguments: [1, TaskQueue.unlimited])
    func inSync(width: Int) async throws {
        let scheduler = makeScheduler()
        let outer = TaskQueue(qos: .utility, scheduler: scheduler)
        for qos in TaskQueue.QoS.allCases {
            let queue = TaskQueue(qos: qos, maxConcurrentTaskCount: width, scheduler: scheduler)
            onThreads(1) { _ in #expect(queue.sync { TaskQueue.QoS.current } == qos) }
            let inside = try await outer.run { queue.sync { TaskQueue.QoS.current } }
            #expect(inside == max(qos, .utility))
        }
    }

    @Test("of a notification is what was asked for, by the flags of who asked")
    func notification() async throws {
        let scheduler = makeScheduler()
        let asker = TaskQueue(qos: .userInitiated, scheduler: scheduler)
        let queue = TaskQueue(qos: .utility, scheduler: scheduler)
        let cases: [(qos: TaskQueue.QoS?, flags: TaskQueue.Flags, seen: TaskQueue.QoS)] = [
            (nil, [], .utility), (.userInteractive, [], .userInteractive), (.background, [], .utility),
            (.background, .enforceQoS, .background), (.userInteractive, .noQoS, .utility),
            (nil, .inheritQoS, .userInitiated), (.userInteractive, .inheritQoS, .userInteractive),
            (nil, .detached, .utility), (.userInteractive, [.noQoS, .enforceQoS], .utility),
        ]
        for each in cases {
            let (group, item, seen) = (WaitGroup(), WorkItem {}, Log<TaskQueue.QoS?>())
            group.enter()
            try await asker.run {
                group.notify(on: queue, qos: each.qos, flags: each.flags) { seen.note(.current) }
                item.notify(on: queue, qos: each.qos, flags: each.flags) { seen.note(.current) }
            }
            group.leave()
            item.perform()
            await queue.drained()
            #expect(seen.all == [each.seen, each.seen], "\(each)")
        }
    }

    @Test("is the main queue's in its closures, whoever submits them")
    func onMain() async {
        let seen = await withCheckedContinuation { continuation in
            TaskQueue.main.async { continuation.resume(returning: TaskQueue.QoS.current) }
        }
        #expect(seen == .userInteractive)
        let past = await withCheckedContinuation { continuation in
            DispatchQueue.main.async { continuation.resume(returning: TaskQueue.QoS.current) }
        }
        #expect(past == .userInteractive)
    }

    @Test("that is low is passed over at most 256 times")
    func passedOver() {
        let scheduler = makeScheduler(workers: 1)
        let busy = TaskQueue(qos: .userInteractive, scheduler: scheduler)
        let quiet = TaskQueue(qos: .background, scheduler: scheduler)
        let group = WaitGroup()
        let before = Counter()
        let seen = Log<Int>()
        let (started, gate) = (Gate(), Gate())
        busy.async {
            started.open()
            gate.pass()
        }
        started.pass()
        quiet.async(group: group) { seen.note(before.count) }
        for _ in 0..<2_000 { busy.async(group: group) { before.add() } }
        gate.open()
        group.wait()
        #expect(seen.all.count == 1)
        #expect(seen.all.allSatisfy { $0 <= 256 })
    }

    @Test("of closures in every band at once loses none of them", arguments: 1...3)
    func everyBand(workers: Int) {
        let scheduler = makeScheduler(workers: workers)
        let queues = TaskQueue.QoS.allCases.map { TaskQueue(qos: $0, scheduler: scheduler) }
        let group = WaitGroup()
        let runs = Counter()
        onThreads(2) { _ in
            for _ in 0..<500 {
                for queue in queues {
                    queue.async(group: group) {
                        queue.async(group: group, qos: .userInitiated) { runs.add() }
                    }
                }
            }
        }
        group.wait()
        #expect(runs.count == 5_000)
    }

    @Test("of a Swift task is its priority's")
    func priorities() async {
        let scheduler = makeScheduler()
        for priority in [TaskPriority.high, .medium, .low, .background] {
            let ran = await Task(executorPreference: scheduler, priority: priority) {
                scheduler.isCurrent && Task.currentPriority >= priority
            }.value
            #expect(ran)
        }
    }
}
