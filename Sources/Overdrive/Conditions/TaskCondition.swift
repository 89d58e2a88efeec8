// Owns the conditions of a task: their protocols, results and evaluation. A queue calls `prepareConditions` when a
// task is added; the state machine of AnyTask calls `evaluateConditions` after the dependencies. This file never runs
// a task's body.

internal import OverdriveCore
internal import Synchronization

/// Decides whether a task may run. It is evaluated once, after the task's dependencies and before its body.
///
///     struct Reachable: TaskCondition {
///         let host: String
///         func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult {
///             await ping(host) ? .satisfied : .failed(Unreachable(host: host))
///         }
///     }
///
/// For a condition that answers by a callback, conform to ``CallbackTaskCondition``.
///
/// - Threading: Evaluated on workers of `Scheduler.shared`. Conditions of one task are evaluated concurrently.
public protocol TaskCondition: Sendable {
    /// The result type of ``dependencies(forTask:)``: an array of ``AnyTask``.
    associatedtype Dependencies = [AnyTask]
    /// The name by which `remove(condition:)` finds the condition. The default is the name of the type.
    var conditionName: String { get }
    /// The tasks that must finish before the condition is evaluated.
    ///
    /// They become dependencies of the task when the task is added to a queue.
    func dependencies<T>(forTask task: Task<T>) -> Dependencies
    /// Rejects, at compile time, a type of ``Dependencies`` that is not an array of ``AnyTask``. Conforming types do
    /// not implement this function.
    static func _tasks(_ dependencies: Dependencies) -> [AnyTask]
    /// Evaluates the condition and returns its result.
    func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult
}

/// Decides whether a task may run, and answers by calling a closure, now or later.
///
///     struct Reachable: CallbackTaskCondition {
///         func evaluate<T>(
///             forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void
///         ) {
///             monitor.ask { evaluationBlock($0 ? .satisfied : .failed(Offline())) }
///         }
///     }
public protocol CallbackTaskCondition: TaskCondition {
    /// Evaluates the condition and passes its result to the closure.
    ///
    /// Only the first call of the closure counts. If the closure is released without a call, the condition fails.
    func evaluate<T>(
        forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void)
}

extension TaskCondition {
    public var conditionName: String { String(describing: type(of: self)) }

    @available(*, unavailable, message: "dependencies(forTask:) returns [AnyTask]; for an Operation return a task that finishes when it does")
    public static func _tasks(_ dependencies: Dependencies) -> [AnyTask] { fatalError("unavailable") }

    @available(*, unavailable, message: "write func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult, or conform to CallbackTaskCondition for the form with an evaluationBlock")
    public func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { fatalError("unavailable") }
}

extension TaskCondition where Dependencies == [AnyTask] {
    public func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { [] }

    public static func _tasks(_ dependencies: [AnyTask]) -> [AnyTask] { dependencies }
}

extension CallbackTaskCondition {
    public func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult {
        await withCheckedContinuation { continuation in
            let answers = Answers(count: 1) { errors in
                continuation.resume(returning: errors.first.map(TaskConditionResult.failed) ?? .satisfied)
            }
            let answer = Answer(to: answers, index: 0, condition: conditionName)
            evaluate(forTask: task) { answer.give($0) }
        }
    }
}

/// The result of a condition.
public enum TaskConditionResult: Sendable {
    /// The condition holds: the task may run.
    case satisfied
    /// The condition does not hold; the error states the reason.
    case failed(any Error)
}

/// The error of a task whose conditions failed.
public enum TaskConditionError: Error {
    /// The errors of the failed conditions, in the order in which the conditions were added.
    case combined(errors: [any Error])
    /// A condition released its closure without calling it.
    case unanswered(condition: String)
}

extension AnyTask {
    /// Adds a condition to a task that is not yet in a queue.
    ///
    /// - Parameter condition: The condition to evaluate before the body.
    /// - Returns: Whether the condition was added: false if the task was already added to a queue or started.
    /// - Ordering: Conditions are evaluated concurrently, after the dependencies.
    /// - Threading: Any thread, before the task is added or started.
    /// - Cost: A lock, and one allocation for the first optional property of a task. Each condition runs in a Swift
    ///   task.
    @discardableResult
    public final func add(condition: any TaskCondition) -> Bool {
        makeExtras().locked { fields in
            // Once prepared, no condition can be added: `dependencies(forTask:)` is called only once for all of them.
            guard !fields.conditionsArePrepared, take(.condition) else { return false }
            fields.conditions.add(condition)
            return true
        }
    }

