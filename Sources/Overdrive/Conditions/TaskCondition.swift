internal import OverdriveCore
internal import Synchronization

/// A condition for a task to run. It is evaluated once, after the task's dependencies and before its body.
///
///     struct Reachable: TaskCondition {
///         let host: String
///         func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult {
///             await ping(host) ? .satisfied : .failed(Unreachable(host: host))
///         }
///     }
///
/// One that answers by calling a closure is a ``CallbackTaskCondition``.
///
/// - Threading: It is asked on `Scheduler.shared`'s workers. Several conditions are asked at once.
public protocol TaskCondition: Sendable {
    /// What ``dependencies(forTask:)`` returns: an array of ``AnyTask``.
    associatedtype Dependencies = [AnyTask]
    /// What the condition is called when it is to be removed; its type's name by default.
    var conditionName: String { get }
    /// Tasks that have to be over before the condition is evaluated. They become the task's dependencies when it
    /// is added to a queue.
    func dependencies<T>(forTask task: Task<T>) -> Dependencies
    /// There for every condition that can be; it is what refuses another ``Dependencies``.
    static func tasks(_ dependencies: Dependencies) -> [AnyTask]
    /// Answers by returning.
    func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult
}

/// A condition that answers by calling a closure, now or later.
///
///     struct Reachable: CallbackTaskCondition {
///         func evaluate<T>(
///             forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void
///         ) {
///             monitor.ask { evaluationBlock($0 ? .satisfied : .failed(Offline())) }
///         }
///     }
public protocol CallbackTaskCondition: TaskCondition {
    /// Answers by calling the closure, once. Dropping it without an answer is a failure.
    func evaluate<T>(
        forTask task: Task<T>, evaluationBlock: @escaping @Sendable (TaskConditionResult) -> Void)
}

extension TaskCondition {
    public var conditionName: String { String(describing: type(of: self)) }

    @available(*, unavailable, message: "dependencies(forTask:) returns [AnyTask]; for an Operation return a task that finishes when it does")
    public static func tasks(_ dependencies: Dependencies) -> [AnyTask] { fatalError("unavailable") }

    @available(*, unavailable, message: "write func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult, or conform to CallbackTaskCondition for the form with an evaluationBlock")
    public func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { fatalError("unavailable") }
}

extension TaskCondition where Dependencies == [AnyTask] {
    public func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { [] }

    public static func tasks(_ dependencies: [AnyTask]) -> [AnyTask] { dependencies }
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
    /// It holds.
    case satisfied
    /// It does not hold, and why.
    case failed(any Error)
}

/// Why a task did not run.
public enum TaskConditionError: Error {
    /// The results of the failed conditions, in the order in which they were added.
    case combined(errors: [any Error])
    /// A condition let go of its closure without an answer.
    case unanswered(condition: String)
}

extension AnyTask {
    /// Adds a condition. One that comes after the task was added to a queue, or started, does not count.
    ///
    /// - Returns: Whether it counts.
    /// - Ordering: Conditions are asked after the dependencies, all at once.
    /// - Threading: Any thread, before the task is added or started.
    /// - Cost: One allocation for the first of a task's extras, and a lock. Each condition is a Swift task.
    @discardableResult
    public final func add(condition: any TaskCondition) -> Bool {
        makeExtras().locked { fields in
            // The others have been asked what they depend on, which they are once.
            guard !fields.conditionsArePrepared, take(.condition) else { return false }
            fields.conditions.add(condition)
            return true
        }
    }

    /// Removes the first condition of the same name, before the conditions are evaluated.
    ///
    /// - Returns: Whether there was one.
    /// - Ordering: Before the conditions are asked; afterwards it changes nothing.
    /// - Threading: Any thread. Names are asked for outside of the lock.
    /// - Cost: A lock and a look at each condition.
    @discardableResult
    public final func remove(condition: any TaskCondition) -> Bool {
        guard let extras else { return false }
        let name = condition.conditionName
        return extras.removeFirst(of: \.conditions) { $0.conditionName == name }
    }

    /// Removes all conditions of a type, before the conditions are evaluated.
    ///
    /// - Returns: Whether there was one.
    /// - Ordering: Before the conditions are asked; afterwards it changes nothing.
    /// - Threading: Any thread.
    /// - Cost: A lock and a look at each condition.
    @discardableResult
    public final func remove<C: TaskCondition>(condition type: C.Type) -> Bool {
        extras?.removeAll(of: \.conditions) { $0 is C } ?? false
    }

    /// The results of the failed conditions.
    public final var conditionErrors: [any Error] {
        extras?.locked { $0.conditionErrors } ?? []
    }
}

extension Task {
    /// The conditions' dependencies become the task's, once, when it comes to a queue.
    final func prepareConditions() {
        guard standing.isConditional, let extras else { return }
        let (conditions, isHeld) = extras.locked { fields -> ([any TaskCondition], Bool) in
            if fields.conditionsArePrepared { return ([], false) }
            fields.conditionsArePrepared = true
            // Another thread may bring the task to a queue while this one asks: it waits for the answers as for a
            // dependency, of which there will be as many as there are.
            return (fields.conditions.all, step(.dependOn).actions.contains(.accept))
        }
        for condition in conditions {
            for dependency in Bounce.outside({ dependencies(of: condition) }) { add(dependency: dependency) }
        }
        if isHeld { take(.release) }
    }

    private func dependencies<C: TaskCondition>(of condition: C) -> [AnyTask] {
        C.tasks(condition.dependencies(forTask: self))
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
            // On the scheduler, and not on Swift's own few threads: others may block those.
            AsyncTask(executorPreference: TaskQueue.global().scheduler) {
                answer.give(await condition.evaluate(forTask: self))
            }
        }
    }
}

/// Collects what a task's conditions say.
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

/// One condition's answer: the first counts, and none is a failure.
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
