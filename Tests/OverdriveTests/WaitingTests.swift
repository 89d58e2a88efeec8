import Dispatch
import Glibc
import Overdrive
import Testing

/// Code of the program that blocks until what it has set off is done, in whatever a thread does one after another.
/// Each ran for ever once.
@Suite("Waiting inside", .timeLimit(.minutes(10)))
struct WaitingTests {
    /// Has a task run after another, on a queue, and blocks until it has.
    private static func waitForDependent() -> Bool {
        let (queue, ran) = (TaskQueue(), Counter())
        let (first, second) = (Task.inline {}, Task.inline { ran.add() })
        second.add(dependency: first)
        queue.add(task: second)
        return second.wait(timeout: .seconds(30)) == .success && ran.count == 1
    }

    @Test("A handler of a task that fails with its dependency waits for a dependent")
    func handlerOfDependent() {
        let waited = Log<Bool>()
        let (first, second) = (Task<Int>(error: Flaw()), Task.inline { 1 })
        second.add(dependency: first, requiring: .success)
        second.onError { _ in waited.note(Self.waitForDependent()) }
        TaskQueue().add(task: second)
        #expect(eventually { waited.all.count == 1 })
        #expect(waited.all == [true])
    }

    @Test("A retry policy that is asked about a dependency's failure waits for a dependent")
    func retryPolicy() {
        let waited = Log<Bool>()
        let (first, second) = (Task<Int>(error: Flaw()), Task.inline { 1 })
        second.add(dependency: first, requiring: .success)
        second.retry(
            RetryPolicy(attempts: 2) { _ in
                waited.note(Self.waitForDependent())
                return false
            })
        TaskQueue().add(task: second)
        #expect(second.wait(timeout: .seconds(40)) == .success)
        #expect(waited.all == [true])
    }

    @Test("A condition that is asked for its name waits for a dependent")
    func conditionName() {
        struct Waits: TaskCondition {
            let waited: Log<Bool>
            var conditionName: String {
                waited.note(WaitingTests.waitForDependent())
                return "waits"
            }
            func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
        }
        let waited = Log<Bool>()
        let (first, second) = (Task.inline { 1 }, Task.inline { 2 })
        second.add(condition: Waits(waited: waited))
        second.add(dependency: first)
        TaskQueue().add(task: second)
        #expect(second.wait(timeout: .seconds(40)) == .success)
        #expect(waited.all == [true])
    }

    @Test("A condition and an observer that are removed are asked for their names without the task's lock")
    func namesOfRemoved() {
        struct Asks: TaskCondition, TaskObserver {
            let task: AnyTask
            var conditionName: String { "of \(task.conditions.count)" }
            var observerName: String { "of \(task.observers.count)" }
            func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
        }
        let task = Task.inline {}
        let one = Asks(task: task)
        task.add(condition: one)
        task.add(observer: one)
        #expect(task.remove(condition: one) && task.remove(observer: one))
        #expect(task.conditions.isEmpty && task.observers.isEmpty)
        #expect(!task.remove(condition: one) && !task.remove(observer: one))
    }

    @Test("A part that is started with the whole waits for a dependent")
    func part() {
        let waited = Log<Bool>()
        let whole = Task.inline { waited.note(Self.waitForDependent()) }.then { 1 }
        whole.start()
        #expect(whole.wait(timeout: .seconds(40)) == .success)
        #expect(waited.all == [true])
    }

    @Test("A closure that goes on with a value waits for a dependent")
    func transform() {
        let whole = Task(value: 1).then { _ in Self.waitForDependent() }.then { $0 }
        whole.start()
        #expect(whole.wait(timeout: .seconds(40)) == .success)
        #expect(whole.result?.value == true)
    }

