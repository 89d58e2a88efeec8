import OverdriveCore
import Testing

@Suite("Barriers")
struct BarrierTests {
    static let widths = [TaskQueue.unlimited, 1, 2, 5]

    @Test("have all before them and none after", arguments: widths)
    func exact(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler(workers: 3))
        let (finished, wrong) = (Counter(), Counter())
        let crowd = Crowd()
        var sinceBarrier = 0
        for number in 0..<3_000 {
            if number % 17 == 16 {
                queue.async(flags: .barrier) {
                    if finished.count != number { wrong.add() }
                    crowd.visit { if finished.count != number { wrong.add() } }
                    finished.add()
                }
                sinceBarrier = number + 1
            } else {
                let barrier = sinceBarrier
                queue.async {
                    if finished.count < barrier { wrong.add() }
                    finished.add()
                }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(finished.count == 3_000)
        #expect(wrong.count == 0)
        #expect(crowd.most == 1)
    }

    @Test("guard what readers read, from async and sync alike")
    func readersAndWriters() {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 3))
        // Guarded by the queue's barriers alone.
        let pair = Holder((0, 0))
        let (reads, writes, torn) = (Counter(), Counter(), Counter())
        onThreads(3) { thread in
            for number in 0..<4_000 {
                switch (number * 7 + thread) % 20 {
                case 0:
                    queue.async(flags: .barrier) {
                        pair.value.0 += 1
                        pair.value.1 += 1
                        writes.add()
                    }
                case 1:
                    queue.sync(flags: .barrier) {
                        pair.value.0 += 1
                        pair.value.1 += 1
                        writes.add()
                    }
                case 2...10:
                    queue.async {
                        if pair.value.0 != pair.value.1 { torn.add() }
                        reads.add()
                    }
                default:
                    queue.sync {
                        if pair.value.0 != pair.value.1 { torn.add() }
                        reads.add()
                    }
                }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(reads.count + writes.count == 12_000)
        #expect(pair.value == (writes.count, writes.count))
        #expect(torn.count == 0)
    }

    @Test("return values and errors")
    func results() {
        struct Refusal: Error {}
        let queue = TaskQueue()
        #expect(queue.sync(flags: .barrier) { 42 } == 42)
        #expect(throws: Refusal.self) { try queue.sync(flags: .barrier) { throw Refusal() } }
        #expect(queue.sync { 1 } == 1)
    }

    @Test("that are cancelled hold nothing back")
    func cancelled() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let ran = Counter()
        queue.suspend()
        queue.async(flags: .barrier) { ran.add(100) }
        queue.async { ran.add(100) }
        #expect(queue.cancelAll() == 2)
        queue.async(flags: .barrier) { ran.add() }
        queue.async { ran.add() }
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(ran.count == 2)
    }

    @Test("of work items count too")
    func items() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let (gate, finished) = (Gate(), Counter())
        queue.async {
            gate.pass()
            finished.add()
        }
        let seen = Counter(-1)
        queue.async(execute: WorkItem(flags: .barrier) { seen.add(1 + finished.count) })
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.count == 1)
    }

    @Test("have no effect on everybody's queues")
    func global() {
        let queue = TaskQueue.global()
        let (gate, group) = (Gate(), WaitGroup())
        let inside = Counter()
        queue.async(group: group) {
            inside.add()
            blocking { gate.pass() }
        }
        #expect(eventually { inside.count == 1 })
        queue.async(group: group, flags: .barrier) { gate.open() }
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(queue.sync(flags: .barrier) { 7 } == 7)
    }

    @Test("are not waited for from the queue's own closures: sync traps")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            let queue = TaskQueue(scheduler: makeScheduler())
            queue.async { queue.sync(flags: .barrier) {} }
            await queue.drained()
        }
    }

    @Test("A closure's quality of service can be enforced below its queue's, or inherited")
    func qualityOfService() {
        let queue = TaskQueue(qos: .userInitiated, scheduler: makeScheduler())
        let seen = Log<TaskQueue.QoS?>()
        let note: @Sendable () -> Void = { seen.note(TaskQueue.QoS.current) }
        let group = WaitGroup()
        func run(qos: TaskQueue.QoS?, _ flags: TaskQueue.Flags) {
            queue.async(group: group, qos: qos, flags: flags, execute: note)
            group.wait()
        }
        run(qos: .background, [])
        run(qos: .background, .enforceQoS)
        run(qos: .userInteractive, .enforceQoS)
        run(qos: nil, .enforceQoS)
        queue.async(group: group, qos: .userInteractive) {
            queue.async(group: group, flags: .inheritQoS, execute: note)
        }
        group.wait()
        queue.async(group: group, qos: .userInteractive) {
            queue.async(group: group, flags: .detached, execute: note)
        }
        group.wait()
        #expect(
            seen.all == [.userInitiated, .background, .userInteractive, .userInitiated, .userInteractive, .userInitiated])
    }
}
