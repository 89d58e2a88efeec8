import Foundation
import Testing

/// Gives every scenario a thread of its own, so that it may block without taking one from a pool that is tested,
/// and runs the scenarios one after another, so that none takes workers from another.
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? nil : self
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A task of its own, which has the test's task-local values: a preference alone is not followed by
        // functions that stay on their caller's executor, as the testing library's do.
        try await withoutActuallyEscaping(function) { function in
            let task = Task(executorPreference: ScenarioThread()) { try await function() }
            try await withTaskCancellationHandler { try await task.value } onCancel: { task.cancel() }
        }
    }
}

extension Trait where Self == OwnThread {
    static var ownThread: OwnThread { OwnThread() }
}

/// A thread that runs one task's parts, in order.
private final class ScenarioThread: TaskExecutor, @unchecked Sendable {
    // The condition guards `jobs` and `isOver`.
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isStarted = false

    func enqueue(_ job: consuming ExecutorJob) {
        condition.lock()
        defer { condition.unlock() }
        jobs.append(UnownedJob(job))
        condition.signal()
        if !isStarted {
            isStarted = true
            let thread = Thread { [self] in run() }
            thread.name = "scenario"
            thread.start()
        }
    }

    private func run() {
        // Ends when it has been idle for long: the scenario is over, or suspended; then the next job starts another.
        let executor = asUnownedTaskExecutor()
        while let job = next() {
            job.runSynchronously(on: executor)
        }
    }

    private func next() -> UnownedJob? {
        condition.lock()
        defer { condition.unlock() }
        while jobs.isEmpty {
            guard condition.wait(until: Date(timeIntervalSinceNow: 0.2)) else {
                guard jobs.isEmpty else { break }
                isStarted = false
                return nil
            }
        }
        return jobs.removeFirst()
    }
}
