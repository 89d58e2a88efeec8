// Owns the closure forms of tasks: inline, asynchronous and block tasks. Programs create them. The state machine is
// in AnyTask.

internal import OverdriveCore

/// The error of a task without a value.
public enum TaskError: Error {
    /// A progressive body completed without a value.
    case noValue
    /// A progressive body released its stored emitter without an outcome.
    case abandoned
    /// ``Task/race(_:)`` received no tasks.
    case nothingToDo
}

extension Task {
    /// Creates a task from a closure.
    ///
    ///     let sum = Task.inline { try numbers.reduce(0, add) }
    ///     queue.add(task: sum)
    ///
    /// - Parameter body: The closure. It returns the task's value or throws its error. After a failure it may be
    ///   called again; see ``retry(_:)-(Int)``.
    /// - Ordering: The body runs in the queue's order, after the dependencies.
    /// - Threading: Any thread; the body runs on a worker, or on the thread that calls `start()`.
    /// - Cost: Two allocations: the task, and the closure's captures.
    @inlinable
    public static func inline(_ body: sending @escaping () throws -> T) -> Task<T> {
        Task(body: .inline(consume body) { task, body in task.conduct(consume body) })
    }

    /// Creates a task from a closure, with dependencies, observers and conditions.
    ///
    ///     let page = Task.inline(dependencies: [layout, photos]) { try render() }
    ///
    /// The parameters are those of ``init(dependencies:requiring:observers:conditions:)``, and the closure.
    ///
    /// - Ordering: The body runs after the dependencies and the conditions.
    /// - Threading: Any thread; the body runs on a worker, or on the thread that calls `start()`.
    /// - Cost: The cost of ``inline(_:)``, and an allocation for each dependency after the first.
    @inlinable
    public static func inline(
        dependencies: [AnyTask] = [], requiring requirement: DependencyRequirement = .finish,
        observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ body: sending @escaping () throws -> T
    ) -> Task<T> {
        let task = inline(body)
        task.add(dependencies: dependencies, requiring: requirement, observers: observers, conditions: conditions)
        return task
    }

    /// Creates a task with an asynchronous body, which suspends instead of blocking a worker.
    ///
    ///     let page = Task.async { try await client.get(url) }
    ///
    /// Cancelling the task cancels the Swift task in which the body runs.
    ///
    /// - Ordering: The body begins in the queue's order, after the dependencies. In a limited queue the task counts
    ///   against the limit until the body returns.
    /// - Threading: The body runs on the queue's scheduler as its task executor.
    /// - Cost: The task, the closure, and a Swift task for each attempt.
    public static func async(_ body: @escaping @Sendable () async throws -> T) -> Task<T> {
        Task(body: .async(body))
    }

    /// Creates an ``InlineTask``.
    ///
    /// - Parameter body: The closure.
    /// - Returns: The task.
    /// - Ordering: The order of an ``InlineTask``.
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
            // The end of the attempt clears these fields. Cancelling a body that has already ended has no effect.
            if fields.endedAttempts <= Int(attempt) {
                fields.bodyIsElsewhere = true
                if !fields.cancelIsTold { fields.cancelBody = { swiftTask.cancel() } }
            }
            return fields.cancelIsTold
        }
        if isCancelled { swiftTask.cancel() }
    }
}

/// The asynchronous body of one attempt. It is released when it returns, before the outcome is visible to other
/// threads.
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

/// A task that runs a closure and cannot fail.
///
///     queue.add(task: InlineTask { print("done") })
public final class InlineTask: Task<Void>, @unchecked Sendable {
    /// Creates a task from a closure. The task succeeds when the closure returns, and releases the closure at its
    /// end.
    ///
    /// - Ordering: The body runs in the queue's order, after the dependencies.
    /// - Threading: Any thread; the body runs on a worker, or on the thread that calls `start()`.
    /// - Cost: Two allocations: the task, and the closure's captures.
    public init(_ taskBlock: @escaping @Sendable () -> Void) {
        super.init()
        call(taskBlock)
    }

