import Dispatch
import Overdrive
import Testing

/// The sentences of Chop's own tests, each with its name, under the rules of today.
@Suite("Chop's acceptance list", .timeLimit(.minutes(10)))
struct ChopAcceptanceTests {
    let group = TaskGroup()

    // MARK: TaskFunctional

    @Test("Map")
    func map() {
        let log = Log<String>()
        let derived = Task<Int>(value: 4).then { "\($0)!" }
        derived.onUpdate { log.note($0) }.registerIn(group)
        #expect(eventually { derived.isFinished })
        #expect(log.all == ["4!"] && derived.result?.value == "4!")
    }

    @Test("FlatMap")
    func flatMap() {
        let log = Log<String>()
        let derived = Task<Int>(value: 4).then { value -> Task<String> in Task(value: "\(value * 2)") }
        derived.onUpdate { log.note($0) }.registerIn(group)
        #expect(eventually { derived.isFinished })
        #expect(log.all == ["8"] && derived.result?.value == "8")
    }

    @Test("Recover")
    func recover() {
        let (log, errors) = (Log<Int>(), Counter())
        let derived = Task<Int>(error: Flaw(number: 9)).recover { ($0 as? Flaw)?.number ?? 0 }
        derived.onUpdate { log.note($0) }.onFailure { _ in errors.add() }.registerIn(group)
        #expect(eventually { derived.isFinished })
        #expect(log.all == [9] && errors.count == 0)
    }

    // MARK: TaskGroup

    @Test("IgnorePolicy")
    func ignorePolicy() {
        let (first, second) = (Counter(), Counter())
        Task<Int> { emit in
            first.add()
            emit(.update(1))
            return {}
        }.registerIn(group, taskId: "task")
        Task<Int> { emit in
            second.add()
            emit(.completion)
            return {}
        }.registerIn(group, taskId: "task")
        #expect(first.count == 1 && second.count == 0)
    }

    @Test("IgnorePolicy leaves the name of a task that is over to what its handler registers")
    func ignoredNoMore() {
        let (group, accepted) = (TaskGroup(policy: .ignore), Log<Bool>())
        let first = Task<Int> { emit in
            emit(.value(1))
            return {}
        }
        first.onCompletion {
            let next = Task<Int> { emit in
                emit(.value(2))
                return {}
            }
            accepted.note(group.register(next, taskId: "task"))
        }
        group.register(first, taskId: "task")
        #expect(eventually { accepted.all == [true] })
    }

