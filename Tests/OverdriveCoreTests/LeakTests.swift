import OverdriveCore
import Testing

@Suite("Nothing is left over", .timeLimit(.minutes(10)))
struct LeakTests {
    @Test("after closures came in by every way and left by every way", arguments: 0..<5)
    func everything(round: Int) async {
        let census = Census()
        let scheduler = makeScheduler(workers: 1 + round % 3, spares: 8)
        do {
            let queues = [
                TaskQueue(scheduler: scheduler), TaskQueue.serial(scheduler: scheduler),
                TaskQueue(qos: .utility, maxConcurrentTaskCount: 2, scheduler: scheduler),
            ]
            let aside = TaskQueue.serial(scheduler: scheduler)
            let group = WaitGroup()
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<300 {
                    let queue = queues[number % 3]
                    let tracked = census.newborn()
                    switch number % 8 {
                    case 0: queue.async { tracked.touch() }
                    case 1: queue.async(group: group) { queue.async { tracked.touch() } }
                    case 2: queue.async(qos: .userInteractive) { aside.sync { tracked.touch() } }
                    case 3: tasks.addTask { try? await queue.run { tracked.touch() } }
                    case 4: tasks.addTask(executorPreference: scheduler) { tracked.touch() }
                    case 5: group.notify(on: queue) { tracked.touch() }
                    case 6: _ = queue.cancelAll()
                    default:
                        queue.suspend()
                        queue.async(group: group) { tracked.touch() }
                        queue.resume()
                    }
                }
            }
            for queue in queues { queue.cancelAll() }
            await group.wait()
            for queue in queues { await queue.drained() }
        }
        await scheduler.shutdown(timeout: .seconds(10))
        #expect(census.alive == 0)
        #expect(census.died == 300)
    }
}
