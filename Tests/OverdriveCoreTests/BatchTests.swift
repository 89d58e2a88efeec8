import OverdriveCore
import Testing

@Suite("A batch", .timeLimit(.minutes(10)))
struct BatchTests {
    @Test("runs each closure once and releases it", arguments: [0, 1, 255, 256, 257, 1_000])
    func runs(count: Int) {
        let census = Census()
        for width in [1, 2, TaskQueue.unlimited] {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
            let (group, runs) = (WaitGroup(), Counter())
            queue.asyncBatch(group: group) { batch in
                for _ in 0..<count {
                    let captured = census.newborn()
                    batch.async {
                        captured.touch()
                        runs.add()
                    }
                }
            }
            group.wait()
            #expect(runs.count == count)
        }
        #expect(eventually { census.alive == 0 })
    }

    @Test("returns what it is filled by, and submits what was added before a throw")
    func outcome() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let runs = Counter()
        #expect(queue.asyncBatch { _ in 7 } == 7)
        #expect(throws: Flaw.self) {
            try queue.asyncBatch { batch in
                batch.async { runs.add() }
                throw Flaw()
            }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 1)
    }

    @Test("is cancelled closure by closure")
    func cancelled() {
        let (queue, census) = (TaskQueue(scheduler: makeScheduler()), Census())
        queue.suspend()
        queue.asyncBatch { batch in
            for _ in 0..<300 {
                let captured = census.newborn()
                batch.async { captured.touch() }
            }
        }
        #expect(queue.cancelAll() == 300)
        #expect(census.alive == 0)
        queue.resume()
    }

    @Test("goes to the main queue closure by closure")
    func main() async {
        let (group, runs, gate) = (WaitGroup(), Counter(), Gate())
        func isOver() -> Bool { group.wait(timeout: .zero) == .success }
        TaskQueue.main.async { gate.pass() }
        TaskQueue.main.asyncBatch(group: group) { batch in
            for _ in 0..<10 { batch.async { runs.add() } }
        }
        #expect(!isOver())
        gate.open()
        await group.wait()
        #expect(runs.count == 10)
    }

    @Test("is counted by a tracked queue")
    func tracked() {
        let queue = TaskQueue(scheduler: makeScheduler())
        queue.trackProgress(total: 5)
        queue.asyncBatch { batch in
            for _ in 0..<5 { batch.async {} }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(eventually { queue.progress?.done == 5 })
    }

    @Test("within a batch is submitted when it is filled, before what the outer one has")
    func nested() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let (order, census) = (Log<Int>(), Census())
        queue.asyncBatch { outer in
            func add(_ number: Int, to batch: inout TaskQueue.Batch) {
                let captured = census.newborn()
                batch.async {
                    captured.touch()
                    order.note(number)
                }
            }
            add(2, to: &outer)
            queue.asyncBatch { inner in
                add(0, to: &inner)
                add(3, to: &outer)
                add(1, to: &inner)
            }
            add(4, to: &outer)
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(order.all == [0, 1, 2, 3, 4])
        #expect(eventually { census.alive == 0 })
    }
}
