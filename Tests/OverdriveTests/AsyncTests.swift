import Dispatch
import Glibc
import Overdrive
import Testing

@Suite("Swift Concurrency", .timeLimit(.minutes(10)))
struct AsyncTests {
    @Test("An asynchronous body suspends instead of holding a worker")
    func suspends() async throws {
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        let arrivals = Counter()
        let tasks = (0..<100).map { number in
            Task<Int>.async {
                arrivals.add()
                while arrivals.count < 100 { try await Task.sleep(for: .milliseconds(1)) }
                return number
            }
        }
        queue.add(tasks: tasks)
        for (number, task) in tasks.enumerated() { #expect(try await task.value == number) }
    }

    @Test("Cancelling a task cancels its asynchronous body")
    func cancelsBody() async {
        let isCancelled = Log<Bool>()
        let begun = Counter()
        let task = Task<Int>.async {
            begun.add()
            do { try await AsyncTask.sleep(for: .seconds(600)) } catch {
                isCancelled.note(Task.isCancelled)
                throw error
            }
            return 1
        }
        TaskQueue().add(task: task)
        #expect(eventually { begun.count == 1 })
        task.cancel()
        #expect(await task.result().error is CancellationError)
        #expect(isCancelled.all == [true])
    }

    @Test("value throws the task's error, and the caller's cancellation reaches the task when asked to")
    func value() async {
        let failing = TaskQueue().add { () throws -> Int in throw Flaw(number: 6) }
        await #expect(throws: Flaw(number: 6)) { try await failing.value }
        for propagates in [true, false] {
            let task = Task<Int> { _ in {} }
            task.start()
            let waiter = AsyncTask { try await task.value(cancelling: propagates) }
            waiter.cancel()
            if propagates { await #expect(throws: CancellationError.self) { try await waiter.value } }
            #expect(task.isCancelled == propagates)
            task.cancel()
        }
    }

    @Test("updates that nobody takes are bounded: the newest stay, as many as one says")
    func boundedUpdates() async throws {
        let count = 5_000
        let task = Task<Int> { emitter in
            for number in 0..<count { emitter(.update(number)) }
            emitter(.completion)
            return {}
        }
        let (byDefault, few) = (task.updates, task.updates(bufferingPolicy: .bufferingNewest(3)))
        task.start()
        await _ = task.result()
        #expect(try await all(of: byDefault) == Array(count - 1_024..<count))
        #expect(try await all(of: few) == Array(count - 3..<count))
    }

    @Test("updates are a stream that ends as the task does")
    func updates() async throws {
        let task = Task<Int> { emit in
            DispatchQueue.global().async {
                for number in 1...3 { emit(.update(number)) }
                emit(.completion)
            }
            return {}
        }
        let updates = task.updates
        task.start()
        #expect(try await all(of: updates) == [1, 2, 3])
        #expect(try await all(of: TaskQueue().add({ 9 }).updates) == [9])
        await #expect(throws: Flaw.self) {
            for try await _ in TaskQueue().add({ () throws -> Int in throw Flaw() }).updates {}
        }
    }

    @Test("wait(timeout:) compensates on workers: tasks that wait for each other on one worker are all done")
    func waits() {
        let scheduler = makeScheduler(workers: 1, spares: 8)
        let queue = TaskQueue(scheduler: scheduler)
        let inner = Task.inline { 5 }
        let outer = queue.add { () throws -> Int in
            queue.add(task: inner)
            return try inner.wait() + 1
        }
        #expect(outer.wait(timeout: .seconds(20)) == .success)
        #expect(outer.result?.value == 6)
        let never = Task<Int> { _ in {} }
        never.start()
        #expect(never.wait(timeout: .milliseconds(1)) == .timedOut)
        never.cancel()
    }

    @Test("add(tasks:waitUntilFinished:) is not woken for each of the tasks")
    func addAndSleep() {
        let tasks = (0..<500).map { _ in Task.inline { _ = usleep(100) } }
        for (before, after) in zip(tasks, tasks.dropFirst()) { after.add(dependency: before) }
        func switches() -> Int {
            var usage = rusage()
            getrusage(1, &usage)  // RUSAGE_THREAD
            return usage.ru_nvcsw
        }
        let before = switches()
        TaskQueue().add(tasks: tasks, waitUntilFinished: true)
        #expect(switches() - before < 100)
    }

    @Test("A queue waits for tasks that have returned and are not finished, and for those that wait for others")
    func queueWaits() async {
        let queue = TaskQueue()
        let emitter = Log<Task<Int>.Emitter>()
        let asynchronous = Task<Int> { emit in
            emitter.note(emit)
            return {}
        }
        let after = Task.inline { 2 }
        after.add(dependency: asynchronous)
        queue.add(task: after)
        #expect(eventually { emitter.all.count == 1 })
        let drained = Counter()
        let waiter = AsyncTask {
            await queue.drained()
            drained.add()
        }
        #expect(queue.tasks.count == 2 && drained.count == 0)
        emitter.all[0](.value(1))
        await waiter.value
        #expect(after.result?.value == 2 && queue.tasks.isEmpty)
    }

    @Test("cancelAll cancels tasks that wait for their turn and for others")
    func cancelAll() async {
        let queue = TaskQueue()
        let never = Task<Int> { _ in {} }
        never.start()
        let waiting = Task.inline { 1 }
        waiting.add(dependency: never)
        queue.add(task: waiting)
        queue.suspend()
        let ready = (0..<10).map { _ in queue.add { 2 } }
        #expect(queue.pendingTaskCount == 11)
        #expect(queue.cancelAll() == 11)
        queue.resume()
        for task in ready + [waiting] { #expect(await task.result().error is CancellationError) }
        #expect(queue.tasks.isEmpty)
        never.cancel()
    }

    @Test("A shutdown cancels the tasks that its deadline leaves behind")
    func shutdown() async {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        queue.suspend()
        let tasks = (0..<10).map { _ in queue.add { 1 } }
        let report: ShutdownReport = await scheduler.shutdown(timeout: .milliseconds(10))
        #expect(report.cancelled == 10)
        for task in tasks { #expect(await task.result().error is CancellationError) }
    }

    @Test("Tasks are zipped, gathered and raced")
    func combinations() async throws {
        let queue = TaskQueue()
        let pair = Task.zip(Task.inline { 1 }, Task.inline { "one" })
        queue.add(task: pair)
        let (number, word) = try await pair.value
        #expect(number == 1 && word == "one")
        let all = Task.all((0..<100).map { number in Task.inline { number * 2 } })
        queue.add(task: all)
        #expect(try await all.value == (0..<100).map { $0 * 2 })
        let slow = Task<Int> { _ in {} }
        let race = Task.race([slow, Task.inline { 7 }])
        queue.add(task: race)
        #expect(try await race.value == 7)
        #expect(await slow.result().error is CancellationError)
        let failing = Task.all([Task<Int>.inline { throw Flaw() }, Task<Int> { _ in {} }])
        queue.add(task: failing)
        #expect(await failing.result().error is Flaw)
        await queue.drained()
    }

    @Test("A chain of derived tasks starts what it is made of, and on a serial queue too")
    func derived() async throws {
        let queue = TaskQueue.serial()
        let first = Task.inline { 1 }
        var last = first.then { $0 + 1 }
        for _ in 0..<100 { last = last.then { value -> Task<Int> in Task.inline { value + 1 } } }
        queue.add(task: last)
        #expect(try await last.value == 102)
        await queue.drained()
    }

    @Test("BlockTask runs its blocks at the same time and ends with the last")
    func blockTask() async throws {
        let meeting = Counter()
        let task = BlockTask()
        for _ in 0..<2 {
            task.addExecutionBlock {
                meeting.add()
                _ = eventually { meeting.count == 2 }
            }
        }
        TaskQueue.serial().add(task: task)
        try await task.value
        #expect(meeting.count == 2)
        let empty = BlockTask()
        TaskQueue().add(task: empty)
        try await empty.value
    }

    @Test("A BlockTask that is cancelled is over when the blocks that run are")
    func blockTaskIsCancelled() async {
        let (ended, gate) = (Counter(), Gate())
        let task = BlockTask(blocks: [
            {},
            {
                gate.pass()
                ended.add()
            },
        ])
        let queue = TaskQueue()
        queue.add(task: task)
        #expect(eventually { gate.arrivals == 1 && queue.runningTaskCount == 0 })
        task.cancel()
        #expect(task.isCancelled && !task.isFinished)
        gate.open()
        #expect(await task.result().error is CancellationError)
        #expect(ended.count == 1)
        await queue.drained()
    }

    @Test("A body that goes on elsewhere is pending in its queue")
    func goesOnElsewhere() async throws {
        let queue = TaskQueue()
        let (begun, isOpen) = (Counter(), Counter())
        let task = Task<Int>.async {
            begun.add()
            while isOpen.count == 0 { try await AsyncTask.sleep(for: .milliseconds(1)) }
            return 1
        }
        queue.add(task: task)
        #expect(eventually { begun.count == 1 && queue.runningTaskCount == 0 && queue.pendingTaskCount == 1 })
        isOpen.add()
        #expect(try await task.value == 1)
        await queue.drained()
        #expect(queue.pendingTaskCount == 0)
    }

    @Test("cancelAll tells a task that has begun, and it alone decides when it ends: not a place that it gave up in the queue")
    func cancelAllOfAPlaceGivenUp() async throws {
        let queue = TaskQueue.serial()
        queue.suspend()
        let gate = Gate()
        let task = Task.inline {
            gate.pass()
            return 1
        }
        queue.add(task: task)
        let dependency = Task<Int> { _ in {} }
        dependency.start()
        #expect(task.add(dependency: dependency))
        dependency.finish(with: .value(1))
        #expect(task.isReady)
        queue.resume()
        #expect(eventually { gate.arrivals == 1 })
        queue.cancelAll()
        #expect(task.isCancelled && !task.isFinished)
        gate.open()
        #expect(await task.result().error is CancellationError)
    }

    /// Only the first did.
    @Test("Every block of a BlockTask sees that it is cancelled")
    func blocksSeeCancellation() {
        let (inside, cancelled, seen) = (Counter(), Counter(), Counter())
        let block: @Sendable () -> Void = {
            inside.add()
            _ = eventually { cancelled.count == 1 }
            if Cancellation.isRequested { seen.add() }
        }
        let task = BlockTask(blocks: [block, block, block])
        TaskQueue(scheduler: makeScheduler(workers: 3)).add(task: task)
        #expect(eventually { inside.count == 3 })
        task.cancel()
        cancelled.add()
        #expect(task.wait(timeout: .seconds(60)) == .success)
        #expect(seen.count == 3)
    }

    private struct Canceller: TaskObserver {
        func taskDidStartExecution<T>(_ task: Task<T>) { task.cancel() }
    }

    @Test("Blocks of a BlockTask that has been cancelled do not begin")
    func blocksBehindCancel() async {
        let (begun, holder) = (Counter(), Holder<AnyTask?>(nil))
        let task = BlockTask(blocks: [
            { holder.value?.cancel() },
            { begun.add() },
            { begun.add() },
        ])
        holder.value = task
        // They have their turn when the first leaves the only worker.
        TaskQueue(scheduler: makeScheduler(workers: 1)).add(task: task)
        #expect(await task.result().error is CancellationError && begun.count == 0)
        let single = BlockTask(observers: [Canceller()]) { begun.add() }
        single.start()
        #expect(await single.result().error is CancellationError && begun.count == 0)
        holder.value = nil
    }

    /// Who had seen no task before the closure ran did not look again.
    @Test("A queue waits for a task that its last closure adds and that waits for another one", arguments: [true, false])
    func waitsForTaskOfClosure(blocking: Bool) async throws {
        let (queue, (other, say)) = (TaskQueue(scheduler: makeScheduler()), spoken())
        let (gate, dependent) = (Gate(), Task.inline { 1 })
        dependent.add(dependency: other)
        try await queue.add {}.value
        await queue.drained()
        queue.async {
            gate.pass()
            queue.add(task: dependent)
        }
        let (returned, waiters) = (Log<Bool>(), Log<String>())
        // It waits for the closure, and has seen no task.
        if blocking {
            onThread {
                waiters.note(thisThread())
                queue.waitUntilAllTasksAreFinished()
                returned.note(dependent.isFinished)
            }
            while waiters.all.isEmpty { await Task.yield() }
            #expect(comesToRest(Set(waiters.all)))
        } else {
            AsyncTask.immediate {
                await queue.drained()
                returned.note(dependent.isFinished)
            }
        }
        gate.open()
        while dependent.state == .initialized { await Task.yield() }
        // Time for one who is wrong.
        for _ in 0..<50 where returned.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        say(.value(1))
        while returned.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        #expect(returned.all == [true])
    }

    @Test("A BlockTask whose blocks a shutdown takes back has not succeeded")
    func blocksTakenBack() async {
        let scheduler = makeScheduler(workers: 1)
        let (ran, gate) = (Counter(), Gate())
        let task = BlockTask(blocks: [
            { gate.pass() },
            { ran.add() },
        ])
        TaskQueue(scheduler: scheduler).add(task: task)
        #expect(eventually { gate.arrivals == 1 })
        let report: ShutdownReport = await scheduler.shutdown(timeout: .zero)
        #expect(report.stuck == 1 && report.cancelled == 1)
        gate.open()
        #expect(await task.result().error is CancellationError)
        #expect(ran.count == 0)
    }

    @Test("cancelAll of everybody's queues takes back nothing that tasks of others need")
    func everybodysQueues() async {
        await #expect(processExitsWith: .success) {
            let (held, isOpen, workers) = (Counter(), Counter(), Scheduler.shared.workerCount)
            for _ in 0..<workers {
                TaskQueue().async {
                    held.add()
                    compute(until: { isOpen.count > 0 })
                }
            }
            precondition(eventually { held.count == workers })
            // Its blocks run elsewhere; what ends it waits for a worker here.
            let task = BlockTask(blocks: [{}, {}])
            TaskQueue(scheduler: makeScheduler()).add(task: task)
            precondition(eventually { Scheduler.shared.dump().waiting > 0 })
            for qos in TaskQueue.QoS.allCases { TaskQueue.global(qos: qos).cancelAll() }
            isOpen.add()
            precondition(eventually { task.isFinished })
        }
    }

    /// Was cancelled: blocks of the attempt before were counted too.
    @Test("A BlockTask that is attempted again has its blocks run again, and succeeds")
    func blockTaskAgain() async throws {
        let (ran, gate) = (Counter(), Gate())
        let task = BlockTask(blocks: [
            {},
            {
                if ran.add() == 1 { gate.pass() }
            },
        ]).retry(1)
        TaskQueue().add(task: task)
        #expect(eventually { ran.count == 1 })
        #expect(task.finish(with: .error(Flaw())))
        gate.open()
        try await task.value
        #expect(ran.count == 2)
    }

    @Test("cancelAll tells bodies that run, of every kind, and counts none of them")
    func cancelAllTellsBodies() async {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 4))
        let (inside, seen) = (Counter(), Counter())
        let wait: @Sendable () -> Void = {
            inside.add()
            if eventually({ Cancellation.isRequested }) { seen.add() }
        }
        let parked = Task<Int> { _ in
            inside.add()
            return {}
        }
        let asynchronous = Task<Void>.async {
            inside.add()
            while !AsyncTask.isCancelled { await AsyncTask.yield() }
            seen.add()
        }
        let tasks: [AnyTask] = [Task.inline { wait() }, InlineTask { wait() }, BlockTask(blocks: [wait]), asynchronous, parked]
        queue.add(tasks: tasks)
        #expect(eventually { inside.count == 5 })
        #expect(queue.cancelAll() == 0)
        await queue.drained()
        #expect(seen.count == 4 && tasks.allSatisfy { $0.isFinished && $0.isCancelled })
    }

