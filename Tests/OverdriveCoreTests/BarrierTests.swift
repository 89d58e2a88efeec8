import OverdriveCore
import Testing

@Suite("Barriers")
struct BarrierTests {
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
