public import Overdrive
internal import OverdriveCore
internal import Synchronization

/// A task of the boot, which may listen to events afterwards and be stopped at the end.
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
/// Or from closures:
///
///     let cache = AppTask("cache") { try await cache.warm() } stop: { await cache.flush() }
///
/// - Ordering: The task starts when all of its dependencies have booted. It stops when all of its dependents have
///   stopped, or have spent their budgets.
/// - Threading: ``main()`` runs on a worker of the app's scheduler, ``stop()`` in a Swift task there.
open class AppTask: Task<Void>, @unchecked Sendable {
    /// Where a task stands in its app. Each change of `place` is one exchange, so of two threads one has its way.
    enum Place: UInt8 {
        /// It waits for its dependencies.
        case waiting
        /// Its body runs, or somebody is to say that it has finished.
        case booting
        /// It has booted, listens, and will be stopped.
        case up
        /// It failed or was cancelled while it booted.
        case failed
        /// It was never started: the boot had failed, or the end had begun.
        case withdrawn
        /// It is being stopped.
        case stopping
        /// It has been stopped.
        case stopped
    }

    private let placeWord = Atomic<UInt8>(0)
    // Nanoseconds of the monotonic clock; 0: not yet. Read for reports and limits.
    let startedAt = Atomic<Int64>(0)
    let endedAt = Atomic<Int64>(0)
    let stopStartedAt = Atomic<Int64>(0)
    let stopEndedAt = Atomic<Int64>(0)
    /// The thread that is inside `main()`; 0: none.
    let mainThread = Atomic<UInt>(0)

    // Set when the task is made, or by the app before the task is on its queue; from then on nobody writes them.
    final var lifecycle: Lifecycle?
    final var index = 0
    private final var bodies: (start: @Sendable () async throws -> Void, stop: (@Sendable () async throws -> Void)?)?

    /// The Swift task of an asynchronous body, and whether it was asked to end, which may come first.
    private let asyncBody = Locked<(task: AsyncTask<Void, Never>?, isInterrupted: Bool)>((nil, false))
    /// What `fail(_:)` was told while another thread was saying that it has booted.
    private let untold = Locked<(any Error)?>(nil)
    private let listeners = Locked<[@Sendable (any AppEvent) -> Void]>([])

    /// The task whose asynchronous body runs.
    @TaskLocal static var current: AppTask?

    /// How long it may boot, from its own start; nil: as ``AppOptions/startLimit`` says.
    ///
    /// Set it before the task is given to an app.
    public final var startLimit: Duration?

    /// How long it may take to stop; nil: as ``AppOptions/stopBudget`` says.
    ///
    /// Set it before the task is given to an app.
    public final var stopBudget: Duration?

    /// A task whose body is an override of ``main()``.
    public override init() {
        super.init()
    }

    /// A task from closures.
    ///
    /// - Parameters:
    ///   - name: What reports and messages call it.
    ///   - dependencies: The tasks that it waits for.
    ///   - start: The boot's part: the task has booted when it returns, and has failed when it throws.
    ///   - stop: The end's part.
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

    /// The task's work: override it, and call ``setFinished()`` in it or later, on any thread.
    ///
    /// A failure is `finish(with: .failure(error))`. Calling `super.main()` does nothing. A body that suspends is
    /// ``AsyncAppTask``'s.
    open func main() {}

    /// Asks ``main()`` to come to its end, because the app is to end while the task boots: override it where that may
    /// take long.
    ///
    /// The task may still say ``setFinished()``, and is stopped then, or fail. Until it does either, for as long as its
    /// budget lasts, nothing that it depends on is stopped. A body that runs in ``main()`` may ask ``AppTasks/isEnding``
    /// instead; an ``AsyncAppTask``'s and a closure's are cancelled. The second signal cancels the task itself.
    ///
    /// - Threading: A worker of the app's scheduler, beside the body.
    open func interrupt() {}

    /// Undoes what ``main()`` has done; the base class's does nothing.
    ///
    /// It is called once, after all that depends on this task has stopped; not for a task that has not booted. The
    /// second signal cancels the Swift task that it runs in. An error is noted in the report.
    open func stop() async throws {
        try await bodies?.stop?()
    }