    @Test("A delegate that is told of a dependency waits for a dependent")
    func delegate() {
        final class Waits: TaskQueueDelegate {
            let waited = Log<Bool>()
            let dependency: AnyTask
            init(for dependency: AnyTask) { self.dependency = dependency }
            func didAdd<T>(task: Task<T>, to queue: TaskQueue) {
                if task === dependency { waited.note(WaitingTests.waitForDependent()) }
            }
        }
        let (queue, first, second) = (TaskQueue(), Task.inline {}, Task.inline {})
        let delegate = Waits(for: first)
        queue.delegate = delegate
        second.add(dependency: first)
        queue.add(task: second)
        #expect(second.wait(timeout: .seconds(40)) == .success)
        #expect(delegate.waited.all == [true])
    }

    @Test("Dependents that a stopped scheduler discards one after another need no deeper stack for more of them")
    func flatWithoutWorkers() {
        final class Link: Task<Int>, @unchecked Sendable {
            override func run() { finish(with: .value(1)) }
        }
        let scheduler = makeScheduler(workers: 1)
        let first = Task<Int> { _ in {} }
        let links = (0..<20_000).map { _ in Link() }
        links[0].add(dependency: first)
        for index in 1..<links.count { links[index].add(dependency: links[index - 1]) }
        TaskQueue(scheduler: scheduler).add(tasks: links)
        #expect(eventually { first.isExecuting })
        scheduler.shutdown(timeout: .seconds(5))
        onThreads(1) { _ in first.finish(with: .value(0)) }
        #expect(links[links.count - 1].wait(timeout: .seconds(40)) == .success)
    }

    /// Where a body waits for its own task.
    enum Place: Codable, Sendable, CaseIterable {
        case inline, run, progressive, block, otherBlock, branch, concurrentPerform, sync, startedInside, handlerOfUpdate
    }

    /// Each waited for ever once.
    @Test("A task that its own body waits for is a broken promise with a sentence", arguments: Place.allCases)
    func itself(place: Place) async {
        final class Runs: Task<Int>, @unchecked Sendable {
            override func run() { _ = try? wait() }
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [place] in
            // Where it waits for ever, the test does not.
            DispatchQueue.global().asyncAfter(deadline: .now() + 120) { _exit(EXIT_SUCCESS) }
            let itself = Holder<AnyTask?>(nil)
            let wait: @Sendable () -> Void = { itself.value?.waitUntilFinished() }
            let task: AnyTask
            switch place {
            case .inline: task = Task.inline { wait() }
            case .run: task = Runs()
            case .progressive:
                task = Task<Int> { emit in
                    wait()
                    return {}
                }
            case .block: task = BlockTask(wait)
            case .otherBlock: task = BlockTask(blocks: [{}, wait])
            case .branch: task = Task.inline { Parallel().invoke({}, wait, {}) }
            case .concurrentPerform:
                task = Task.inline { TaskQueue.concurrentPerform(iterations: 4) { if $0 == 3 { wait() } } }
            case .sync: task = Task.inline { TaskQueue.serial().sync(execute: wait) }
            case .startedInside: task = Task.inline { Task.inline { wait() }.start() }
            case .handlerOfUpdate:
                task = Task<Int> { emit in
                    emit(.value(1))
                    return {}
                }
                (task as? Task<Int>)?.onUpdate { _ in wait() }
            }
            task.name = "itself"
            itself.value = task
            TaskQueue().add(tasks: [task])
            try await AsyncTask.sleep(for: .seconds(300))
        }
        let said = written(result?.standardErrorContent)
        let call = place == .run ? "wait()" : "waitUntilFinished()"
        #expect(said.contains("Task.\(call): the body would wait for its own task (\"itself\")"), "\(said)")
    }