    @Test("A task that a dependent has brought along runs where the program adds it", arguments: [false, true])
    func addedElsewhere(isReady: Bool) throws {
        let scheduler = makeScheduler()
        let (first, chosen) = (TaskQueue.serial(label: "first", scheduler: scheduler), TaskQueue.serial(label: "chosen"))
        first.suspend()
        let task = Task.inline { TaskQueue.currentLabel }
        let gate = Task<Void> { _ in {} }
        if !isReady { task.add(dependency: gate) }
        let dependent = Task.inline { TaskQueue.currentLabel }
        dependent.add(dependency: task)
        gate.start()
        first.add(task: dependent)
        #expect(task.state == (isReady ? .ready : .pending))
        chosen.add(task: task)
        gate.finish(with: .value(()))
        #expect(try task.wait() == "chosen")  // though the other one is suspended
        first.resume()
        #expect(try dependent.wait() == "first")
        for queue in [first, chosen] { queue.waitUntilAllTasksAreFinished() }
        #expect(first.tasks.isEmpty && first.pendingTaskCount == 0 && chosen.pendingTaskCount == 0)
    }

    @Test("A place that a task has given up runs nothing, though it comes first")
    func placeGivenUp() throws {
        let (first, chosen) = (TaskQueue.serial(label: "first"), TaskQueue.serial(label: "chosen"))
        for queue in [first, chosen] { queue.suspend() }
        let task = Task.inline { TaskQueue.currentLabel }
        let dependent = Task.inline { TaskQueue.currentLabel }
        dependent.add(dependency: task)
        first.add(task: dependent)
        chosen.add(task: task)
        first.resume()
        first.sync {}  // behind that place
        #expect(task.state == .ready)
        chosen.resume()
        #expect(try task.wait() == "chosen")
        #expect(try dependent.wait() == "first")
    }

