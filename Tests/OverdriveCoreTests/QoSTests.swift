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

    @Test("is nobody's outside of closures, and of tasks on a scheduler")
    func outside() async {
        onThreads(1) { _ in #expect(TaskQueue.QoS.current == nil) }
        #expect(await Task.detached { TaskQueue.QoS.current }.value == nil)
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
            (.background, .inheritQoS, .userInitiated),
            (nil, .detached, .utility), (.userInteractive, [.noQoS, .enforceQoS], .utility),
        ]
        for each in cases {
            let (group, item, seen) = (WaitGroup(), WorkItem {}, Log<TaskQueue.QoS?>())
            group.enter()
            try await asker.run {
                group.notify(on: queue, qos: each.qos, flags: each.flags) { seen.note(.current) }
                item.notify(on: queue, qos: each.qos, flags: each.flags) { seen.note(.current) }
            }
            try await TaskQueue(qos: .userInteractive, scheduler: scheduler).run {
                group.leave()
                item.perform()
            }
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
