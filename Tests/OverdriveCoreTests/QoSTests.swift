import OverdriveCore
import Testing

@Suite("Quality of service", .timeLimit(.minutes(1)))
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
