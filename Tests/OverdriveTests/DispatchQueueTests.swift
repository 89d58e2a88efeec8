import Dispatch
import Overdrive
import Testing

@Suite("A queue on a dispatch queue", .timeLimit(.minutes(10)))
struct DispatchQueueTests {
    private let legacy = DispatchQueue(label: "legacy", qos: .utility)

    @Test("runs its closures there, in its order, with their group")
    func async() {
        let mark = DispatchSpecificKey<Int>()
        legacy.setSpecific(key: mark, value: 7)
        let queue = TaskQueue(queue: legacy)
        let group = WaitGroup()
        let order = Log<Int>()
        let strangers = Counter()
        for number in 0..<50 {
            queue.async(group: group) {
                if DispatchQueue.getSpecific(key: mark) != 7 { strangers.add() }
                order.note(number)
            }
        }
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(order.all == Array(0..<50))
        #expect(strangers.count == 0)
        #expect(queue.label == "legacy")
        #expect(queue.qos == .utility)
        #expect(queue.description.hasPrefix("TaskQueue \"legacy\" (concurrent, utility, "))
    }

    @Test("shares its order with what others submit there")
    func order() async {
        let queue = TaskQueue(queue: legacy)
        let order = Log<Int>()
        queue.async { order.note(1) }
        legacy.async { order.note(2) }
        queue.async { order.note(3) }
        await queue.drained()
        #expect(order.all == [1, 2, 3])
    }

    @Test("hands quality of service and flags on, and says them inside")
    func qualityOfService() async {
        let flags: [(TaskQueue.Flags, DispatchWorkItemFlags)] = [
            (.barrier, .barrier), (.enforceQoS, .enforceQoS), (.inheritQoS, .inheritQoS), (.detached, .detached), (.noQoS, .noQoS),
        ]
        #expect(flags.allSatisfy { UInt($0.rawValue) == $1.rawValue })
        let queue = TaskQueue(queue: legacy)
        let seen = Log<TaskQueue.QoS?>()
        queue.async { seen.note(.current) }
        queue.async(qos: .userInitiated) { seen.note(.current) }
        queue.async(qos: .background) { seen.note(.current) }
        queue.async(qos: .background, flags: .enforceQoS) { seen.note(.current) }
        queue.async(qos: .userInteractive, flags: .detached) {
            seen.note(.current)
            queue.async(flags: .inheritQoS) { seen.note(.current) }
        }
        await queue.drained()
        #expect(seen.all == [.utility, .userInitiated, .utility, .background, .userInteractive, .userInteractive])
        onThreads(1) { _ in
            #expect(queue.sync { TaskQueue.QoS.current } == .utility)
            let high = DispatchQueue(label: "high", qos: .userInitiated)
            #expect(TaskQueue(queue: high).sync { queue.sync { TaskQueue.QoS.current } } == .userInitiated)
            #expect(queue.sync { TaskQueue(qos: .userInteractive).sync { TaskQueue.QoS.current } } == .userInteractive)
            #expect(TaskQueue.QoS.current == nil)
        }
    }

