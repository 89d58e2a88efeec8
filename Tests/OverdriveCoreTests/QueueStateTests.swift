import Dispatch
import OverdriveCore
import Testing

@Suite("An inactive queue", .timeLimit(.minutes(10)))
struct InactiveQueueTests {
    @Test("can be made with a label, and everybody's queues are active")
    func factories() {
        #expect(!TaskQueue.concurrent(label: "c", initiallyInactive: true).isActive)
        #expect(!TaskQueue.serial(label: "s", initiallyInactive: true).isActive)
        #expect(TaskQueue.serial(label: "s").isActive)
        for queue in [TaskQueue.main, .background, .global()] {
            queue.activate()
            #expect(queue.isActive)
        }
    }

    @Test("is named so in a dump")
    func dump() {
        let scheduler = makeScheduler()
        let queue = TaskQueue.serial(label: "later", initiallyInactive: true, scheduler: scheduler)
        queue.async {}
        let text = scheduler.dump().description
        #expect(text.contains("queue \"later\" (serial, default, inactive): 1 pending"), "\(text)")
        queue.activate()
    }
}

@Suite("The number of closures that run", .timeLimit(.minutes(10)))
struct RunningCountTests {
    @Test("counts run(_:) and timers")
    func others() async throws {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        #expect(try await queue.run { queue.runningTaskCount } == 1)
        let (seen, done) = (Log<Int>(), Gate())
        queue.asyncAfter(.zero) {
            seen.note(queue.runningTaskCount)
            done.open()
        }
        done.pass()
        #expect(seen.all == [1])
    }

    @Test("of the main queue is of the closures that came by way of it")
    func main() async {
        let seen = Log<Int>()
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            TaskQueue.main.async {
                seen.note(TaskQueue.main.runningTaskCount)
                continuation.resume()
            }
        }
        #expect(seen.all.count == 1 && seen.all[0] >= 1)
    }
}