    @Test("An asynchronous body knows its quality of service")
    func qosOfAsyncBody() async throws {
        for qos in TaskQueue.QoS.allCases {
            let queue = TaskQueue(qos: qos, scheduler: makeScheduler())
            let task = Task.async { TaskQueue.QoS.current }
            queue.add(task: task)
            #expect(try await task.value == qos)
        }
        let raised = Task.async { TaskQueue.QoS.current }
        raised.qos = .userInitiated
        TaskQueue(qos: .utility).add(task: raised)
        #expect(try await raised.value == .userInitiated)
        let below = Task.async { TaskQueue.QoS.current }
        below.qos = .background
        TaskQueue(qos: .utility).add(task: below)
        #expect(try await below.value == .utility)
        let seen = Log<TaskQueue.QoS?>()
        let look: @Sendable () -> Void = { seen.note(.current) }
        let blocks = BlockTask(blocks: [look, look, look])
        TaskQueue(qos: .utility).add(task: blocks)
        try await blocks.value
        #expect(seen.all == [.utility, .utility, .utility])
    }

    @Test("Handlers of the end are called, though their queue takes them back")
    func handlersTakenBack() {
        let (suspended, heard) = (TaskQueue.serial(), Log<String>())
        suspended.suspend()
        let (succeeds, fails, cancelled) = (Task(value: 1), Task<Int>(error: Flaw()), Task<Int> { _ in {} })
        for (name, task) in [("value", succeeds), ("error", fails), ("cancel", cancelled)] {
            task.onValue(on: suspended) { _ in heard.note("\(name) onValue") }
                .onError(on: suspended) { _ in heard.note("\(name) onError") }
                .onCancel(on: suspended) { heard.note("\(name) onCancel") }
                .onCompletion(on: suspended) { heard.note("\(name) onCompletion") }
            task.start()
        }
        cancelled.cancel()
        #expect(suspended.cancelAll() == 6)
        #expect(eventually { heard.all.count == 6 })
        #expect(
            heard.all.sorted() == [
                "cancel onCancel", "cancel onCompletion", "error onCompletion", "error onError", "value onCompletion",
                "value onValue",
            ])
        suspended.resume()
    }

    @Test("A group holds tasks of any result and members of the program's own, and no circle")
    func groupMembers() async {
        final class Member: TaskGroupMember {
            let (starts, cancels) = (Counter(), Counter())
            func start() { starts.add() }
            func cancel() { cancels.add() }
        }
        let (member, task) = (Member(), Task<Int> { _ in {} })
        do {
            let group = TaskGroup()
            #expect(group.register(task as AnyTask, taskId: "task") && group.register(member))
            #expect(group.register(Task(value: 1) as AnyTask))
            #expect(eventually { group.count == 2 })  // the last one is over
            #expect(!group.register(Task(value: 1) as any TaskGroupMember, taskId: "task"))
            #expect(!group.register(Member(), taskId: "task") && !group.register(TaskGroup(), taskId: "task"))
        }
        #expect(member.starts.count == 1 && member.cancels.count == 1 && task.isCancelled)
        // A group that two others hold is no circle, and started and cancelled by each.
        let (shared, above) = (TaskGroup(startsImmediately: false), TaskGroup())
        let (common, late) = (Member(), Task<Int> { _ in {} })
        shared.register(common)
        shared.register(late as any TaskGroupMember)
        for _ in 0..<2 {
            let beside = TaskGroup()
            #expect(beside.register(shared as any TaskGroupMember) && above.register(beside))
        }
        #expect(common.starts.count == 4 && late.state == .executing && above.count == 2)
        above.cancel()
        #expect(common.cancels.count == 2 && late.isCancelled)
    }

    @Test("Waiting for a task that nobody has started is told of")
    func waitingForTheForgotten() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            Scheduler.onWarning { sentence in
                var text = sentence
                text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
                _exit(EXIT_SUCCESS)
            }
            // One that is added meanwhile is not forgotten, however long it waits.
            let (late, (never, emit)) = (Task.inline { 4 }, spoken())
            late.add(dependency: never)
            AsyncTask { try await late.value }
            try await AsyncTask.sleep(for: .milliseconds(100))
            TaskQueue.global().add(task: late)
            let task = Task.inline { 5 }
            task.name = "forgotten"
            AsyncTask { try await task.value }
            try await AsyncTask.sleep(for: .seconds(200))
            emit(.completion)
        }
        let said = written(result?.standardErrorContent)
        #expect(said.contains("Task.wait: the task is in no queue and was not started (\"forgotten\")"))
    }
}