    /// Creates a task from a closure, with dependencies, observers and conditions.
    ///
    /// - Ordering: The body runs after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each dependency after the first.
    public convenience init(
        dependencies: [AnyTask] = [], requiring requirement: DependencyRequirement = .finish,
        observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ taskBlock: @escaping @Sendable () -> Void
    ) {
        self.init(taskBlock)
        add(dependencies: dependencies, requiring: requirement, observers: observers, conditions: conditions)
    }
}

/// The base class of old code: a task without a value.
public typealias InlineTaskBase = Task<Void>

/// A task of several closures, called blocks, which run concurrently.
///
///     let task = BlockTask { loadTextures() }
///     task.addExecutionBlock { loadSounds() }
///     queue.add(task: task)
///
/// - Ordering: The task finishes when every block has. Blocks that have not begun when the task is cancelled do not
///   run.
/// - Threading: The first block runs on the task's thread, and the others on workers of its scheduler.
public final class BlockTask: Task<Void>, @unchecked Sendable {
    // The lock in this object guards the blocks.
    private let content = BlockTaskState()

    /// Creates a task without blocks.
    ///
    /// - Ordering: A task without blocks succeeds when its turn comes.
    /// - Threading: Any thread.
    /// - Cost: Two allocations.
    public override init() {
        super.init()
    }

    /// Creates a task with one block. More blocks can be added.
    ///
    /// - Ordering: Blocks run concurrently.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and the closure's captures.
    public convenience init(_ block: @escaping @Sendable () -> Void) {
        self.init()
        addExecutionBlock(block)
    }

    /// Creates a task with several blocks.
    ///
    /// - Ordering: Blocks run concurrently, and begin in the order of the array.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each block's captures.
    public convenience init(blocks: [@Sendable () -> Void]) {
        self.init()
        for block in blocks { addExecutionBlock(block) }
    }

    /// Creates a task with several blocks, dependencies, observers and conditions.
    ///
    /// - Ordering: The blocks run after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for each block's captures and for each dependency after the first.
    public convenience init(
        dependencies: [AnyTask] = [], requiring requirement: DependencyRequirement = .finish,
        observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        blocks: [@Sendable () -> Void]
    ) {
        self.init(blocks: blocks)
        add(dependencies: dependencies, requiring: requirement, observers: observers, conditions: conditions)
    }

    /// Creates a task with one block, dependencies, observers and conditions.
    ///
    ///     queue.add(task: BlockTask(dependencies: [login]) { loadTextures() })
    ///
    /// - Ordering: The block runs after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, and one for the block's captures and for each dependency after the first.
    public convenience init(
        dependencies: [AnyTask] = [], requiring requirement: DependencyRequirement = .finish,
        observers: [any TaskObserver] = [], conditions: [any TaskCondition] = [],
        _ block: @escaping @Sendable () -> Void
    ) {
        self.init(
            dependencies: dependencies, requiring: requirement, observers: observers, conditions: conditions, blocks: [block])
    }

    /// Adds a block. Traps if the task has begun.
    ///
    /// - Ordering: Blocks begin in the order of their additions.
    /// - Threading: Any thread, until the task begins.
    /// - Cost: A lock and an entry in an array.
    public func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
        guard content.add(block) else {
            trap("BlockTask.addExecutionBlock(_:): the task has begun (\(title)). Add blocks before it starts.")
        }
    }

    /// The blocks, in the order of their additions. The array is empty after the task's end, because the task
    /// releases them.
    public var executionBlocks: [@Sendable () -> Void] { content.blocks }

    public override func run() {
        let content = content
        let blocks = content.begin()
        guard bodyGoesOn else {
            if !isCancelled { blocks.first?() }
            finish(with: .value(()))
            dropWork()  // A body that finishes its task itself has no return that would release the blocks.
            return
        }
        // The task counts against the queue's limit until the last block has returned, even if the task is cancelled
        // before.
        holdPlace(of: standing.attempt)
        makeExtras().locked { $0.bodyIsElsewhere = true }
        let group = WaitGroup()
        // This is not the task's own queue, whose limit counts the whole task once.
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
            // A shutdown may have discarded some blocks.
            let areAll = content.reachedCount == count - 1
            self.conclude(areAll ? .success(()) : .failure(CancellationError()), returning: true)
        }
    }

    override var bodyGoesOn: Bool { content.blocks.count > 1 }

    override func dropWork() { content.drop() }
}