    /// Hears of an event: override it to hear of all; the base class's calls what ``listen(for:_:)`` was given.
    ///
    /// - Ordering: Events come one at a time in the order in which they were posted, each once, from the end of the
    ///   boot until the task stops.
    /// - Threading: A worker of the app's scheduler. It holds up the events after it.
    open func receive(_ event: any AppEvent) {
        for listener in listeners.withLock({ $0 }) { listener(event) }
    }

    // MARK: - What bodies call

    /// Says that the task has booted. The first call counts.
    ///
    /// - Threading: Any thread; dependents may start on it.
    public final func setFinished() {
        if move(from: .booting, to: .up) || lifecycle == nil {
            finish(with: .success(()))
        } else if place == .failed {
            // It was given up while it waited for this call, and what it has opened since is nobody's else.
            lifecycle?.stopLate(self)
        }
    }

    /// Says that the task has failed.
    ///
    ///     listener.onClose { error in task.fail(error) }
    ///
    /// While it boots, so does the boot. After that the app ends in order, this task's ``stop()`` included, and exits with
    /// 1; while it ends, the report has a note of it.
    ///
    /// - Threading: Any thread.
    public final func fail(_ error: any Error) {
        if !hasBooted, finish(with: .failure(error)), !hasBooted { return }
        untold.withLock { $0 = $0 ?? error }
        tellFailure()
    }

    /// Where the task has booted, passes on what `fail(_:)` was told too late to end the boot. Who brings it up looks,
    /// too: one of the two sees both.
    final func tellFailure() {
        guard let lifecycle, hasBooted, let error = untold.withLock({ $0.take() }) else { return }
        lifecycle.failLater(self, error)
    }

    private final var hasBooted: Bool { lifecycle != nil && [.up, .stopping, .stopped].contains(place) }

    /// Listens to one type of events.
    ///
    ///     listen(for: Reload.self) { [weak self] reload in self?.read(reload.file) }
    public final func listen<Event: AppEvent>(for type: Event.Type, _ body: @escaping @Sendable (Event) -> Void) {
        listeners.withLock { $0.append { event in if let event = event as? Event { body(event) } } }
    }

    /// Has this task wait for another: old code's name of `add(dependency:)`.
    public final func addDependency(_ dependency: AnyTask) {
        add(dependency: dependency)
    }

    // MARK: - The app's part

    final var place: Place {
        // Acquires what led there.
        Place(rawValue: placeWord.load(ordering: .sequentiallyConsistent)) ?? .waiting
    }

    /// Moves on, unless another thread was faster.
    ///
    /// In one order with the app's "the end has begun": who moves on and then does not see it is seen by the end's first
    /// look at all tasks.
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
        untold.withLock { $0 = nil }  // of the attempt before
        if let start = bodies?.start {
            launch(start)
            return
        }
        if type(of: self) == AppTask.self {
            finish(with: .failure(AppError.taskFailed(task: "an AppTask", reason: "it has no body: override main()")))
            return
        }
        mainThread.store(currentThread(), ordering: .relaxed)  // read by the same thread, in exit()
        main()
        mainThread.store(0, ordering: .relaxed)
    }

    /// Runs the asynchronous body, which is the task's from now on.
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

    /// Asks a body that runs to come to its end: an asynchronous one as Swift's tasks are asked. It keeps the task
    /// booting until it has.
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

    /// What messages call it.
    final var title: String { name.map { "\"\($0)\"" } ?? "\(type(of: self))" }
}

/// A task of the boot whose body suspends.
///
///     final class MigrateTask: AsyncAppTask, @unchecked Sendable {
///         override func main() async throws {
///             for step in steps { try await step.apply(); try Task.checkCancellation() }
///         }
///     }
///
/// The task has booted when the body returns, and has failed when it throws.
open class AsyncAppTask: AppTask, @unchecked Sendable {
    /// The task's work: override it.
    open func main() async throws {}

    public final override func main() {
        launch { [self] in try await main() }
    }
}

/// A task that has booted as soon as it is started: it is there for the events, and for its ``AppTask/stop()``.
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
