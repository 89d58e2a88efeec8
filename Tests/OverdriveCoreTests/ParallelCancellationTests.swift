import Glibc
import OverdriveCore
import Testing

/// Whom branches ask whether they are still needed, wherever they run.
@Suite("Parallel: cancellation reaches every branch", .timeLimit(.minutes(10)))
struct ParallelCancellationTests {
    /// Calls `operation`, which runs a closure in two branches, in a task, which is cancelled when both have begun: one
    /// of them elsewhere then. Returns how many saw it.
    ///
    /// (It was the branch on the task's thread that cancelled it, once; but two workers may take both parts of a loop.)
    private func cancelled(_ operation: @escaping @Sendable (_ branch: @Sendable () -> Void) -> Void) async -> Int {
        let (begun, told) = (Counter(), Counter())
        let scheduler = makeScheduler(workers: 3)
        let tasks = Log<Task<Void, Never>>()
        let task = Task {
            Parallel(on: scheduler).scope { _ in
                operation {
                    if begun.add() == 2, eventually({ !tasks.all.isEmpty }) { tasks.all[0].cancel() }
                    if eventually({ Cancellation.isRequested }) { told.add() }
                }
            }
        }
        tasks.note(task)
        await task.value
        return told.count
    }

    @Test("a branch that another thread runs for a Swift task knows that the task is cancelled")
    func task() async {
        let told = await cancelled { branch in
            _ = Parallel.join { branch() } _: { branch() }
        }
        #expect(told == 2)
    }

    @Test("a timer of the same scheduler cancels a loop that uses every worker")
    func timer() {
        let scheduler = makeScheduler(workers: 1)
        let (token, group, cancelled) = (CancellationToken(), WaitGroup(), Counter())
        TaskQueue(scheduler: scheduler).async(group: group) {
            do {
                try Parallel(on: scheduler, token: token).forEach(0..<100_000) { _ throws in usleep(100) }
            } catch {
                cancelled.add()
            }
        }
        TaskQueue.serial(scheduler: scheduler).asyncAfter(.milliseconds(10)) { token.cancel() }
        group.wait()
        #expect(cancelled.count == 1)
    }

    @Test("the same where branches may throw, and where loops divide")
    func throwingTask() async {
        var told = await cancelled { branch in
            do {
                _ = try Parallel.join { () throws in branch() } _: { () throws in branch() }
            } catch {}
        }
        #expect(told == 2)
        told = await cancelled { branch in Parallel.forEach(0..<2) { _ in branch() } }
        #expect(told == 2)
        told = await cancelled { branch in
            _ = Parallel.join { _ = Parallel.join { branch() } _: { branch() } } _: {}
        }
        #expect(told == 2)
    }

    @Test("a branch that was forked inside a loop's part knows that another part has thrown")
    func nested() async throws {
        for _ in 0..<20 {
            let (started, told) = (Counter(), Counter())
            let scheduler = makeScheduler(workers: 3)
            @Sendable func branch() {
                started.add()
                if eventually({ Cancellation.isRequested }) { told.add() }
            }
            try await TaskQueue(scheduler: scheduler).run {
                _ = #expect(throws: Flaw.self) {
                    // The part that runs here has forks of the loop's below its own.
                    try Parallel(grain: 1).forEach(0..<2) { i throws(Flaw) in
                        if i == 0 {
                            _ = Parallel.join { branch() } _: { branch() }
                        } else {
                            _ = eventually { started.count == 2 }
                            throw Flaw()
                        }
                    }
                }
            }
            #expect(started.count == told.count)
            if started.count == 2 { return }
        }
    }

    @Test("what is outside a loop is not told of its error")
    func outside() async throws {
        let (started, told) = (Counter(), Counter())
        try await TaskQueue(scheduler: makeScheduler(workers: 2)).run {
            _ = Parallel.join {
                for _ in 0..<50 {
                    try? Parallel(grain: 1).forEach(0..<4) { i throws(Flaw) in
                        if i == 3 { throw Flaw() }
                    }
                    if started.count == 1 { break }
                }
            } _: {
                started.add()
                if Cancellation.isRequested { told.add() }
            }
        }
        #expect(told.count == 0)
    }

    /// What is kept of a task is `Task`'s own reference, by a bit cast that holds on this toolchain.
    @Test("a task's handle answers as the task does, on any thread, after its end too")
    func handle() async throws {
        #expect(MemoryLayout<UnsafeCurrentTask>.size == MemoryLayout<Task<Never, Never>>.size)
        #expect(MemoryLayout<TaskHandle?>.size == MemoryLayout<UInt>.size)
        #expect(TaskHandle.current != nil)
        let kept = Log<TaskHandle>()  // not the task's result: it would hold itself
        let (before, after) = await Task.detached {
            guard let handle = TaskHandle.current else { return (nil as Bool?, nil as Bool?) }
            kept.note(handle)
            let before = handle.isCancelled
            withUnsafeCurrentTask { $0?.cancel() }
            return (before, handle.isCancelled)
        }.value
        #expect(before == false)
        #expect(after == true)
        #expect(await Task.detached { kept.all.first?.isCancelled }.value == true)
    }

    /// What left a part out is not asked again: it answered on one thread, and would not have on the other.
    @Test("a cancelled operation inside a branch throws, and returns no part of a result")
    func inside() async {
        let outcomes = Log<Bool>()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            @Sendable func sum() throws -> Int {
                do {
                    let sum = try Parallel(token: CancellationToken()).reduce(
                        0..<10_000, 0, map: { i throws in i }, combine: { a, b throws in a + b })
                    outcomes.note(sum == 10_000 * 9_999 / 2)
                    return sum
                } catch {
                    outcomes.note(error is CancellationError)
                    throw error
                }
            }
            for _ in 0..<200 { _ = try? Parallel.join(sum, sum) }
        }
        await task.value
        #expect(outcomes.all.count >= 200)
        #expect(outcomes.all.allSatisfy { $0 })
    }
}
