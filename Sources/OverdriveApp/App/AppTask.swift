// Owns the task that boots a part of an app, receives events and stops it. Programs subclass it; `Lifecycle` and
// `EndConductor` call it. It never decides the order of boot and end.

public import Overdrive
internal import OverdriveCore
internal import Synchronization

/// Boots a part of a program. It can receive events afterwards, and is stopped in the shutdown.
///
///     final class OpenDatabaseTask: AppTask, @unchecked Sendable {
///         override func main() {
///             pool.open { error in
///                 if let error { self.finish(with: .failure(error)) } else { self.setFinished() }
///             }
///         }
///         override func stop() async throws { try await pool.close() }
///     }
///
/// A task can also be made from closures:
///
///     let cache = AppTask("cache") { try await cache.warm() } stop: { await cache.flush() }
///
/// - Ordering: The task starts when all its dependencies have booted. It stops when all its dependents have stopped
///   or have spent their budgets.
/// - Threading: ``main()`` runs on a worker of the app's scheduler, ``stop()`` in a Swift task there.
open class AppTask: Task<Void>, @unchecked Sendable {
    /// The state of a task in its app. Each change is one atomic exchange, so only one of two competing threads
    /// succeeds.
    enum Place: UInt8 {
        /// The task waits for its dependencies.
        case waiting
        /// The task's body runs, or has returned before a call of `setFinished()`.
        case booting
        /// The task has booted, receives events, and will be stopped.
        case up
        /// The task failed or was cancelled during its boot.
        case failed
        /// The task was never started, because the boot had failed or the shutdown had begun.
        case withdrawn
        /// The task is being stopped.
        case stopping
        /// The task has been stopped.
        case stopped
    }

    private let placeWord = Atomic<UInt8>(0)
    // Times in nanoseconds of the monotonic clock; 0 for not yet. Reports and limits read them.
    let startedAt = Atomic<Int64>(0)
    let endedAt = Atomic<Int64>(0)
    let stopStartedAt = Atomic<Int64>(0)
    let stopEndedAt = Atomic<Int64>(0)
    /// The thread inside `main()`; 0 for none.
    let mainThread = Atomic<UInt>(0)

    // These are written when the task is made, or by the app before the task is on its queue. They do not change
    // afterwards.
    final var lifecycle: Lifecycle?
    final var index = 0
    private final var bodies: (start: @Sendable () async throws -> Void, stop: (@Sendable () async throws -> Void)?)?

    /// The Swift task of an asynchronous body, and whether the body was asked to end. The request may come first.
    private let asyncBody = Locked<(task: AsyncTask<Void, Never>?, isInterrupted: Bool)>((nil, false))
    /// An error from `fail(_:)` that came while another thread was marking the task as booted.
    private let untold = Locked<(any Error)?>(nil)
    private let listeners = Locked<[@Sendable (any AppEvent) -> Void]>([])

    /// The task whose asynchronous body is running.
    @TaskLocal static var current: AppTask?

    /// The time within which the task must boot, from its start; nil for ``AppOptions/startLimit``.
    ///
    /// Set it before the task is given to an app.
    public final var startLimit: Duration?

    /// The time within which the task must stop; nil for ``AppOptions/stopBudget``.
    ///
    /// Set it before the task is given to an app.
    public final var stopBudget: Duration?

    /// Creates a task whose body is an override of ``main()``.
    public override init() {
        super.init()
    }

    /// Creates a task from closures.
    ///
    /// - Parameters:
    ///   - name: The name in reports and messages.
    ///   - dependencies: The tasks to wait for.
    ///   - start: The closure for the boot. The task has booted when it returns, and has failed if it throws.
    ///   - stop: The closure for the shutdown.
    public convenience init(
        _ name: String, dependencies: [AnyTask] = [], start: @escaping @Sendable () async throws -> Void,
        stop: (@Sendable () async throws -> Void)? = nil
    ) {
        self.init()
        self.name = name
        bodies = (start, stop)
        for dependency in dependencies { add(dependency: dependency) }
    }

    // MARK: - To be overridden

    /// Does the task's work. Override it, and call ``setFinished()`` in the override or later, on any thread.
    ///
    /// To fail, call `finish(with: .failure(error))`. The base class does nothing. For an asynchronous body use
    /// ``AsyncAppTask``.
    open func main() {}

    /// Asks ``main()`` to end early, because the shutdown begins during the boot. Override it if the boot may take
    /// long.
    ///
    /// The task may still call ``setFinished()``, and is then stopped, or fail. Until then, or until its budget is
    /// spent, its dependencies are not stopped. A body in ``main()`` can read ``AppTasks/isEnding`` instead. An
    /// asynchronous body is cancelled instead. The second signal cancels the task.
    ///
    /// - Threading: A worker of the app's scheduler, concurrently with the body.
    open func interrupt() {}

    /// Reverts the effects of ``main()``. The base class does nothing.
    ///
    /// It is called once, after all dependents have stopped. It is not called for a task that has not booted. The
    /// second signal cancels the Swift task that runs it. The report notes an error.
    open func stop() async throws {
        try await bodies?.stop?()
    }

    /// Receives an event. Override it to receive all events; the base class calls the closures passed to
    /// ``listen(for:_:)``.
    ///
    /// - Parameter event: The event.
    /// - Ordering: Each event comes once, one at a time and in the order of posting, from the end of the boot until
    ///   the task stops.
    /// - Threading: A worker of the app's scheduler. Later events wait until the call returns.
    open func receive(_ event: any AppEvent) {
        for listener in listeners.withLock({ $0 }) { listener(event) }
    }

