internal import OverdriveCore

/// Why a task has no value.
public enum TaskError: Error {
    /// A progressive task was completed before it had a value.
    case noValue
    /// A progressive body kept its emitter, and let go of it without having said the end.
    case abandoned
    /// ``Task/race(_:)`` was given no tasks.
    case nothingToDo
}

extension Task {
    /// A task from a closure, started by a queue.
    ///
    ///     let sum = Task.inline { try numbers.reduce(0, add) }
    ///     queue.add(task: sum)
    ///
    /// - Parameter body: The work. Its return is the value, its error the failure. It may be called again after a
    ///   failure if ``retry(_:)-(Int)`` allows it.
    /// - Ordering: The body runs when the task waits for nothing and its turn has come.
    /// - Threading: Any thread; the body runs on a worker, or where the task is started.
    /// - Cost: Two allocations: the task, and the closure's captures.
    @inlinable
    public static func inline(_ body: sending @escaping () throws -> T) -> Task<T> {
        Task(body: .inline(consume body) { task, body in task.conduct(consume body) })
    }

    /// A task from a closure, with what it depends on, who observes it, and its conditions.
    ///
    ///     let page = Task.inline(dependencies: [layout, photos]) { try render() }
    ///
    /// The parameters are those of ``init(dependencies:observers:conditions:)``, and the closure.
    ///
    /// - Ordering: The body runs after the dependencies and the conditions.
    /// - Threading: Any thread; the body runs on a worker, or where the task is started.
    /// - Cost: As of ``inline(_:)``, and an allocation for each dependency.
    @inlinable
    public static func inline(
        dependencies: [AnyTask] = [], observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ body: sending @escaping () throws -> T
    ) -> Task<T> {
        let task = inline(body)
        task.add(dependencies: dependencies, observers: observers, conditions: conditions)
        return task
    }

    /// A task with an asynchronous body: it suspends instead of holding a worker.
    ///
    ///     let page = Task.async { try await client.get(url) }
    ///
    /// Cancelling the task cancels the Swift task in which the body runs.
    ///
    /// - Ordering: The body begins at the task's turn, when the task waits for nothing. In a limited queue the task
    ///   keeps its place until the body returns.
    /// - Threading: The body runs on the queue's scheduler as its task executor.
    /// - Cost: The task, the closure, and a Swift task for each attempt.
    public static func async(_ body: @escaping @Sendable () async throws -> T) -> Task<T> {
        Task(body: .async(body))
    }

    /// The same as an ``InlineTask``.
    ///
    /// - Ordering: As of ``InlineTask``.
    /// - Threading: Any thread.
    /// - Cost: Two allocations.
    public static func create(_ body: @escaping @Sendable () -> Void) -> InlineTask {
        InlineTask(body)
    }

    final func launch(_ body: AsyncBody<T>) {
        let attempt = standing.attempt
        holdPlace(of: attempt)
        let operation: @Sendable () async -> Void = {
            self.conclude(await body.outcome(), returning: true)
        }
        let priority = Swift.max(assignedQueue.qos, qos ?? assignedQueue.qos).taskPriority
        let swiftTask =
            if let scheduler = assignedQueue.scheduler {
                AsyncTask(executorPreference: scheduler, priority: priority, operation: operation)
            } else {
                AsyncTask(priority: priority, operation: operation)
            }
        let isCancelled = makeExtras().locked { fields in
            // Gone with the attempt; a body that has ended already is not disturbed by being cancelled.
            if fields.endedAttempts <= Int(attempt) {
                fields.bodyIsElsewhere = true
                if !fields.cancelIsTold { fields.cancelBody = { swiftTask.cancel() } }
            }
            return fields.cancelIsTold
        }
        if isCancelled { swiftTask.cancel() }
    }
}

/// The asynchronous body of one attempt, released when it has returned: before any thread hears of the outcome.
final class AsyncBody<T: Sendable>: Sendable {
    private let body: Locked<(@Sendable () async throws -> T)?>

    init(_ body: @escaping @Sendable () async throws -> T) {
        self.body = Locked(body)
    }