    /// Removes the first condition with the same name, before the conditions are evaluated.
    ///
    /// - Parameter condition: A condition with the name to search for.
    /// - Returns: Whether a condition was removed.
    /// - Ordering: Has no effect once the conditions are evaluated.
    /// - Threading: Any thread. `conditionName` is called without a lock.
    /// - Cost: A lock and a comparison for each condition.
    @discardableResult
    public final func remove(condition: any TaskCondition) -> Bool {
        guard let extras else { return false }
        let name = condition.conditionName
        return extras.removeFirst(of: \.conditions) { $0.conditionName == name }
    }

    /// Removes all conditions of a type, before the conditions are evaluated.
    ///
    /// - Parameter type: The type of the conditions.
    /// - Returns: Whether a condition was removed.
    /// - Ordering: Has no effect once the conditions are evaluated.
    /// - Threading: Any thread.
    /// - Cost: A lock and a comparison for each condition.
    @discardableResult
    public final func remove<C: TaskCondition>(condition type: C.Type) -> Bool {
        extras?.removeAll(of: \.conditions) { $0 is C } ?? false
    }

    /// The errors of the failed conditions.
    public final var conditionErrors: [any Error] {
        extras?.locked { $0.conditionErrors } ?? []
    }
}

extension Task {
    /// Adds the dependencies of the conditions to the task, once, when the task is added to a queue.
    final func prepareConditions() {
        guard standing.isConditional, let extras else { return }
        let (conditions, isHeld) = extras.locked { fields -> ([any TaskCondition], Bool) in
            if fields.conditionsArePrepared { return ([], false) }
            fields.conditionsArePrepared = true
            // Another thread may add the task to a queue during this function. The step `dependOn` holds the task
            // back like a dependency until `release` below.
            return (fields.conditions.all, step(.dependOn).actions.contains(.accept))
        }
        for condition in conditions {
            for dependency in Bounce.outside({ dependencies(of: condition) }) { add(dependency: dependency) }
        }
        if isHeld { take(.release) }
    }

    private func dependencies<C: TaskCondition>(of condition: C) -> [AnyTask] {
        C._tasks(condition.dependencies(forTask: self))
    }

    final func evaluateConditions() {
        let conditions = self.conditions
        guard !conditions.isEmpty else {
            take(.conditionsMet)
            return
        }
        let answers = Answers(count: conditions.count) { errors in
            guard !errors.isEmpty else {
                self.take(.conditionsMet)
                return
            }
            self.extras?.locked { $0.conditionErrors = errors }
            self.fail(TaskConditionError.combined(errors: errors))
        }
        for (index, condition) in conditions.enumerated() {
            let name = Bounce.outside { condition.conditionName }
            let answer = Answer(to: answers, index: index, condition: name)
            // Conditions run on the scheduler's workers, because other code may block the few threads of Swift's own
            // executor.
            AsyncTask(executorPreference: TaskQueue.global().scheduler) {
                answer.give(await condition.evaluate(forTask: self))
            }
        }
    }
}

/// Collects the results of a task's conditions, and calls `whenComplete` once with the errors after the last result.
private final class Answers: Sendable {
    private struct State {
        var missing: Int
        var results: [TaskConditionResult?]
    }
    private let state: Locked<State>
    private let whenComplete: @Sendable ([any Error]) -> Void

    init(count: Int, whenComplete: @escaping @Sendable ([any Error]) -> Void) {
        state = Locked(State(missing: count, results: Array(repeating: nil, count: count)))
        self.whenComplete = whenComplete
    }

    func note(_ result: TaskConditionResult, at index: Int) {
        let errors: [any Error]? = state.withLock { state in
            guard state.results[index] == nil else { return nil }
            state.results[index] = result
            state.missing -= 1
            guard state.missing == 0 else { return nil }
            return state.results.compactMap { result in
                if case .failed(let error)? = result { error } else { nil }
            }
        }
        if let errors { whenComplete(errors) }
    }
}

/// The answer of one condition. The first call of `give` counts; the deinitialiser reports a failure if there was
/// none.
private final class Answer: Sendable {
    private let answers: Answers
    private let index: Int
    private let condition: String

    init(to answers: Answers, index: Int, condition: String) {
        self.answers = answers
        self.index = index
        self.condition = condition
    }

    func give(_ result: TaskConditionResult) { answers.note(result, at: index) }

    deinit { give(.failed(TaskConditionError.unanswered(condition: condition))) }
}
