import Overdrive
import OverdriveCore
import TestSupport
import Testing

@Suite("Waiting for tasks of several types", .timeLimit(.minutes(10)))
struct FinishedTests {
    let queue = TaskQueue()

    @Test("task_of_any_type_is_awaited_and_tells_its_outcome")
    func finished() async {
        let (good, bad) = (Task.inline { 1 }, Task<String>.inline { throw Flaw(number: 7) })
        let tasks: [AnyTask] = [good, bad]
        queue.add(tasks: tasks)
        #expect(await good.finished().error == nil)
        #expect((await bad.finished().error as? Flaw)?.number == 7)
        let never = Task<Int> { _ in {} }
        queue.add(task: never)
        #expect(await never.finished(timeout: .milliseconds(2)) == .timedOut)
        never.cancel()
        #expect(await never.finished(timeout: .seconds(200)) == .success)
        #expect(await never.finished().error is CancellationError)
    }

    @Test("group_is_awaited_with_its_groups_and_asked_for_outcomes_in_order")
    func groups() async {
        let (group, inner) = (TaskGroup(keepsOutcomes: true), TaskGroup())
        let nested = Task.async { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(5)) }
        group.register(inner)
        inner.register(nested)
        for number in 0..<8 {
            Task.async {
                try await AsyncTask<Never, Never>.sleep(for: .milliseconds(8 - number))
                if number == 3 { throw Flaw(number: 3) }
            }.registerIn(group, taskId: "\(number)")
        }
        #expect(await group.finished(timeout: .zero) == .timedOut)
        let outcomes = await group.finished()
        #expect(nested.isFinished)
        #expect(outcomes.map(\.taskId) == (0..<8).map { "\($0)" })
        #expect(outcomes.filter { $0.result.error != nil }.map(\.taskId) == ["3"])
        #expect(await group.finished(timeout: .seconds(200)) == .success)
        #expect(await inner.finished().isEmpty, "Outcomes are kept on request only.")
    }

    @Test("thread_waits_for_a_group_and_for_what_replaced_a_task")
    func blocking() {
        let group = TaskGroup(policy: .replace, keepsOutcomes: true)
        let first = Task<Int> { _ in {} }
        group.register(first, taskId: "a")
        group.register(Task.inline { 2 }, taskId: "a")
        group.waitUntilFinished()
        #expect(first.isFinished)
        #expect(group.outcomes.map { $0.result.error is CancellationError } == [true, false])
    }
}
