// Owns names that keep Swift's own tasks usable beside Overdrive's. Programs use them. They only forward to Swift's
// concurrency library.

/// Another name for Swift's own `Task`, which Overdrive's `Task` hides.
///
///     let reply = AsyncTask { await client.get(url) }
///     func keep(_ task: AsyncTask<Data, Never>) { … }
///
/// A file that mostly uses Swift's tasks can do the reverse. With these lines `Task` is Swift's type, and Overdrive's
/// type is `Overdrive.Task`.
///
///     import Overdrive
///     private typealias Task = _Concurrency.Task
///     private typealias TaskGroup = _Concurrency.TaskGroup
public typealias AsyncTask = _Concurrency.Task

/// Another name for Swift's own `TaskGroup`, which Overdrive's `TaskGroup` hides.
public typealias AsyncTaskGroup = _Concurrency.TaskGroup

/// Without these declarations, `Task { … }` and similar calls would silently change their meaning in a file that
/// imports Overdrive. The compiler's error names the replacement.
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
    /// - Throws: `CancellationError` if the task is cancelled.
    /// - Ordering: Returns no earlier than after the time.
    /// - Threading: Any Swift task. It does not block the thread.
    /// - Cost: The cost of Swift's function.
    public static func sleep(nanoseconds: UInt64) async throws {
        try await AsyncTask<Never, Never>.sleep(nanoseconds: nanoseconds)
    }

    /// Suspends the current task for a while, as Swift's `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    /// - Ordering: Returns no earlier than after the time.
    /// - Threading: Any Swift task. It does not block the thread.
    /// - Cost: The cost of Swift's function.
    public static func sleep<C: Clock>(
        for duration: C.Instant.Duration, tolerance: C.Instant.Duration? = nil, clock: C = .continuous
    ) async throws {
        try await AsyncTask<Never, Never>.sleep(for: duration, tolerance: tolerance, clock: clock)
    }

    /// Suspends the current task until a deadline, as Swift's `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    /// - Ordering: Returns no earlier than the deadline.
    /// - Threading: Any Swift task. It does not block the thread.
    /// - Cost: The cost of Swift's function.
    public static func sleep<C: Clock>(
        until deadline: C.Instant, tolerance: C.Instant.Duration? = nil, clock: C = .continuous
    ) async throws {
        try await AsyncTask<Never, Never>.sleep(until: deadline, tolerance: tolerance, clock: clock)
    }

    /// Lets other tasks run first, as Swift's `Task.yield` does.
    ///
    /// - Ordering: Jobs that wait in the task's executor run first.
    /// - Threading: Any Swift task.
    /// - Cost: The cost of Swift's function.
    public static func yield() async {
        await AsyncTask<Never, Never>.yield()
    }

    /// Whether the current work was asked to stop: the current Overdrive work, or else Swift's current task.
    public static var isCancelled: Bool { Cancellation.isRequested }

    /// Throws an error if the current work was asked to stop.
    ///
    /// - Throws: `CancellationError` if it was asked to stop.
    /// - Ordering: Writes before the cancellation are visible after this call throws.
    /// - Threading: Any thread. The call applies to the work that this thread runs.
    /// - Cost: Two loads in Overdrive's work; elsewhere the cost of Swift's function.
    public static func checkCancellation() throws { try Cancellation.check() }

    /// The priority of Swift's current task.
    public static var currentPriority: TaskPriority { AsyncTask<Never, Never>.currentPriority }

    /// The base priority of Swift's current task.
    public static var basePriority: TaskPriority? { AsyncTask<Never, Never>.basePriority }
}
