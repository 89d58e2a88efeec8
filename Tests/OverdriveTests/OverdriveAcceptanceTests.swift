import Dispatch
import Testing

@testable import Overdrive

/// The sentences of Overdrive 0.3's own tests, each with its name, under the rules of today.
@Suite("Overdrive 0.3's acceptance list", .timeLimit(.minutes(10)))
struct OverdriveAcceptanceTests {
    final class SimpleTask: Task<Int>, @unchecked Sendable {
        override func run() { finish(with: .value(1)) }
    }
    final class OtherTask: Task<Int>, @unchecked Sendable {
        override func run() { finish(with: .value(2)) }
    }
    final class FailingTask: Task<Int>, @unchecked Sendable {
        override func run() { finish(with: .error(Flaw(number: 100))) }
    }

    // MARK: DependencyTests

    @Test("testDependencyAdd")
    func dependencyAdd() {
        let (task, dependency) = (SimpleTask(), SimpleTask())
        task.add(dependency: dependency)
        #expect(task.dependencies.count == 1)
    }

    @Test("testGetDependency")
    func getDependency() {
        let (task, dependency) = (SimpleTask(), OtherTask())
        dependency.name = "DependencyTask"
        task.add(dependency: dependency)
        #expect(task.get(dependency: OtherTask.self).first?.name == "DependencyTask")
    }

    @Test("testRemoveValidDependency")
    func removeDependency() {
        let (task, dependency) = (SimpleTask(), SimpleTask())
        task.add(dependency: dependency)
        #expect(task.remove(dependency: dependency))
        #expect(task.dependencies.isEmpty)
    }

    @Test("testRemoveDependencyWithType, testRemoveUnknownDependencyWithType")
    func removeDependencyType() {
        let task = SimpleTask()
        task.add(dependency: SimpleTask())
        task.remove(dependency: OtherTask.self)
        #expect(task.dependencies.count == 1)
        task.remove(dependency: SimpleTask.self)
        #expect(task.dependencies.isEmpty)
    }

    @Test("testOrderOfExecution")
    func orderOfExecution() async throws {
        let log = Log<Int>()
        let tasks = (1...3).map { number in InlineTask { log.note(number) } }
        tasks[2].add(dependency: tasks[1])
        tasks[1].add(dependency: tasks[0])
        let queue = TaskQueue()
        queue.add(tasks: tasks.reversed())
        try await tasks[2].value
        #expect(log.all == [1, 2, 3])
    }

    // MARK: InlineTaskTests

    @Test("testInlineTaskState, testInlineTaskExecution")
    func inlineTask() async throws {
        let task = InlineTask {}
        #expect(task.state == .initialized)
        let values = Counter()
        task.onValue { values.add() }
        TaskQueue().add(task: task)
        try await task.value
        #expect(eventually { values.count == 1 })
    }

    // MARK: ResultTests

    @Test("testComputedProperties, testMap, testMapWithError, testMapError, testMapErrorWithValue, testFlatMap, testFlatMapError")
    func results() {
        let (value, error) = (Result<Int, any Error>.value(10), Result<Int, any Error>.error(Flaw(number: 1)))
        #expect(value.value == 10 && value.error == nil && error.value == nil && error.error is Flaw)
        #expect(value.map { $0 * 2 }.value == 20)
        #expect((error.map { $0 * 2 }.error as? Flaw)?.number == 1)
        #expect((error.mapError { _ in Flaw(number: 2) as any Error }.error as? Flaw)?.number == 2)
        #expect(value.mapError { _ in Flaw(number: 2) as any Error }.value == 10)
        #expect(value.flatMap { .value("\($0)") }.value == "10")
        #expect(error.flatMapError { _ in .value(3) }.value == 3)
    }

    // MARK: RetryTests

    @Test("testRetryCount, testReduceRetryCount")
    func retryCount() async {
        let task = FailingTask()
        #expect(task.retryCount == 0)
        task.retry(3)
        #expect(task.retryCount == 3)
        task.retry(RetryPolicy(attempts: 4, delay: .fixed(.seconds(1000))))
        TaskQueue().add(task: task)
        #expect(eventually { task.retryCount == 2 })
        task.cancel()
    }

    @Test("testRetry")
    func retry() async throws {
        let (runs, errors) = (Counter(), Counter())
        let task = Task<Int>.inline { if runs.add() <= 5 { throw Flaw() } else { 1 } }
        task.retry(5).onError { _ in errors.add() }
        TaskQueue().add(task: task)
        #expect(try await task.value == 1)
        #expect(task.retryCount == 0 && errors.count == 0)
    }

    // MARK: Conditions

