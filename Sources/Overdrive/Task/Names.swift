/// Swift's own `Task`, under a name that ours does not hide.
///
///     let reply = AsyncTask { await client.get(url) }
///     func keep(_ task: AsyncTask<Data, Never>) { … }
///
/// A file that has more of Swift's tasks than of Overdrive's turns it round: there `Task` is Swift's, in every spelling, and
/// ours is `Overdrive.Task`.
///
///     import Overdrive
///     private typealias Task = _Concurrency.Task
///     private typealias TaskGroup = _Concurrency.TaskGroup
public typealias AsyncTask = _Concurrency.Task

/// Swift's own `TaskGroup`, under a name that ours does not hide.
public typealias AsyncTaskGroup = _Concurrency.TaskGroup

/// `Task { … }` and its kin would change their meaning silently in a file that imports Overdrive. They are here so
/// that the compiler says what to write instead.
extension Task {
    @available(*, unavailable, message: "Task is Overdrive's here: write AsyncTask { … } for Swift's task, Task.async { … } for Overdrive's, or import only OverdriveCore")
    public convenience init(
        name: String? = nil, priority: TaskPriority? = nil,
        operation: sending @escaping @isolated(any) () async throws -> T
    ) {
        fatalError("unavailable")
    }
}

extension Task where T == Never {
    @available(*, unavailable, message: "Task is Overdrive's here: write AsyncTask.detached { … }")
    @discardableResult
    public static func detached<R: Sendable>(
        name: String? = nil, priority: TaskPriority? = nil,
        operation: sending @escaping @isolated(any) () async throws -> R
    ) -> AsyncTask<R, any Error> {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "Task is Overdrive's here: write AsyncTask.immediate { … }")
    @discardableResult
    public static func immediate<R: Sendable>(
        name: String? = nil, priority: TaskPriority? = nil,
        operation: sending @escaping @isolated(any) () async throws -> R
    ) -> AsyncTask<R, any Error> {
        fatalError("unavailable")
    }

    /// Suspends the current task for a while, as Swift's `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    /// - Ordering: Not before the time has passed.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: As of Swift's.
    public static func sleep(nanoseconds: UInt64) async throws {
        try await AsyncTask<Never, Never>.sleep(nanoseconds: nanoseconds)
    }

    /// Suspends the current task for a while, as Swift's `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    /// - Ordering: Not before the time has passed.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: As of Swift's.
    public static func sleep<C: Clock>(
        for duration: C.Instant.Duration, tolerance: C.Instant.Duration? = nil, clock: C = .continuous
    ) async throws {
        try await AsyncTask<Never, Never>.sleep(for: duration, tolerance: tolerance, clock: clock)
    }

    /// Suspends the current task until a deadline, as Swift's `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    /// - Ordering: Not before the deadline.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: As of Swift's.
    public static func sleep<C: Clock>(
        until deadline: C.Instant, tolerance: C.Instant.Duration? = nil, clock: C = .continuous
    ) async throws {
        try await AsyncTask<Never, Never>.sleep(until: deadline, tolerance: tolerance, clock: clock)
    }

    /// Lets other tasks go on, as Swift's `Task.yield` does.
    ///
    /// - Ordering: What waits in the task's executor goes before it.
    /// - Threading: Any task of Swift's.
    /// - Cost: As of Swift's.
    public static func yield() async {
        await AsyncTask<Never, Never>.yield()
    }

    /// Whether the running work was asked to stop: Overdrive's where it runs, else Swift's current task.
    public static var isCancelled: Bool { Cancellation.isRequested }

    /// Returns if the running work may go on.
    ///
    /// - Throws: `CancellationError` when it was asked to stop.
    /// - Ordering: What was written before the cancellation is visible to who is told of it.
    /// - Threading: Any thread; it answers for what that thread runs.
    /// - Cost: Two loads in Overdrive's work; elsewhere what Swift's costs.
    public static func checkCancellation() throws { try Cancellation.check() }

    /// The priority of Swift's current task.
    public static var currentPriority: TaskPriority { AsyncTask<Never, Never>.currentPriority }

    /// The base priority of Swift's current task.
    public static var basePriority: TaskPriority? { AsyncTask<Never, Never>.basePriority }
}
