import OverdriveCore
import Testing

@Suite("A task queue", .timeLimit(.minutes(10)))
struct TaskQueueTests {
    // MARK: - Making one

    @Test("has the defaults that its documentation names")
    func defaults() {
        let queue = TaskQueue()
        #expect(queue.label == "")
        #expect(queue.qos == .default)
        #expect(queue.maxConcurrentTaskCount == TaskQueue.unlimited)
        #expect(!queue.isSuspended)
        #expect(queue.pendingTaskCount == 0)
        #expect(TaskQueue.serial().maxConcurrentTaskCount == 1)
        #expect(TaskQueue.concurrent(label: "c").maxConcurrentTaskCount == TaskQueue.unlimited)
        #expect(TaskQueue.unlimited == -1)
    }

    @Test("keeps what it was made with")
    func arguments() {
        let queue = TaskQueue.concurrent(label: "images", qos: .utility, maxConcurrentTaskCount: 3)
        #expect(queue.label == "images")
        #expect(queue.qos == .utility)
        #expect(queue.maxConcurrentTaskCount == 3)
        let serial = TaskQueue.serial(label: "journal", qos: .userInitiated)
        #expect(serial.label == "journal")
        #expect(serial.qos == .userInitiated)
    }

    @Test(
        "keeps any label whole",
        arguments: [
            "", " ", "à l'été, 東京 🚄", "100 %s %n %d", "a\0b", String(repeating: "long ", count: 100),
        ])
    func labels(label: String) {
        #expect(TaskQueue.serial(label: label).label == label)
        #expect(TaskQueue.concurrent(label: label).label == label)
    }

    @Test("that is everybody's is the same object each time")
    func everybodys() {
        #expect(TaskQueue.main === TaskQueue.main)
        #expect(TaskQueue.background === TaskQueue.background)
        for qos in TaskQueue.QoS.allCases {
            #expect(TaskQueue.global(qos: qos) === TaskQueue.global(qos: qos))
            #expect(TaskQueue.global(qos: qos).qos == qos)
        }
        #expect(TaskQueue.global() === TaskQueue.global(qos: .default))
        #expect(TaskQueue.background.qos == .background)
        #expect(TaskQueue.main.label == "main")
        #expect(TaskQueue.main.maxConcurrentTaskCount == 1)
    }

    @Test("says in one line what it is and how it stands")
    func description() {
        let scheduler = makeScheduler(workers: 3, name: "render")
        let serial = TaskQueue.serial(label: "journal", qos: .utility, scheduler: scheduler)
        serial.suspend()
        serial.async {}
        #expect("\(serial)" == "TaskQueue \"journal\" (serial, utility, 1 pending, suspended)")
        serial.resume()
        let limited = TaskQueue(maxConcurrentTaskCount: 4, scheduler: scheduler)
        #expect("\(limited)" == "TaskQueue \"\" (4 at a time, default, 0 pending)")
        #expect("\(TaskQueue.global(qos: .background))".hasPrefix("TaskQueue \"global-background\" (concurrent, background, "))
        #expect("\(scheduler)" == "Scheduler \"render\" (workers: 3)")
    }

    @Test("takes any width from 1 on")
    func widths() {
        let queue = TaskQueue()
        for width in [1, 2, 1_000, Int(Int32.max), TaskQueue.unlimited] {
            queue.maxConcurrentTaskCount = width
            #expect(queue.maxConcurrentTaskCount == width)
            #expect(TaskQueue(maxConcurrentTaskCount: width).maxConcurrentTaskCount == width)
        }
    }

    // MARK: - Counting and waiting

    @Test("drained() returns after everything ran, for many tasks at once")
    func drained() async {
        let queue = TaskQueue(scheduler: makeScheduler())
        for _ in 0..<50 {
            let runs = Counter()
            for _ in 0..<20 { queue.async { runs.add() } }
            await withTaskGroup(of: Int.self) { tasks in
                for _ in 0..<5 {
                    tasks.addTask {
                        await queue.drained()
                        return runs.count
                    }
                }
                for await seen in tasks { #expect(seen == 20) }
            }
        }
    }

    // MARK: - Its life

    @Test("that only its own closures hold goes away after the last of them")
    func heldByItsClosures() {
        let scheduler = makeScheduler()
        let group = WaitGroup()
        let runs = Counter()
        for width in [1, 2, TaskQueue.unlimited] {
            for _ in 0..<200 {
                let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
                queue.async(group: group) {
                    runs.add()
                    queue.async(group: group) { withExtendedLifetime(queue) { _ = runs.add() } }
                }
            }
        }
        group.wait()
        #expect(runs.count == 1_200)
    }
}
