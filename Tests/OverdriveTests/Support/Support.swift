// What the suites have in common, for each file of this one.
@_exported import TestSupport
import Overdrive

/// A task that says what the test has it say. Its body has returned.
func spoken<T: Sendable>(of type: T.Type = Int.self) -> (Task<T>, Task<T>.Emitter) {
    let emitters = Log<Task<T>.Emitter>()
    let task = Task<T> { emit in
        emitters.note(emit)
        return {}
    }
    task.start()
    return (task, emitters.all[0])
}

/// All that a task says, to its end.
func all<T>(of updates: AsyncThrowingStream<T, any Error>) async throws -> [T] {
    try await updates.reduce(into: []) { $0.append($1) }
}

/// A condition that says whether it holds, and counts how often it is asked.
struct Asked: TaskCondition {
    var error: (any Error)?
    var needs: [AnyTask] = []
    let asked = Counter()

    func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { needs }

    func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult {
        asked.add()
        return error.map { .failed($0) } ?? .satisfied
    }
}