    @Test("ReplacePolicy")
    func replacePolicy() {
        let group = TaskGroup(policy: .replace)
        let (disposals, runs) = (Counter(), Counter())
        Task<Int> { emit in
            emit(.update(1))
            return { disposals.add() }
        }.registerIn(group, taskId: "task")
        Task<Int> { emit in
            runs.add()
            emit(.completion)
            return {}
        }.registerIn(group, taskId: "task")
        #expect(disposals.count == 1 && runs.count == 1)
        // In its own place it is not replaced.
        let task = Task<Int> { _ in {} }
        for _ in 0..<2 { #expect(task.registerIn(group, taskId: "once") === task && !task.isCancelled) }
    }

    @Test("DeferredStart")
    func deferredStart() {
        let group = TaskGroup(startsImmediately: false)
        let runs = Log<Int>()
        for number in 0..<20 {
            Task<Int> { emit in
                runs.note(number)
                emit(.update(1))
                return {}
            }.registerIn(group)
        }
        #expect(runs.all == [])
        group.start()
        #expect(runs.all == Array(0..<20), "in the order in which they were registered")
    }

    @Test("Cancel")
    func cancelGroup() {
        let disposals = Log<Int>()
        for number in 0..<20 { Task<Int> { _ in { disposals.note(number) } }.registerIn(group) }
        group.cancel()
        #expect(disposals.all == Array(0..<20), "in the order in which they were registered")
    }

    @Test("IsFinished_ShouldAlwaysReturnFalse: a group has no end of its own; it says how many it holds")
    func groupHasNoEnd() {
        Task<Int>(value: 1).registerIn(group)
        #expect(group.count == 0, "let go of at once")
        Task<Int> { _ in {} }.registerIn(group)
        #expect(group.count == 1)
    }

    // MARK: Task

    @Test("SuccessFlow")
    func successFlow() {
        let (runs, completions, values) = (Counter(), Counter(), Log<Int>())
        let task = Task<Int> { emit in
            runs.add()
            emit(.update(42))
            emit(.completion)
            return {}
        }
        task.onUpdate { values.note($0) }.onCompletion { completions.add() }.registerIn(group)
        #expect(runs.count == 1 && completions.count == 1 && values.all == [42])
        #expect(task.result?.value == 42)
    }

    @Test("FailureFlow")
    func failureFlow() {
        let (updates, failures, completions) = (Counter(), Log<Int>(), Counter())
        Task<Int> { emit in
            emit(.failure(Flaw(number: 100)))
            emit(.completion)
            return {}
        }
        .onUpdate { _ in updates.add() }
        .onFailure { failures.note(($0 as? Flaw)?.number ?? 0) }
        .onCompletion { completions.add() }
        .registerIn(group)
        #expect(updates.count == 0 && failures.all == [100] && completions.count == 1)
    }

    @Test("OnMultipleUpdates_shouldSaveLastValue")
    func multipleUpdates() {
        let log = Log<String>()
        let task = Task<String> { emit in
            for word in ["How", "You", "Doin'?"] { emit(.update(word)) }
            emit(.completion)
            return {}
        }
        task.onUpdate { log.note($0) }.registerIn(group)
        #expect(log.all == ["How", "You", "Doin'?"] && task.result?.value == "Doin'?")
    }

    @Test("ShouldStartOnlyOnce")
    func startOnce() {
        let (runs, completions) = (Counter(), Counter())
        let task = Task<Void> { emit in
            runs.add()
            emit(.completion)
            return {}
        }
        task.onCompletion { completions.add() }.registerIn(group)
        for _ in 0..<3 { task.start() }
        #expect(runs.count == 1 && completions.count == 1)
        #expect(task.result?.value != nil, "() is the value of a Void task")
    }

    @Test("CreateWithResult, CreateWithError")
    func ready() {
        let log = Log<String>()
        Task<Int>(value: 3).onUpdate { log.note("\($0)") }.onFailure { _ in log.note("failure") }.registerIn(group)
        Task<Int>(error: Flaw()).onUpdate { log.note("\($0)") }.onFailure { _ in log.note("failure") }.registerIn(group)
        #expect(log.all == ["3", "failure"])
    }

    @Test("CancelIsSilent: nothing that a disposer emits is heard; the cancellation is")
    func cancelIsSilent() {
        let log = Log<String>()
        let task = Task<Int> { emit in
            { emit(.update(1)); emit(.failure(Flaw())); emit(.completion) }
        }
        task.onUpdate { _ in log.note("update") }.onFailure { _ in log.note("failure") }
            .onCancel { log.note("cancel") }.onCompletion { log.note("completion") }.registerIn(group)
        task.cancel()
        #expect(log.all == ["cancel", "completion"])
    }

    @Test("CancelDisposes")
    func cancelDisposes() {
        let disposals = Counter()
        let task = Task<Int> { _ in { disposals.add() } }
        task.registerIn(group)
        for _ in 0..<3 { task.cancel() }
        #expect(disposals.count == 1)
    }

    @Test("RetryThenSucceed")
    func retryThenSucceed() async throws {
        let runs = Counter()
        let task = Task<Int> { emit in
            if runs.add() == 5 { emit(.value(42)) } else { emit(.failure(Flaw())) }
            return {}
        }.retry(10)
        task.registerIn(group)
        #expect(try await task.value == 42)
        #expect(runs.count == 5)
    }

    @Test("RetryAllFail")
    func retryAllFail() async {
        let (runs, updates) = (Counter(), Counter())
        let task = Task<Int> { emit in
            runs.add()
            emit(.failure(Flaw()))
            return {}
        }.retry(5)
        task.onUpdate { _ in updates.add() }.registerIn(group)
        #expect(await task.result().error is Flaw)
        #expect(runs.count == 6 && updates.count == 0)
    }

    // MARK: Threading

    @Test("MainFromMain") @MainActor
    func mainFromMain() {
        let hits = Counter()
        Task<String>(value: "Test").switchTo(.main).onUpdate { _ in hits.add() }.registerIn(group)
        #expect(hits.count == 1, "at once")
    }

    @Test("MainFromBackground")
    func mainFromBackground() async throws {
        let isMain = Log<Bool>()
        let task = Task<Void> { emit in
            DispatchQueue.global(qos: .background).async { emit(.completion) }
            return {}
        }.switchTo(.main)
        task.onCompletion { isMain.note(isOnMain()) }
        task.registerIn(group)
        try await task.value
        #expect(eventually { isMain.all == [true] })
    }

    @Test("Background")
    func background() async throws {
        let band = Log<TaskQueue.QoS?>()
        let task = Task<String>(value: "Test").switchTo(.background)
        task.onUpdate { _ in band.note(.current) }.registerIn(group)
        #expect(try await task.value == "Test")
        #expect(band.all == [.background])
    }
}
