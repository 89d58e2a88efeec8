import Foundation
import Overdrive
import TestSupport
import Testing

/// Rules that all of the old libraries' users relied on, or stumbled over, and that no test of theirs states.
@Suite("The rules of tasks", .timeLimit(.minutes(10)))
struct RuleTests {
    private final class Watcher: TaskObserver {
        let log: Log<String>
        init(_ log: Log<String>) { self.log = log }
        func taskDidStartExecution<T>(_ task: Task<T>) { log.note("start") }
        func taskWillFinishExecution<T>(_ task: Task<T>) { log.note("will \(task.state) \(task.result == nil)") }
        func taskDidFinishExecution<T>(_ task: Task<T>) { log.note("did \(task.state)") }
    }

    @Test("At the end: willFinish observers, the result, handlers in their order, didFinish observers, dependents")
    func orderAtTheEnd() async throws {
        let log = Log<String>()
        let task = Task.inline { log.note("body") }
        task.add(observer: Watcher(log))
        task.onCompletion { (_: Result<Void, any Error>) in log.note("first") }
            .onValue { log.note("second") }
            .onCompletion { log.note("third") }
        let dependent = Task.inline { log.note("dependent") }
        dependent.add(dependency: task)
        TaskQueue().add(task: dependent)
        try await dependent.value
        #expect(
            log.all == ["start", "body", "will executing true", "first", "second", "third", "did finished", "dependent"])
    }

    @Test("Of a task that is cancelled before its start observers hear the end without a beginning")
    func cancelledBefore() {
        let log = Log<String>()
        let task = Task.inline { log.note("body") }
        task.add(observer: Watcher(log))
        task.onValue { log.note("value") }.onError { _ in log.note("error") }
            .onCancel { log.note("cancel") }.onCompletion { log.note("completion") }
        task.cancel()
        task.start()
        #expect(log.all == ["cancel", "will initialized true", "completion", "did finished"])
    }

    @Test("Observers and handlers are called on the thread that finishes the task, didAdd on the one that adds it")
    func threads() async throws {
        final class Threads: TaskObserver, TaskQueueDelegate {
            let log = Log<(String, pthread_t)>()
            func note(_ what: String) { log.note((what, pthread_self())) }
            func taskWillFinishExecution<T>(_ task: Task<T>) { note("finisher") }
            func taskDidFinishExecution<T>(_ task: Task<T>) { note("finisher") }
            func didAdd<T>(task: Task<T>, to queue: TaskQueue) { note("adder") }
            func willFinish<T>(task: Task<T>, in queue: TaskQueue) { note("finisher") }
            func didFinish<T>(task: Task<T>, in queue: TaskQueue) { note("finisher") }
        }
        let (queue, threads) = (TaskQueue(), Threads())
        queue.delegate = threads
        let (task, body) = (Task<Int> { _ in {} }, WaitGroup())
        task.add(observer: threads)
        task.onValue { _ in threads.note("finisher") }.onCompletion { threads.note("finisher") }
        body.enter()
        onThread {
            threads.note("adder")
            queue.add(task: task)
            body.leave()
        }
        await body.wait()
        #expect(eventually { task.isExecuting })
        body.enter()
        onThread {
            threads.note("finisher")
            task.finish(with: .value(1))
            body.leave()
        }
        await body.wait()
        var heard: [String: [pthread_t]] = [:]
        for (what, thread) in threads.log.all { heard[what, default: []].append(thread) }
        #expect(heard["adder"]?.count == 2 && heard["finisher"]?.count == 7)
        for all in heard.values { #expect(Set(all).count == 1) }
    }

    @Test("On TaskQueue.main body and handlers are on the main queue, and what throws there reaches onError")
    func mainQueue() async throws {
        let isMain = Log<Bool>()
        let task = Task<Int>.inline {
            isMain.note(isOnMain())
            throw Flaw(number: 4)
        }
        task.onError { _ in isMain.note(isOnMain()) }.onCompletion { isMain.note(isOnMain()) }
        TaskQueue.main.add(task: task)
        #expect((await task.result().error as? Flaw)?.number == 4)
        #expect(eventually { isMain.all == [true, true, true] })
    }

    private struct Says: CallbackTaskCondition {
        let number: Int?
        var conditionName: String { "condition \(number ?? 0)" }
        func evaluate<T>(forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void) {
            guard let number else { return }
            // Late, from anywhere, and more than once.
            for _ in 0..<2 {
                TaskQueue.background.async { evaluationBlock(number == 0 ? .satisfied : .failed(Flaw(number: number))) }
            }
        }
    }

    @Test("All conditions are asked, however the others answer; the failures are combined in their order")
    func conditions() async {
        let task = Task.inline {}
        for number in [1, 0, nil, 2] { task.add(condition: Says(number: number)) }
        TaskQueue().add(task: task)
        guard case .combined(let errors)? = await task.result().error as? TaskConditionError, errors.count == 3 else {
            Issue.record("\(String(describing: task.result))")
            return
        }
        #expect((errors[0] as? Flaw)?.number == 1 && (errors[2] as? Flaw)?.number == 2)
        guard case .unanswered("condition 0")? = errors[1] as? TaskConditionError else {
            Issue.record("\(errors[1])")
            return
        }
        #expect(task.conditionErrors.count == 3)
    }

    @Test("Conditions and observers are removed by class with subclasses, and are found by their own class alone")
    func classes() {
        class Base: TaskObserver, TaskCondition, @unchecked Sendable {
            func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
        }
        final class Derived: Base, @unchecked Sendable {}
        let task = Task.inline {}
        for each in [Base(), Derived(), Derived()] {
            task.add(observer: each)
            task.add(condition: each)
        }
        #expect(task.contains(observer: Derived.self) && task.contains(observer: Base.self))
        #expect(task.remove(observer: Derived.self) && task.observers.count == 1)
        #expect(!task.contains(observer: Derived.self))
        #expect(!Task.inline(observers: [Derived()]) {}.contains(observer: Base.self))
        #expect(task.remove(condition: Base.self) && task.conditions.isEmpty)
        #expect(!task.remove(condition: Base.self))
    }

    @Test("Updates that are switched to a queue of several at a time keep their order there")
    func switchedOrder() async throws {
        let log = Log<Int>()
        let task = Task<Int> { emit in
            for number in 1...1_000 { emit(.update(number)) }
            emit(.completion)
            return {}
        }.switchTo(.background)
        task.onUpdate { log.note($0) }
        task.start()
        #expect(try await task.value == 1_000)
        #expect(log.all == Array(1...1_000))
    }
}
