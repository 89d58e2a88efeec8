import Overdrive
import TestSupport
import Testing

/// A task is made with all that it needs: `init(dependencies:observers:conditions:)`.
@Suite("Task(dependencies:observers:conditions:)", .timeLimit(.minutes(10)))
struct InitializerTests {
    private final class Reads: Task<[Int]>, @unchecked Sendable {
        override func run() { finish(with: .value(get(dependency: Task<Int>.self).compactMap { $0.result?.value })) }
    }
    private final class Named: Task<String>, @unchecked Sendable {
        let greeting = "hello"
        override init() {
            super.init()
            name = "named"
        }
        override func run() { finish(with: .value(greeting)) }
    }
    private final class Observer: TaskObserver {
        let log = Log<String>()
        func taskDidStartExecution<T>(_ task: Task<T>) { log.note("start") }
        func taskWillFinishExecution<T>(_ task: Task<T>) { log.note("will") }
        func taskDidFinishExecution<T>(_ task: Task<T>) { log.note("did") }
    }

    @Test("A subclass has what it was made with: dependencies in their order, observers, conditions")
    func subclass() async throws {
        let (observer, asks) = (Observer(), Asked())
        let (one, two) = (Task.inline { 1 }, Task.inline { 2 })
        let task = Reads(dependencies: [one, two], observers: [observer], conditions: [asks])
        #expect(task.dependencies.elementsEqual([one, two], by: ===))
        #expect(task.observers.count == 1 && task.conditions.count == 1)
        TaskQueue().add(task: task)
        #expect(try await task.value == [1, 2])
        #expect(eventually { observer.log.all == ["start", "will", "did"] })
        #expect(asks.asked.count == 1)
    }

    @Test("Each may be left out, and a subclass that overrides init() is made by it")
    func parts() async throws {
        let first = Task.inline { 1 }
        let plain = [Named(dependencies: [first]), Named(observers: [Observer()]), Named(conditions: [Asked()]), Named()]
        #expect(plain.map(\.dependencies.count) == [1, 0, 0, 0])
        #expect(plain.map(\.observers.count) == [0, 1, 0, 0])
        #expect(plain.map(\.conditions.count) == [0, 0, 1, 0])
        #expect(plain.allSatisfy { $0.name == "named" && $0.state == .initialized })
        let queue = TaskQueue()
        queue.add(tasks: plain)
        for task in plain { #expect(try await task.value == "hello") }
        #expect(first.isFinished)
    }

    @Test("InlineTask, BlockTask and Task.inline are made with them, too, and a failed condition counts")
    func closures() async throws {
        let order = Log<String>()
        let first = Task.inline { order.note("first") }
        let inline = InlineTask(dependencies: [first]) { order.note("inline") }
        let blocks = BlockTask(dependencies: [inline], blocks: [{ order.note("block") }, { order.note("block") }])
        let last = Task.inline(dependencies: [blocks], observers: [Observer()]) { order.all.count }
        let queue = TaskQueue()
        queue.add(tasks: [last])
        #expect(try await last.value == 4)
        #expect(order.all == ["first", "inline", "block", "block"])
        for refused in [
            InlineTask(conditions: [Asked(error: Flaw())]) { order.note("refused") },
            BlockTask(conditions: [Asked(error: Flaw())], blocks: [{ order.note("refused") }]),
            Task.inline(conditions: [Asked(error: Flaw())]) { order.note("refused") },
        ] as [Task<Void>] {
            queue.add(task: refused)
            #expect(await refused.result().error is TaskConditionError)
        }
        #expect(order.all.count == 4)
    }

    @Test("task_made_with_requiring_success_fails_after_a_failed_dependency")
    func requiring() async {
        let queue = TaskQueue()
        let failed = Task<Int>.inline { throw Flaw() }
        let strict: [AnyTask] = [
            Reads(dependencies: [failed], requiring: .success),
            InlineTask(dependencies: [failed], requiring: .success) {},
            BlockTask(dependencies: [failed], requiring: .success) {},
            BlockTask(dependencies: [failed], requiring: .success, blocks: [{}, {}]),
            Task.inline(dependencies: [failed], requiring: .success) { 1 },
        ]
        let lenient = Task.inline(dependencies: [failed]) { 1 }
        queue.add(tasks: strict)
        queue.add(task: lenient)
        await queue.drained()
        #expect(strict.allSatisfy { $0.outcome?.error is DependencyError })
        #expect(lenient.outcome?.value != nil)
    }

    @Test("outcome_of_tasks_of_several_types_is_there_when_they_have_finished")
    func outcomes() async {
        let queue = TaskQueue()
        let (number, text, stopped) = (Task.inline { 1 }, Task<String>.inline { throw Flaw() }, InlineTask {})
        let all: [AnyTask] = [number, text, stopped]
        #expect(all.allSatisfy { $0.outcome == nil })
        stopped.cancel()
        queue.add(task: number)
        queue.add(task: text)
        await queue.drained()
        #expect(number.outcome?.value != nil)
        #expect(text.outcome?.error is Flaw)
        #expect(stopped.outcome?.error is CancellationError)
    }

    @Test("Tasks of one type may be added by the function's name")
    func addedByName() async {
        let queue = TaskQueue()
        let tasks = (0..<3).map { number in Task.inline { number } }
        tasks.forEach(queue.add(task:))
        for (number, task) in tasks.enumerated() { #expect(await task.result().value == number) }
    }
}