    func outcome() async -> Result<T, any Error> {
        guard let body = body.withLock({ $0.take() }) else { trap("Task.async: a body was called twice in an attempt") }
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

/// A task that runs a block: it cannot fail.
///
///     queue.add(task: InlineTask { print("done") })
public final class InlineTask: Task<Void>, @unchecked Sendable {
    /// A task from its body, which has succeeded when the body returns. The task releases the body at its end.
    ///
    /// - Ordering: The body runs when the task waits for nothing and its turn has come.
    /// - Threading: Any thread; the body runs on a worker, or where the task is started.
    /// - Cost: Two allocations: the task, and the closure's captures.
    public init(_ taskBlock: @escaping @Sendable () -> Void) {
        super.init()
        call(taskBlock)
    }

    /// The same with what it depends on, who observes it, and its conditions.
    ///
    /// - Ordering: The body runs after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each dependency.
    public convenience init(
        dependencies: [AnyTask] = [], observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ taskBlock: @escaping @Sendable () -> Void
    ) {
        self.init(taskBlock)
        add(dependencies: dependencies, observers: observers, conditions: conditions)
    }
}

/// The base class of old code: a task without a value.
public typealias InlineTaskBase = Task<Void>

/// A task of several blocks, which run at the same time and are the task's work together.
///
///     let task = BlockTask { loadTextures() }
///     task.addExecutionBlock { loadSounds() }
///     queue.add(task: task)
///
/// - Ordering: The task finishes when every block has. Blocks that have not begun when the task is cancelled do not
///   run.
/// - Threading: The first block runs where the task does, the others on its scheduler's workers.
public final class BlockTask: Task<Void>, @unchecked Sendable {
    // The blocks are behind the lock.
    private let content = BlockTaskState()

    /// - Ordering: A task without blocks succeeds at its turn.
    /// - Threading: Any thread.
    /// - Cost: Two allocations.
    public override init() {
        super.init()
    }

    /// A task of one block, to which others may be added.
    ///
    /// - Ordering: Blocks run at the same time.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and the closure's captures.
    public convenience init(_ block: @escaping @Sendable () -> Void) {
        self.init()
        addExecutionBlock(block)
    }

    /// A task of several blocks.
    ///
    /// - Ordering: Blocks run at the same time, and begin in their order.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each block's captures.
    public convenience init(blocks: [@Sendable () -> Void]) {
        self.init()
        for block in blocks { addExecutionBlock(block) }
    }

    /// The same with what it depends on, who observes it, and its conditions.
    ///
    /// - Ordering: The blocks run after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each block's captures and for each dependency.
    public convenience init(
        dependencies: [AnyTask] = [], observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        blocks: [@Sendable () -> Void]
    ) {
        self.init(blocks: blocks)
        add(dependencies: dependencies, observers: observers, conditions: conditions)
    }

    /// The same with one block to begin with.
    ///
    ///     queue.add(task: BlockTask(dependencies: [login]) { loadTextures() })
    ///
    /// - Ordering: The block runs after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for the block's captures and for each dependency.
    public convenience init(
        dependencies: [AnyTask] = [], observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ block: @escaping @Sendable () -> Void
    ) {
        self.init(dependencies: dependencies, observers: observers, conditions: conditions, blocks: [block])
    }

    /// Adds a block. Traps when the task has begun.
    ///
    /// - Ordering: Blocks begin in the order in which they were added.
    /// - Threading: Any thread, until the task begins.
    /// - Cost: A lock and a place in an array.
    public func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
        guard content.add(block) else {
            trap("BlockTask.addExecutionBlock(_:): the task has begun (\(title)). Add blocks before it starts.")
        }
    }

    /// The blocks, in the order in which they were added; none after the end, when the task releases them.
    public var executionBlocks: [@Sendable () -> Void] { content.blocks }

    public override func run() {
        let content = content
        let blocks = content.begin()
        guard bodyGoesOn else {
            if !isCancelled { blocks.first?() }
            finish(with: .value(()))
            return
        }
        // They are in the body until the last has returned, also where the task is cancelled meanwhile.
        holdPlace(of: standing.attempt)
        makeExtras().locked { $0.bodyIsElsewhere = true }
        let group = WaitGroup()
        // Not on the task's own queue, whose limit counts the task as one.
        let queue = TaskQueue(qos: assignedQueue.qos, scheduler: assignedQueue.scheduler ?? .shared)
        let count = blocks.count
        for block in blocks.dropFirst() {
            queue.async(group: group) { [weak self] in
                content.reachOne()
                guard let self, !isCancelled else { return }
                whileCurrent(block)
            }
        }
        if !isCancelled { blocks[0]() }
        group.notify(on: .inner) {
            // A shutdown may have taken some back.
            let areAll = content.reachedCount == count - 1
            self.conclude(areAll ? .success(()) : .failure(CancellationError()), returning: true)
        }
    }

    override var bodyGoesOn: Bool { content.blocks.count > 1 }

    override func dropWork() { content.drop() }
}
