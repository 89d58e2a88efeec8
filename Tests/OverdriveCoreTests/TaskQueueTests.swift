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

    @Test("runs work on the queues that are everybody's")
    func everybodysRun() {
        let group = WaitGroup()
        let runs = Counter()
        for qos in TaskQueue.QoS.allCases {
            TaskQueue.global(qos: qos).async(group: group) { runs.add() }
        }
        TaskQueue.background.async(group: group) { runs.add() }
        group.wait()
        #expect(runs.count == 6)
    }

    // MARK: - Order

    @Test("that is serial runs closures one at a time, in the order of their submission")
    func serialOrder() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let order = Holder<[Int]>([])
        let crowd = Crowd()
        for number in 0..<20_000 {
            queue.async { crowd.visit { order.value.append(number) } }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(order.value == Array(0..<20_000))
        #expect(crowd.most == 1)
    }

    @Test("that is serial keeps each submitter's order among many")
    func serialOrderOfSeveral() {
        for _ in 0..<10 {
            let queue = TaskQueue.serial(scheduler: makeScheduler())
            let last = Holder(Array(repeating: -1, count: 4))
            let wrong = Counter()
            onThreads(4) { thread in
                for number in 0..<500 {
                    queue.async {
                        if last.value[thread] != number - 1 { wrong.add() }
                        last.value[thread] = number
                    }
                }
            }
            queue.waitUntilAllTasksAreFinished()
            #expect(wrong.count == 0)
            #expect(last.value == [499, 499, 499, 499])
        }
    }

    @Test("that is serial appends what its own closures submit")
    func serialFromInside() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let order = Log<String>()
        queue.async {
            queue.async { order.note("third") }
            order.note("first")
        }
        queue.suspend()
        queue.async { order.note("second or third") }
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(order.all.count == 3)
        #expect(order.all.first == "first")
    }

    @Test("starts one submitter's closures in exact order on one worker")
    func concurrentOrderOnOneWorker() {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 1))
        let order = Holder<[Int]>([])
        for number in 0..<20_000 {
            queue.async { order.value.append(number) }
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(order.value == Array(0..<20_000))
    }

    @Test("shares its scheduler fairly enough that ten thousand serial queues all finish, in order, without threads of their own")
    func manySerialQueues() {
        let scheduler = makeScheduler()
        let group = WaitGroup()
        let wrong = Counter()
        let queues = (0..<10_000).map { _ in TaskQueue.serial(scheduler: scheduler) }
        let last = queues.map { _ in Holder(-1) }
        for round in 0..<3 {
            for (queue, last) in zip(queues, last) {
                queue.async(group: group) {
                    if last.value != round - 1 { wrong.add() }
                    last.value = round
                }
            }
        }
        group.wait()
        #expect(wrong.count == 0)
        #expect(last.allSatisfy { $0.value == 2 })
        #expect(scheduler.metrics.threadsStarted <= 2)
    }

    // MARK: - Width

    @Test("runs as many at a time as it may, and never more", arguments: [1, 2, 3, 5])
    func width(limit: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: limit, scheduler: makeScheduler(workers: 8))
        let crowd = Crowd()
        let inside = Counter()
        let gate = Gate()
        for _ in 0..<limit {
            queue.async {
                crowd.visit {
                    inside.add()
                    gate.pass()
                }
            }
        }
        for _ in 0..<300 { queue.async { crowd.visit() } }
        #expect(eventually { inside.count == limit })
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(crowd.most == limit)
    }

    @Test("runs more at a time as soon as its limit is raised")
    func raisedWidth() {
        let queue = TaskQueue.serial(scheduler: makeScheduler(workers: 4))
        let inside = Counter()
        let gate = Gate()
        for number in 0..<8 {
            queue.async {
                inside.add()
                gate.pass()
            }
            // A serial queue's worker may take several at once, which then wait for the first of them.
            if number == 0 { #expect(eventually { inside.count == 1 }) }
        }
        queue.maxConcurrentTaskCount = 3
        #expect(eventually { inside.count == 3 })
        queue.maxConcurrentTaskCount = TaskQueue.unlimited
        #expect(eventually { inside.count == 4 })
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(inside.count == 8)
    }

    @Test("starts no more than the new limit once it is lowered")
    func loweredWidth() {
        let queue = TaskQueue(maxConcurrentTaskCount: 4, scheduler: makeScheduler(workers: 4))
        let inside = Counter()
        let gate = Gate()
        for _ in 0..<4 {
            queue.async {
                inside.add()
                gate.pass()
            }
        }
        #expect(eventually { inside.count == 4 })
        queue.maxConcurrentTaskCount = 1
        let crowd = Crowd()
        for _ in 0..<500 { queue.async { crowd.visit() } }
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        // The four that ran when the limit fell are through before another starts beside none of them.
        #expect(crowd.most == 1)
    }

    @Test("that becomes serial while closures come from outside and inside runs them one at a time")
    func serialFromNowOn() {
        for _ in 0..<20 {
            let queue = TaskQueue(scheduler: makeScheduler(workers: 3))
            let group = WaitGroup()
            for _ in 0..<100 {
                queue.async(group: group) { queue.async(group: group) {} }
            }
            queue.maxConcurrentTaskCount = 1
            group.wait()
            let crowd = Crowd()
            for _ in 0..<100 {
                queue.async(group: group) {
                    crowd.visit()
                    queue.async(group: group) { crowd.visit() }
                }
            }
            group.wait()
            #expect(crowd.most == 1)
        }
    }

    @Test("loses and repeats nothing while its limit changes under load")
    func widthUnderLoad() {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 3))
        let runs = Counter()
        let stop = Counter()
        let group = WaitGroup()
        onThreads(3) { thread in
            if thread == 0 {
                var width = 0
                while stop.count < 2 {
                    width += 1
                    queue.maxConcurrentTaskCount = width % 4 == 0 ? TaskQueue.unlimited : width % 4
                }
            } else {
                for _ in 0..<5_000 { queue.async(group: group) { runs.add() } }
                stop.add()
            }
        }
        group.wait()
        #expect(runs.count == 10_000)
        #expect(queue.pendingTaskCount == 0)
    }

    // MARK: - Counting and waiting

    @Test("counts what is submitted and not yet done")
    func pending() {
        let queue = TaskQueue.serial(scheduler: makeScheduler())
        let gate = Gate()
        queue.async { gate.pass() }
        for _ in 0..<9 { queue.async {} }
        #expect(queue.pendingTaskCount == 10)
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        #expect(queue.pendingTaskCount == 0)
    }

    @Test("that is empty is waited for without waiting")
    func waitForNothing() async {
        let queue = TaskQueue(scheduler: makeScheduler())
        await queue.drained()
        waitFor(queue)
        #expect(queue.pendingTaskCount == 0)
    }

    @Test("has run everything when the wait for it is over, again and again")
    func waiting() {
        let queue = TaskQueue(scheduler: makeScheduler())
        let runs = Counter()
        for round in 1...500 {
            for _ in 0..<5 { queue.async { runs.add() } }
            queue.waitUntilAllTasksAreFinished()
            #expect(runs.count == 5 * round)
        }
    }

    @Test("lets several threads wait at once, inside closures of another queue too")
    func manyWaiters() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        let other = TaskQueue(scheduler: scheduler)
        let runs = Counter()
        let gate = Gate()
        let passed = WaitGroup()
        queue.async { gate.pass() }
        for _ in 0..<100 { queue.async { runs.add() } }
        other.async(group: passed) {
            queue.waitUntilAllTasksAreFinished()
            if runs.count == 100 { runs.add(1_000) }
        }
        gate.open()
        onThreads(4) { _ in
            queue.waitUntilAllTasksAreFinished()
            if runs.count.isMultiple(of: 1_000) { runs.add(1_000_000) }
        }
        passed.wait()
        #expect(runs.count == 1_100)
    }

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

    @Test("that goes away still runs what was submitted", arguments: [1, 2, TaskQueue.unlimited])
    func released(width: Int) {
        let scheduler = makeScheduler()
        let group = WaitGroup()
        let runs = Counter()
        for _ in 0..<300 {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
            for _ in 0..<10 { queue.async(group: group) { runs.add() } }
        }
        group.wait()
        #expect(runs.count == 3_000)
    }

    @Test("that goes away while it is suspended runs what was submitted")
    func releasedSuspended() {
        let scheduler = makeScheduler()
        let group = WaitGroup()
        let runs = Counter()
        for _ in 0..<100 {
            let queue = TaskQueue.serial(scheduler: scheduler)
            queue.suspend()
            queue.isSuspended = true
            for _ in 0..<10 { queue.async(group: group) { runs.add() } }
        }
        group.wait()
        #expect(runs.count == 1_000)
    }

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

    /// The blocking wait, from an asynchronous test.
    private func waitFor(_ queue: TaskQueue) {
        queue.waitUntilAllTasksAreFinished()
    }
}