    @Test("a_wait_for_a_task_whose_end_waits_for_handlers_on_the_same_thread_traps")
    func endOfDeepObservers() async {
        struct Ends: TaskObserver {
            let next: Task<Int>
            let waits: Bool
            func taskWillFinishExecution<T>(_ task: Task<T>) {
                next.finish(with: .value(1))
                if waits { next.waitUntilFinished() }
            }
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let tasks = (0..<70).map { _ in Task<Int> { _ in {} } }
            for (index, task) in tasks.dropLast().enumerated() { task.add(observer: Ends(next: tasks[index + 1], waits: index > 66)) }
            for task in tasks { task.name = "deep" }
            for task in tasks { task.start() }
            // A wait that does not trap does not end.
            onThread { tasks[0].finish(with: .value(0)) }
            try await AsyncTask.sleep(for: .seconds(120))
        }
        let said = written(result?.standardErrorContent)
        #expect(said.contains("Task.waitUntilFinished(): this callback runs before the end of the task"), "\(said)")
    }

    @Test("A task that is over, or that is waited for no longer than a while, may be waited for in its own body")
    func itselfForAWhile() throws {
        let (itself, waited) = (Holder<Task<Int>?>(nil), Log<WaitGroup.WaitResult?>())
        let task = Task<Int> { emit in
            waited.note(itself.value?.wait(timeout: .milliseconds(1)))
            emit(.value(3))
            waited.note((try? itself.value?.wait()) == 3 ? .success : .timedOut)
            return {}
        }
        itself.value = task
        TaskQueue().add(task: task)
        #expect(try task.wait() == 3)
        #expect(eventually { waited.all.count == 2 })
        #expect(waited.all == [.timedOut, .success])
        itself.value = nil
    }

    @Test("Who waits a short while again and again adds nothing to the task")
    func shortWaits() {
        let task = Task<Int> { _ in {} }
        let completions = Counter()
        task.onCompletion { completions.add() }
        task.start()
        for _ in 0..<100 { #expect(task.wait(timeout: .microseconds(1)) == .timedOut) }
        onThreads(3) { thread in
            if thread == 0 { task.finish(with: .value(1)) } else { #expect((try? task.wait()) == 1) }
        }
        #expect(task.wait(timeout: .zero) == .success && completions.count == 1)
    }

    @Test("Who waits for a queue waits for the task that its last closure adds, too", arguments: [false, true])
    func addedByTheLast(suspends: Bool) {
        let (queue, gate, waited, emitters) = (TaskQueue(), Gate(), Log<Bool>(), Log<Task<Int>.Emitter>())
        let task = Task<Int> { emit in
            emitters.note(emit)
            return {}
        }
        queue.async {
            gate.pass()
            queue.add(task: task)
        }
        if suspends {
            AsyncTask(executorPreference: Scheduler.shared) {
                await queue.drained()
                waited.note(task.isFinished)
            }
        } else {
            onThread {
                queue.waitUntilAllTasksAreFinished()
                waited.note(task.isFinished)
            }
        }
        usleep(20_000)  // it waits for the closure
        gate.open()
        #expect(eventually { emitters.all.count == 1 })
        usleep(20_000)  // and is back, where it does not wait for the task
        emitters.all[0](.value(1))
        #expect(eventually { waited.all.count == 1 })
        #expect(waited.all == [true])
    }

    @Test("Conditions are asked while Swift's own threads are blocked")
    func conditions() async {
        struct Late: TaskCondition {
            func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
        }
        // On each of them a body that waits for a task with a condition: none was left to ask it.
        let count = 2 * max(2, Scheduler.shared.workerCount)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let task = Task.inline { 1 }
                    task.add(condition: Late())
                    TaskQueue().add(task: task)
                    return Self.block(on: task)
                }
            }
            for await finished in group { #expect(finished) }
        }
    }

    private static func block(on task: Task<Int>) -> Bool { task.wait(timeout: .seconds(30)) == .success }

    @Test("A task that is registered again under its name goes on")
    func registeredAgain() {
        let group = TaskGroup(policy: .replace)
        let task = Task<Int> { _ in {} }
        group.register(task, taskId: "one")
        group.register(task, taskId: "one")
        #expect(!task.isCancelled && group.count == 1)
        task.finish(with: .value(1))
        #expect(group.count == 0)
    }
}
