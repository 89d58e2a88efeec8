import OverdriveCore
import Testing

@Suite("A queue on a queue", .timeLimit(.minutes(10)))
struct TargetTests {
    @Test("has its quality of service, and takes its target's scheduler")
    func qos() {
        let target = TaskQueue.serial(qos: .utility, scheduler: makeScheduler())
        #expect(TaskQueue.serial(target: target).qos == .utility)
        #expect(TaskQueue.serial(qos: .userInitiated, target: target).qos == .userInitiated)
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

    @Test("on everybody's queue is on it")
    func shared() {
        let queue = TaskQueue.serial(target: .global(qos: .utility))
        #expect(queue.qos == .utility)
        #expect(queue.sync { TaskQueue.global(qos: .utility).assertOnQueue(); return 1 } == 1)
    }
}