    @Test("keeps barriers apart, submitted and synced")
    func barriers() async {
        await #expect(processExitsWith: .success) {  // one in which nothing else goes on
            let queue = TaskQueue(queue: DispatchQueue(label: "concurrent", attributes: .concurrent))
            let (first, barrier, order) = (Gate(), Gate(), Log<Int>())
            queue.async {
                first.pass()
                order.note(1)
            }
            queue.async(flags: .barrier) {
                barrier.pass()
                order.note(2)
            }
            queue.async { order.note(3) }
            onThread { queue.sync(flags: .barrier) { order.note(4) } }
            #expect(comesToRest())
            #expect(barrier.arrivals == 0 && order.all == [])
            first.open()
            #expect(eventually { barrier.arrivals == 1 })
            #expect(comesToRest())
            #expect(order.all == [1])
            barrier.open()
            #expect(eventually { order.all.count == 4 })
            #expect(order.all == [1, 2, 3, 4])
        }
    }

    @Test("syncs, runs, waits and drains")
    func waiting() async throws {
        let queue = TaskQueue(queue: legacy)
        #expect(queue.sync { 5 } == 5)
        do throws(Flaw) {
            try queue.sync { () throws(Flaw) in throw Flaw() }
            Issue.record("it threw")
        } catch {
            #expect(error == Flaw())
        }
        let result = try await queue.run { 6 }
        #expect(result == 6)
        let runs = Counter()
        for _ in 0..<20 { queue.async { runs.add() } }
        await queue.drained()
        #expect(runs.count == 20)
        #expect(queue.pendingTaskCount == 0)
        onThreads(1) { _ in
            for _ in 0..<20 { queue.async { runs.add() } }
            queue.waitUntilAllTasksAreFinished()
            #expect(runs.count == 40 && queue.runningTaskCount == 0)
        }
    }

    @Test("takes work items, notifications, timers and tasks")
    func companions() async throws {
        let queue = TaskQueue(queue: legacy)
        let runs = Counter()
        let item = WorkItem { runs.add() }
        queue.async(execute: item)
        let follower = WorkItem { runs.add() }
        item.notify(on: queue, execute: follower)
        await follower.wait()
        let later = WorkItem { runs.add() }
        queue.asyncAfter(.milliseconds(2), execute: later)
        await later.wait()
        #expect(runs.count == 3)
        let task = queue.add { 8 }
        #expect(try await task.value == 8)
        queue.concurrentPerform(iterations: 10) { _ in runs.add() }
        #expect(runs.count == 13)
    }

    @Test("knows its closures, and keeps values for them")
    func whereabouts() async {
        let queue = TaskQueue(queue: legacy)
        let (other, inner) = (TaskQueue.serial(label: "other"), TaskQueue(queue: DispatchQueue(label: "inner")))
        let key = TaskQueue.SpecificKey<String>()
        queue.setSpecific(key: key, value: "mine")
        queue.assertNotOnQueue()
        let seen = Log<String?>()
        queue.async {
            queue.assertOnQueue()
            other.assertNotOnQueue()
            seen.note(TaskQueue.getSpecific(key: key))
            seen.note(TaskQueue.currentLabel)
            other.sync {
                queue.assertOnQueue()
                seen.note(TaskQueue.currentLabel)
            }
            inner.sync { seen.note(TaskQueue.currentLabel) }
            seen.note(TaskQueue.currentLabel)
        }
        await queue.drained()
        queue.sync { queue.assertOnQueue() }
        queue.assertNotOnQueue()
        #expect(seen.all == ["mine", "legacy", "other", "inner", "legacy"])
        #expect(TaskQueue.getSpecific(key: key) == nil)
    }

    @Test("is the main queue where it is made of that one")
    func main() async {
        let queue = TaskQueue(queue: .main)
        let onMain = Log<Bool>()
        queue.async {
            MainActor.assertIsolated()
            onMain.note(true)
        }
        await queue.drained()
        #expect(onMain.all == [true])
        #expect(queue.maxConcurrentTaskCount == 1)
    }

    @Test("may be everybody's")
    func global() async {
        let queue = TaskQueue(queue: .global(qos: .userInitiated))
        let runs = Counter()
        for _ in 0..<100 { queue.async { runs.add() } }
        await queue.drained()
        #expect(runs.count == 100)
        #expect(queue.qos == .userInitiated)
        #expect(queue.maxConcurrentTaskCount == TaskQueue.unlimited)
    }

    @Test("gives the closures of a batch the batch's quality of service")
    func batch() async {
        let queue = TaskQueue(queue: DispatchQueue(label: "legacy", qos: .utility))
        let seen = Log<TaskQueue.QoS?>()
        queue.asyncBatch(qos: .userInitiated) { $0.async { seen.note(TaskQueue.QoS.current) } }
        await queue.drained()
        #expect(seen.all == [.userInitiated])
    }
}