    // MARK: - What bodies call

    /// Marks the task as booted. Only the first call has an effect.
    ///
    /// - Threading: Any thread. Dependents may start on the calling thread.
    public final func setFinished() {
        if move(from: .booting, to: .up) || lifecycle == nil {
            finish(with: .success(()))
        } else if place == .failed {
            // The task was given up before this call, so no other code stops it.
            lifecycle?.stopLate(self)
        }
    }

    /// Marks the task as failed.
    ///
    ///     listener.onClose { error in task.fail(error) }
    ///
    /// During the boot, the boot fails. After the boot, the app shuts down in order, with this task's ``stop()``, and
    /// exits with code 1. During the shutdown, the report notes the error.
    ///
    /// - Threading: Any thread.
    public final func fail(_ error: any Error) {
        if !hasBooted, finish(with: .failure(error)), !hasBooted { return }
        untold.withLock { $0 = $0 ?? error }
        tellFailure()
    }

    /// Reports an error from `fail(_:)` that came too late to fail the boot. The thread that marks the task as booted
    /// also calls this, so one of the two threads sees both facts.
    final func tellFailure() {
        guard let lifecycle, hasBooted, let error = untold.withLock({ $0.take() }) else { return }
        lifecycle.failLater(self, error)
    }

    private final var hasBooted: Bool { lifecycle != nil && [.up, .stopping, .stopped].contains(place) }

    /// Calls a closure for each event of a type.
    ///
    ///     listen(for: Reload.self) { [weak self] reload in self?.read(reload.file) }
    public final func listen<Event: AppEvent>(for type: Event.Type, _ body: @escaping @Sendable (Event) -> Void) {
        listeners.withLock { $0.append { event in if let event = event as? Event { body(event) } } }
    }

    /// Adds a dependency; the name of `add(dependency:)` in old code.
    public final func addDependency(_ dependency: AnyTask) {
        add(dependency: dependency)
    }

    // MARK: - The app's part

    final var place: Place {
        // Acquires the writes before the change.
        Place(rawValue: placeWord.load(ordering: .sequentiallyConsistent)) ?? .waiting
    }

    /// Changes the state, unless another thread was faster.
    ///
    /// The exchange and the flag `isEnding` are in one total order. If a thread changes the state and does not see
    /// the flag, the first scan of the shutdown sees the new state.
    final func move(from place: Place, to next: Place) -> Bool {
        placeWord.compareExchange(
            expected: place.rawValue, desired: next.rawValue, ordering: .sequentiallyConsistent).exchanged
    }

    public final override func run() {
        guard let lifecycle else {
            enter()
            return
        }
        if lifecycle.mayStart(self) {
            enter()
        } else {
            finish(with: .failure(AppError.notStarted(task: title)))
        }
    }

    private func enter() {
        untold.withLock { $0 = nil }  // Clears the error of an earlier attempt.
        if let start = bodies?.start {
            launch(start)
            return
        }
        if type(of: self) == AppTask.self {
            finish(with: .failure(AppError.taskFailed(task: "an AppTask", reason: "it has no body: override main()")))
            return
        }
        // relaxed: only this thread compares it with itself, in exit()
        mainThread.store(currentThread(), ordering: .relaxed)
        main()
        mainThread.store(0, ordering: .relaxed)
    }

    /// Starts the asynchronous body in a Swift task.
    final func launch(_ body: @escaping @Sendable () async throws -> Void) {
        let operation: @Sendable () async -> Void = { [self] in
            await AppTask.$current.withValue(self) {
                do {
                    try await body()
                    setFinished()
                } catch {
                    finish(with: .failure(error))
                }
            }
        }
        let task =
            if let scheduler = lifecycle?.scheduler {
                AsyncTask(executorPreference: scheduler, operation: operation)
            } else {
                AsyncTask(operation: operation)
            }
        let isInterrupted = asyncBody.withLock { body in
            body.task = task
            return body.isInterrupted
        }
        if isInterrupted { task.cancel() }
        onCancel { task.cancel() }
    }

    /// Asks a running body to end. An asynchronous body is cancelled; the task counts as booting until the body ends.
    final func askToEnd() {
        guard bodies != nil || self is AsyncAppTask else {
            interrupt()
            return
        }
        let body = asyncBody.withLock { body in
            body.isInterrupted = true
            return body.task
        }
        body?.cancel()
    }

    /// The task's name in messages.
    final var title: String { name.map { "\"\($0)\"" } ?? "\(type(of: self))" }
}

/// Boots a part of a program with an asynchronous body.
///
///     final class MigrateTask: AsyncAppTask, @unchecked Sendable {
///         override func main() async throws {
///             for step in steps { try await step.apply(); try Task.checkCancellation() }
///         }
///     }
///
/// The task has booted when the body returns, and has failed when it throws.
open class AsyncAppTask: AppTask, @unchecked Sendable {
    /// Does the task's work. Override it.
    open func main() async throws {}

    public final override func main() {
        launch { [self] in try await main() }
    }
}

/// Has no boot work. Use it to receive events and for ``AppTask/stop()``.
///
///     final class ReloadTask: NoOpTask, @unchecked Sendable {
///         override func receive(_ event: any AppEvent) { if event as? AppSignal == .hangup { reload() } }
///     }
open class NoOpTask: AppTask, @unchecked Sendable {
    open override func main() {
        setFinished()
    }
}

/// The name of ``NoOpTask`` in old code.
public typealias NoOpAppTask = NoOpTask
