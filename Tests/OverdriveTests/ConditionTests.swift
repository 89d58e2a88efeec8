import Dispatch
import Overdrive
import Testing

@Suite("Conditions", .timeLimit(.minutes(10)))
struct ConditionTests {
    /// Needs a task, and takes its time to say so.
    private struct Slow: TaskCondition {
        let asked = Counter()
        let mayAnswer = Gate()
        let evaluated = Counter()
        let needed: Task<Int>
        let wasOver = Log<Bool>()

        func dependencies<T>(forTask task: Task<T>) -> [AnyTask] {
            asked.add()
            mayAnswer.pass()
            return [needed]
        }

        func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult {
            evaluated.add()
            wasOver.note(needed.isFinished)
            return .satisfied
        }
    }

    enum Second: String, CaseIterable, Codable, Sendable { case dependent, program, start }

    /// The body ran before them.
    @Test("that are asked for their dependencies hold the task, whoever brings it to a queue meanwhile", arguments: Second.allCases)
    func brought(by second: Second) async {
        await #expect(processExitsWith: .success) { [second] in ConditionTests.bring(by: second) }
    }

    private static func bring(by second: Second) {
        let needed = Task<Int> { _ in {} }
        let (condition, queue, threads) = (Slow(needed: needed), TaskQueue(), DispatchGroup())
        let (task, dependent) = (Task.inline { needed.result?.value }, Task.inline {})
        task.add(condition: condition)
        if second != .dependent { dependent.add(dependency: task) }
        DispatchQueue(label: "first").async(group: threads) {
            if second == .dependent { queue.add(task: task) } else { queue.add(task: dependent) }
        }
        #expect(eventually { condition.asked.count == 1 })
        switch second {
        case .dependent:
            dependent.add(dependency: task)
            TaskQueue().add(task: dependent)
        case .program: TaskQueue().add(task: task)
        case .start: task.start()
        }
        #expect(comesToRest())
        #expect(condition.evaluated.count == 0 && task.state == .pending)
        condition.mayAnswer.open()
        threads.wait()
        #expect(eventually { needed.isExecuting })
        #expect(task.dependencies.map(ObjectIdentifier.init) == [ObjectIdentifier(needed)])
        needed.finish(with: .value(7))
        #expect(task.wait(timeout: .seconds(60)) == .success && task.result?.value == 7)
        #expect(dependent.wait(timeout: .seconds(60)) == .success)
        #expect(condition.asked.count == 1 && condition.evaluated.count == 1 && condition.wasOver.all == [true])
    }

    @Test("that are asked while the task is cancelled leave nobody waiting")
    func cancelledMeanwhile() {
        let needed = Task<Int> { _ in {} }
        let (condition, threads) = (Slow(needed: needed), DispatchGroup())
        let task = Task.inline {}
        task.add(condition: condition)
        DispatchQueue(label: "first").async(group: threads) { TaskQueue().add(task: task) }
        #expect(eventually { condition.asked.count == 1 })
        task.cancel()
        #expect(task.wait(timeout: .seconds(60)) == .success)
        condition.mayAnswer.open()
        threads.wait()
        #expect(task.result?.error is CancellationError && condition.evaluated.count == 0)
    }

    @Test("that come when the others are asked for their dependencies come too late")
    func tooLate() {
        let (condition, threads) = (Slow(needed: Task(value: 1)), DispatchGroup())
        let task = Task.inline { 1 }
        task.add(condition: condition)
        DispatchQueue(label: "first").async(group: threads) { TaskQueue().add(task: task) }
        #expect(eventually { condition.asked.count == 1 })
        #expect(!task.add(condition: Asked(error: Flaw())))
        condition.mayAnswer.open()
        threads.wait()
        #expect(task.wait(timeout: .seconds(60)) == .success && task.result?.value == 1)
    }
}
