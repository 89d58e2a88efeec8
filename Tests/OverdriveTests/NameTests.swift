import Overdrive
import Testing

/// What a file that imports Overdrive may still write of Swift Concurrency's `Task`.
@Suite("The name Task", .timeLimit(.minutes(10)))
struct NameTests {
    @Test("has Swift's statics")
    func statics() async throws {
        try await Task.sleep(nanoseconds: 1)
        try await Task.sleep(for: .nanoseconds(1))
        try await Task.sleep(until: .now, clock: .continuous)
        await Task.yield()
        #expect(!Task.isCancelled)
        try Task.checkCancellation()
        _ = Task.currentPriority
    }

    @Test("leaves Swift's own under other names")
    func aliases() async throws {
        let task = AsyncTask { 5 }
        #expect(await task.value == 5)
        let sum = await withTaskGroup(of: Int.self) { (group: inout AsyncTaskGroup<Int>) in
            for number in 1...3 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        #expect(sum == 6)
    }

    @Test("answers for the task that runs when it is asked whether that is cancelled")
    func isCancelled() async {
        let log = Log<Bool>()
        let (begun, go) = (Gate(), Gate())
        let task = TaskQueue().add {
            begun.open()
            go.pass()
            log.note(Task.isCancelled)
            log.note(Cancellation.isRequested)
            try Task.checkCancellation()
        }
        await AsyncTask.detached { begun.pass() }.value
        task.cancel()
        #expect(task.isCancelled && !task.isFinished)
        go.open()
        #expect(await task.result().error is CancellationError)
        #expect(log.all == [true, true])
    }
}
