import Dispatch
import Overdrive
import Testing

/// What was wrong with Overdrive 0.3 and Chop, number by number: each is right here.
@Suite("Defects of old", .timeLimit(.minutes(10)))
struct DefectTests {
    // MARK: Overdrive 0.3

    @Test("1: a queue that runs one task at a time runs them all", arguments: [1, 2])
    func oneAtATime(width: Int) async throws {
        let queue = TaskQueue(maxConcurrentTaskCount: width)
        let (crowd, meeting) = (Crowd(), Meeting(of: width))
        let tasks = (0..<50).map { _ in
            queue.add { crowd.visit { meeting.attend() } }
        }
        for task in tasks { try await task.value }
        #expect(crowd.most == width)
    }

    @Test("1, and none is started while one that has returned is not finished", arguments: [1, 3])
    func asynchronousOneAtATime(width: Int) async throws {
        let queue = TaskQueue(maxConcurrentTaskCount: width)
        let (inside, most, done) = (Counter(), Counter(), Counter())
        let tasks = (0..<30).map { _ in
            Task<Void> { emit in
                let now = inside.add()
                if now > width { most.add() }
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.002) {
                    inside.add(-1)
                    emit(.completion)
                }
                return {}
            }
        }
        for task in tasks { task.onCompletion { done.add() } }
        queue.add(tasks: tasks)
        for task in tasks { try await task.value }
        #expect(eventually { done.count == 30 } && most.count == 0)
        #expect(!queue.isSuspended && queue.maxConcurrentTaskCount == width)
    }

    @Test("2: conditions are evaluated once")
    func conditionsOnce() async throws {
        let (condition, task) = (Asked(), Task.inline { 1 })
        task.add(condition: condition)
        let dependencies = (0..<20).map { _ in Task.inline {} }
        for dependency in dependencies { task.add(dependency: dependency) }
        TaskQueue().add(task: task)
        #expect(try await task.value == 1)
        #expect(condition.asked.count == 1)
    }

    @Test("3: a failed condition is no attempt, and is not retried")
    func conditionAndRetry() async {
        struct Fails: CallbackTaskCondition {
            func evaluate<T>(forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void) {
                DispatchQueue.global().async { evaluationBlock(.failed(Flaw(number: 3))) }
            }
        }
        let runs = Counter()
        let task = Task.inline { runs.add() }.retry(3)
        task.add(condition: Fails())
        task.add(condition: Fails())
        TaskQueue().add(task: task)
        guard case .combined(let errors)? = await task.result().error as? TaskConditionError else {
            Issue.record("not the conditions' error")
            return
        }
        #expect(errors.count == 2 && runs.count == 0 && task.retryCount == 3)
    }

    @Test("4: a retry heeds a cancel")
    func retryAndCancel() async {
        let runs = Counter()
        let task = Task<Int> { emit in
            if runs.add() < 2 { emit(.failure(Flaw())) }
            return {}
        }.retry(5)
        TaskQueue().add(task: task)
        #expect(eventually { runs.count == 2 && task.retryCount == 4 })
        task.cancel()
        #expect(await task.result().error is CancellationError)
        #expect(runs.count == 2)
    }

    @Test("5: the first finish counts, the second returns false and changes nothing")
    func doubleFinish() async {
        final class Twice: Task<Int>, @unchecked Sendable {
            let answers = Log<Bool>()
            override func run() {
                answers.note(finish(with: .value(1)))
                answers.note(finish(with: .value(2)))
                answers.note(finish(with: .error(Flaw())))
            }
        }
        let (task, handlers) = (Twice(), Counter())
        task.onCompletion { handlers.add() }
        TaskQueue().add(task: task)
        #expect(await task.result().value == 1)
        #expect(eventually { task.answers.all.count == 3 })
        #expect(task.answers.all == [true, false, false] && handlers.count == 1 && task.result?.value == 1)
    }

    @Test("6: late handlers are served")
    func lateHandlers() async throws {
        let task = TaskQueue().add { 1 }
        _ = try await task.value
        let log = Log<Int>()
        task.onValue { log.note($0) }.onError { _ in log.note(-1) }
        #expect(eventually { log.all == [1] })
    }

    @Test("7: two tasks' conditions may bring the same dependency")
    func sharedConditionDependency() async throws {
        let runs = Counter()
        let shared = Task.inline { runs.add() }
        let tasks = (0..<2).map { _ in Task.inline { 1 } }
        let queue = TaskQueue()
        for task in tasks {
            task.add(condition: Asked(needs: [shared]))
            queue.add(task: task)
        }
        for task in tasks { #expect(try await task.value == 1) }
        #expect(runs.count == 1)
    }

    @Test("8: several of a kind are removed at once; resuming while a task runs is harmless; get(dependency:) heeds the class")
    func marked() async throws {
        struct Nothing: TaskCondition, TaskObserver {
            func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
        }
        final class Special: Task<Int>, @unchecked Sendable {
            override func run() { finish(with: .value(1)) }
        }
        let task = Special()
        for _ in 0..<3 {
            task.add(condition: Nothing())
            task.add(observer: Nothing())
        }
        #expect(task.remove(condition: Nothing.self) && task.conditions.isEmpty)
        #expect(task.remove(observer: Nothing.self) && task.observers.isEmpty)
        task.add(dependency: Task.inline { 2 })
        task.add(dependency: Special())
        #expect(task.get(dependency: Special.self).count == 1)

        let queue = TaskQueue()
        let gate = Gate()
        let running = queue.add { gate.pass() }
        #expect(eventually { running.isExecuting })
        queue.isSuspended = true
        let next = queue.add { 3 }
        queue.isSuspended = false
        gate.open()
        try await running.value
        #expect(try await next.value == 3)
    }

    // 9, retries as recursion: RetryTests.many. 10, vacuous tests: OverdriveAcceptanceTests.cancelled, cancelSuspended.

    // MARK: Chop

    @Test("A failure is told before the completion, and both once")
    func failureFirst() {
        let log = Log<String>()
        Task<Int> { emit in
            emit(.failure(Flaw()))
            emit(.completion)
            return {}
        }.onFailure { _ in log.note("f") }.onCompletion { log.note("c") }.start()
        #expect(log.all == ["f", "c"])
    }

    @Test("Nothing is delivered after the end")
    func afterTheEnd() {
        let log = Log<String>()
        Task<Int> { emit in
            emit(.completion)
            emit(.update(1))
            emit(.value(2))
            return {}
        }.onUpdate { _ in log.note("u") }.onCompletion { log.note("c") }.start()
        #expect(log.all == ["c"])
    }

    @Test("A cancelled task does not start again")
    func startAfterCancel() {
        let (runs, disposals) = (Counter(), Counter())
        let task = Task<Int> { _ in
            runs.add()
            return { disposals.add() }
        }
        task.start()
        task.cancel()
        task.start()
        #expect(runs.count == 1 && disposals.count == 1)
    }

    @Test("The cleanup runs at the end, not when the task is deallocated, and a group lets go at once")
    func cleanupAtTheEnd() {
        let disposals = Counter()
        let group = TaskGroup()
        let emitter = Holder<Task<Int>.Emitter?>(nil)
        let task = Task<Int> { emit in
            emitter.value = emit
            return { disposals.add() }
        }
        task.registerIn(group)
        #expect(group.count == 1)
        emitter.value?(.value(1))
        #expect(disposals.count == 1 && group.count == 0 && task.isFinished)
    }

    @Test("A body that starts its own task again runs once")
    func reentrantStart() {
        let runs = Counter()
        let holder = Holder<Task<Int>?>(nil)
        let task = Task<Int> { emit in
            runs.add()
            holder.value?.start()
            emit(.value(1))
            return {}
        }
        holder.value = task
        task.start()
        holder.value = nil
        #expect(runs.count == 1 && task.result?.value == 1)
    }

    @Test("A group that goes cancels what it holds, whoever else holds it")
    func groupGoes() {
        let disposals = Counter()
        var group: TaskGroup? = TaskGroup()
        let task = Task<Int> { _ in { disposals.add() } }
        group?.register(task)
        group = nil
        #expect(disposals.count == 1 && task.isCancelled)
    }

    @Test("A task that nobody holds is cancelled, and its handlers are told")
    func forgotten() {
        let log = Log<String>()
        do {
            let task = Task<Int> { _ in { log.note("cleanup") } }
            task.onCancel { log.note("cancel") }.onCompletion { log.note("completion") }
            task.start()
            #expect(log.all == [])
        }
        #expect(log.all == ["cancel", "cleanup", "completion"])
    }

    @Test(".replace cancels the old task although others hold it")
    func replaceHeld() {
        let group = TaskGroup(policy: .replace)
        let old = Task<Int> { _ in {} }
        group.register(old, taskId: "a")
        group.register(Task<Int> { _ in {} }, taskId: "a")
        #expect(old.isCancelled && group.count == 1)
    }

    @Test("then and recover complete once, after their values")
    func completions() async {
        let log = Log<String>()
        let upstream = Task<Int> { emit in
            emit(.update(1))
            emit(.update(2))
            emit(.completion)
            return {}
        }
        let derived = upstream.then { value -> Task<Int> in Task(value: value * 10) }
        derived.onUpdate { log.note("u\($0)") }.onCompletion { log.note("c") }
        derived.start()
        #expect(await derived.result().value == 20)
        #expect(eventually { log.all.last == "c" })
        #expect(log.all.filter { $0 == "c" }.count == 1 && log.all.contains("u20"))
    }

    @Test("An update that leads to a task cancels that of the update before")
    func latest() async {
        let disposals = Counter()
        let upstream = Task<Int> { emit in
            emit(.update(1))
            emit(.update(2))
            emit(.completion)
            return {}
        }
        let derived = upstream.then { value -> Task<Int> in
            value == 1 ? Task<Int> { _ in { disposals.add() } } : Task(value: value * 10)
        }
        derived.start()
        #expect(await derived.result().value == 20)
        #expect(disposals.count == 1)
    }

    @Test("A value that recover brings later is not lost when the group is given another task meanwhile")
    func recoveryInGroup() async throws {
        let (group, completions) = (TaskGroup(), Counter())
        let failing = Task<Int> { emit in
            DispatchQueue.global().async { emit(.failure(Flaw())) }
            return {}
        }
        let (opened, gate) = (Counter(), Gate())
        let recovered = failing.recover { _ -> Task<Int> in
            Task<Int> { emit in
                opened.add()
                DispatchQueue.global().async {
                    gate.pass()
                    emit(.value(9))
                }
                return {}
            }
        }
        recovered.onCompletion { completions.add() }.registerIn(group)
        #expect(eventually { opened.count == 1 })
        group.register(Task<Int>(value: 1))
        #expect(completions.count == 0 && group.count == 1)
        gate.open()
        #expect(try await recovered.value == 9)
        #expect(eventually { completions.count == 1 })
    }

    @Test("An asynchronous task that succeeds at its third attempt delivers its value in a group")
    func asynchronousRetry() async throws {
        let runs = Counter()
        let group = TaskGroup()
        let task = Task<Int> { emit in
            let run = runs.add()
            DispatchQueue.global().async { emit(run == 3 ? .value(42) : .failure(Flaw())) }
            return {}
        }.retry(5)
        let completions = Counter()
        task.onCompletion { completions.add() }.registerIn(group)
        #expect(try await task.value == 42)
        #expect(eventually { completions.count == 1 } && runs.count == 3)
    }

    @Test("Groups nest, and what is over is not kept in them")
    func nested() {
        let (outer, inner) = (TaskGroup(), TaskGroup(startsImmediately: false))
        let (runs, disposals) = (Counter(), Counter())
        inner.register(Task<Int> { _ in
            runs.add()
            return { disposals.add() }
        })
        #expect(runs.count == 0)
        outer.register(inner)
        #expect(runs.count == 1)
        outer.cancel()
        #expect(disposals.count == 1 && inner.count == 0)
    }
}