    struct WithDependency: CallbackTaskCondition {
        let dependency: Task<Int>
        func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { [dependency] }
        func evaluate<T>(forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void) {
            evaluationBlock(dependency.isFinished ? .satisfied : .failed(Flaw()))
        }
    }
    struct Fails: TaskCondition {
        func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .failed(Flaw(number: 5)) }
    }
    struct Holds: TaskCondition {
        func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
    }

    final class Delegate: TaskQueueDelegate {
        let log = Log<String>()
        let dependencies = Counter()
        func didAdd<T>(task: Task<T>, to queue: TaskQueue) {
            dependencies.add(task.dependencies.count)
            log.note("didAdd \(task.name ?? "-") \(task.state)")
        }
        func willFinish<T>(task: Task<T>, in queue: TaskQueue) { log.note("willFinish \(task.name ?? "-") \(task.state)") }
        func didFinish<T>(task: Task<T>, in queue: TaskQueue) { log.note("didFinish \(task.name ?? "-") \(task.state)") }
        func didRetry<T>(task: Task<T>, in queue: TaskQueue) { log.note("didRetry \(task.name ?? "-") \(task.state)") }
    }

    @Test("testConditionWithDelegate")
    func conditionWithDelegate() async throws {
        let (queue, delegate) = (TaskQueue(), Delegate())
        queue.delegate = delegate
        let (task, dependency) = (SimpleTask(), OtherTask())
        (task.name, dependency.name) = ("task", "dependency")
        task.add(condition: WithDependency(dependency: dependency))
        queue.add(task: task)
        #expect(try await task.value == 1)
        #expect(eventually { delegate.log.all.contains("didFinish task finished") })
        #expect(delegate.dependencies.count == 1, "visible in didAdd")
        #expect(delegate.log.all.contains("didFinish dependency finished"))
    }

    @Test("testFailedCondition")
    func failedCondition() async {
        let task = SimpleTask()
        let (values, errors) = (Counter(), Counter())
        task.add(condition: Fails())
        task.onValue { _ in values.add() }.onError { _ in errors.add() }
        TaskQueue().add(task: task)
        guard case .combined(let all)? = await task.result().error as? TaskConditionError else {
            Issue.record("no condition's error")
            return
        }
        #expect(all.count == 1 && all.first is Flaw && task.conditionErrors.count == 1)
        #expect(eventually { errors.count == 1 } && values.count == 0)
    }

    @Test("testSatisfiedCondition")
    func satisfiedCondition() async throws {
        let task = SimpleTask()
        task.add(condition: Holds())
        TaskQueue().add(task: task)
        #expect(try await task.value == 1)
        #expect(task.conditionErrors.isEmpty)
    }

    @Test("testConditionName, testRemoveCondition, testRemoveConditionWithType")
    func conditionManagement() {
        #expect(Holds().conditionName == "Holds")
        let task = SimpleTask()
        task.add(condition: Holds())
        #expect(task.remove(condition: Holds()) && task.conditions.isEmpty)
        task.add(condition: Holds())
        #expect(task.remove(condition: Holds.self) && task.conditions.isEmpty)
        #expect(!task.remove(condition: Fails.self))
    }

    // MARK: Observers

    final class Observer: TaskObserver {
        let log = Log<String>()
        func taskDidStartExecution<T>(_ task: Task<T>) { log.note("start \(task.isExecuting)") }
        func taskWillFinishExecution<T>(_ task: Task<T>) { log.note("will \(task.isExecuting)") }
        func taskDidFinishExecution<T>(_ task: Task<T>) { log.note("did \(task.isFinished)") }
    }

    @Test("testAddObserver, testRemoveObserver, testRemoveObserverOfType, testContainsObserver")
    func observerManagement() {
        let task = SimpleTask()
        task.add(observer: Observer())
        #expect(task.observers.count == 1 && task.contains(observer: Observer.self))
        #expect(task.remove(observer: Observer()) && task.observers.isEmpty)
        task.add(observer: Observer())
        #expect(task.remove(observer: Observer.self) && !task.contains(observer: Observer.self))
    }

    @Test("testTaskObserver")
    func observer() async throws {
        let (task, observer) = (SimpleTask(), Observer())
        task.add(observer: observer)
        TaskQueue().add(task: task)
        _ = try await task.value
        #expect(eventually { observer.log.all.count == 3 })
        #expect(observer.log.all == ["start true", "will true", "did true"])
    }

    @Test("testDelegate")
    func delegate() async throws {
        let (queue, delegate) = (TaskQueue(), Delegate())
        queue.delegate = delegate
        let task = SimpleTask()
        task.name = "name"
        queue.add(task: task)
        _ = try await task.value
        #expect(eventually { delegate.log.all.count == 3 })
        #expect(delegate.log.all == ["didAdd name initialized", "willFinish name executing", "didFinish name finished"])
    }

    // MARK: TaskQueueTests

    @Test("testSuspendedState: a task that is added to a suspended queue runs when it is resumed (issue #12)")
    func suspendedState() async throws {
        let queue = TaskQueue()
        queue.isSuspended = true
        let task = SimpleTask()
        queue.add(task: task)
        #expect(task.state == .ready)
        queue.isSuspended = false
        #expect(try await task.value == 1)
    }

    // MARK: TaskTests

    @Test("testIntializedState, testFinishedState")
    func states() async throws {
        let task = SimpleTask()
        #expect(task.state == .initialized)
        let log = Log<AnyTask.State>()
        task.onValue { [weak task] _ in if let task { log.note(task.state) } }
        TaskQueue().add(task: task)
        _ = try await task.value
        #expect(eventually { log.all == [.finished] })
    }

    @Test("testOnValueCompletionBlockValue, testOnErrorCompletionBlockValue: both are kept, whichever order they come in")
    func bothBlocks() async {
        for isReversed in [false, true] {
            for task in [SimpleTask(), FailingTask()] as [Task<Int>] {
                let (values, errors) = (Counter(), Counter())
                if isReversed {
                    task.onError { _ in errors.add() }.onValue { _ in values.add() }
                } else {
                    task.onValue { _ in values.add() }.onError { _ in errors.add() }
                }
                TaskQueue().add(task: task)
                let isValue = await task.result().value != nil
                #expect(eventually { values.count == (isValue ? 1 : 0) && errors.count == (isValue ? 0 : 1) })
            }
        }
    }

    @Test("testOnValueBlockExecution, testOnErrorBlockExecution")
    func blocks() async {
        let log = Log<String>()
        for task in [SimpleTask(), FailingTask()] as [Task<Int>] {
            task.onValue { log.note("value \($0)") }.onError { log.note("error \(($0 as? Flaw)?.number ?? 0)") }
            TaskQueue().add(task: task)
            let outcome = await task.result()
            #expect(eventually { log.all.last == (outcome.value == 1 ? "value 1" : "error 100") })
        }
        #expect(log.all == ["value 1", "error 100"])
    }

    @Test("testOnValueThrow: handlers do not throw any more; what may fail is a task of its own")
    func onValueThrow() async {
        let errors = Counter()
        let task = SimpleTask()
        let check = task.then { value -> Int in throw Flaw(number: value) }
        check.onError { _ in errors.add() }
        TaskQueue().add(task: check)
        #expect((await check.result().error as? Flaw)?.number == 1)
        #expect(eventually { errors.count == 1 } && task.result?.value == 1)
    }

    @Test("testTaskEqueue")
    func enqueue() {
        let queue = TaskQueue()
        queue.suspend()
        let task = SimpleTask()
        queue.add(task: task)
        #expect(task.state == .ready && task.isReady)
        queue.resume()
    }

    @Test("testIsCancelled, testStateIfCancelled: a cancelled task is over at once, and its outcome says so")
    func cancelled() {
        let task = SimpleTask()
        task.cancel()
        #expect(task.isCancelled && task.state == .finished)
        TaskQueue().add(task: task)
        #expect(task.state == .finished && task.result?.error is CancellationError)
    }

    @Test("testCancelSuspendedTask")
    func cancelSuspended() async {
        let queue = TaskQueue()
        queue.isSuspended = true
        let task = SimpleTask()
        queue.add(task: task)
        task.cancel()
        #expect(task.state == .finished && task.result?.error is CancellationError)
        queue.isSuspended = false
        await queue.drained()
        #expect(task.state == .finished && queue.tasks.isEmpty)
    }

    @Test("testCancellationOfDependentTask")
    func cancelDependent() async throws {
        let (a, b, c) = (Counter(), Counter(), Counter())
        let tasks = [a, b, c].map { counter in InlineTask { counter.add() } }
        tasks[1].add(dependency: tasks[0])
        tasks[2].add(dependency: tasks[1])
        let queue = TaskQueue()
        queue.suspend()
        queue.add(tasks: tasks)
        tasks[1].cancel()
        queue.resume()
        try await tasks[2].value
        await queue.drained()
        #expect(a.count == 1 && b.count == 0 && c.count == 1)
    }

    // MARK: ThreadSafetyTests

    @Test("testResultOnDispatchQueue")
    func resultElsewhere() async throws {
        let task = TaskQueue().add { 10 }
        _ = try await task.value
        for queue in [DispatchQueue(label: "custom"), DispatchQueue.global(qos: .background)] {
            let value = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int?, Never>) in
                queue.async { continuation.resume(returning: task.result?.value) }
            }
            #expect(value == 10)
        }
    }

    @Test("testExecutionOnCustomQueue")
    func customQueue() async throws {
        let key = DispatchSpecificKey<Int>()
        let custom = DispatchQueue(label: "custom")
        custom.setSpecific(key: key, value: 6)
        let queue = TaskQueue(queue: custom)
        #expect(try await queue.add { DispatchQueue.getSpecific(key: key) }.value == 6)
    }

    @Test("issue #18: with one task at a time both of two tasks are completed")
    func oneAtATime() async throws {
        let queue = TaskQueue()
        queue.maxConcurrentTaskCount = 1
        let (first, second) = (SimpleTask(), OtherTask())
        queue.add(task: first)
        queue.add(task: second)
        #expect(try await first.value == 1)
        #expect(try await second.value == 2)
    }
}
