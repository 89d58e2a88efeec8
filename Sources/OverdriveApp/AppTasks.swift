public import OverdriveCore
internal import Dispatch
internal import Overdrive
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A program's boot, events and end.
///
///     AppTasks.run(serviceProviders: [StorageServices(), WebServices()]) { print("ready") }
///
/// The tasks of all providers boot in parallel as far as their dependencies allow. Events during the boot are kept,
/// and delivered after it. At the end tasks stop in reverse order, each within its budget, and all within the total
/// budget.
///
/// `run(serviceProviders:options:finished:)` makes the app the process: it owns the signals and exits.
/// `build(serviceProviders:options:finished:)` makes an app inside a process, for tests and for programs that have an
/// end of their own.
///
/// - Threading: Safe from any thread.
public final class AppTasks: Sendable {
    private let lifecycle: Lifecycle?
    /// Of an app that never came to be.
    private let stillborn: AppReport?

    private static let current = Locked<AppTasks?>(nil)

    /// The app that was built last; nil before the first.
    public static var shared: AppTasks? { current.withLock { $0 } }

    /// Boots an app inside the process.
    ///
    ///     let app = AppTasks.build(serviceProviders: [StorageServices()]) { print("ready") }
    ///     let report = await app.ended()
    ///
    /// - Parameters:
    ///   - serviceProviders: Their modules are registered first, then their tasks start.
    ///   - options: Limits, budgets, events.
    ///   - finished: Is called once, when all tasks have booted; never if the boot fails, which ``ended()`` tells.
    /// - Returns: The app, which is ``shared`` too. Also where it could not boot: then its report says why.
    /// - Ordering: `finished`, then the events that have come since, then those that come.
    /// - Threading: `finished` is called on a worker of the app's ``scheduler``.
    @discardableResult
    public static func build(
        serviceProviders: [any ServiceProvider], options: AppOptions = AppOptions(),
        finished: @escaping @Sendable () -> Void = {}
    ) -> AppTasks {
        AppTasks(serviceProviders, options, ownsProcess: false, finished)
    }

    /// Makes the app the process: boots it, hears its signals, ends in order, and exits.
    ///
    /// SIGTERM or SIGINT drains, a second one cancels, a third exits at once. The exit code is 0 after an orderly
    /// end, 1 if the boot or a task failed, 2 if budgets ran out, and 128 plus the signal's number if the end was
    /// forced. `exit()` in a task also ends the app in order, with its own code.
    ///
    /// - Parameters:
    ///   - serviceProviders: Their modules are registered first, then their tasks start.
    ///   - options: Limits, budgets, events, signals.
    ///   - finished: Is called once, when all tasks have booted.
    /// - Threading: On the main thread, which serves `TaskQueue.main` from then on; elsewhere it blocks.
    @available(*, noasync, message: "it blocks the thread: write await AppTasks.run(…)")
    public static func run(
        serviceProviders: [any ServiceProvider], options: AppOptions = AppOptions(),
        finished: @escaping @Sendable () -> Void = {}
    ) -> Never {
        _ = AppTasks(serviceProviders, options, ownsProcess: true, finished)
        if isMainThread() { serveMainQueue() }
        while true { pause() }
    }

    /// The same in an asynchronous `main()`. The main thread continues to serve the main actor.
    public static func run(
        serviceProviders: [any ServiceProvider], options: AppOptions = AppOptions(),
        finished: @escaping @Sendable () -> Void = {}
    ) async -> Never {
        _ = AppTasks(serviceProviders, options, ownsProcess: true, finished)
        while true { await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
    }

    private init(
        _ providers: [any ServiceProvider], _ options: AppOptions, ownsProcess: Bool,
        _ finished: @escaping @Sendable () -> Void
    ) {
        let startedAt = monotonicNow()
        do throws(AppError) {
            let (lifecycle, start) = try AppTasks.make(providers, options, ownsProcess, startedAt, finished)
            (self.lifecycle, stillborn) = (lifecycle, nil)
            AppTasks.current.withLock { $0 = self }
            start()
        } catch {
            let report = AppReport(stillborn: error)
            (lifecycle, stillborn) = (nil, report)
            AppTasks.current.withLock { $0 = self }
            guard ownsProcess else { return }
            report.say()
            exit(1)
        }
    }

    private static func make(
        _ providers: [any ServiceProvider], _ options: AppOptions, _ ownsProcess: Bool, _ startedAt: Int64,
        _ finished: @escaping @Sendable () -> Void
    ) throws(AppError) -> (Lifecycle, () -> Void) {
        guard let wake = WakePipe() else { throw .noSupervisor(reason: "no file descriptor is left: \(lastSystemError())") }
        // Before anything else is begun: a signal that comes now ends the boot in order.
        let signals = ownsProcess
            ? SignalHandlers(options.endSignals + options.eventSignals, pipe: wake.writing) : nil
        try options.services.add(modulesOf: providers)
        let graph = try AppGraph(of: providers)
        let scheduler: Scheduler
        do throws(SchedulerError) { scheduler = try Scheduler(workers: options.workers, name: "app") } catch {
            throw .noScheduler(reason: "\(error)")
        }
        let state = Lifecycle.State(notes: signals?.notes ?? [], finished: finished)
        let lifecycle = Lifecycle(
            options: options, scheduler: scheduler, graph: graph, wake: wake, ownsProcess: ownsProcess,
            startedAt: startedAt, state: state)
        if ownsProcess { ExitHandler.install(for: lifecycle) }
        return (lifecycle, {
            // What it listens to is there before anything boots; then it is handed on to its one thread.
            nonisolated(unsafe) let supervisor = Supervisor(of: lifecycle, graph: graph, signals: signals)
            let problem = startThread(named: "app-supervisor") { unsafe supervisor.run() }
            if let problem { trap("AppTasks: the app's own thread could not be started: \(problem)") }
            lifecycle.start(graph.tasks)
        })
    }

    // MARK: - The app

    /// The app's workers. Queues that are made on it are drained at the end, when all tasks have stopped.
    ///
    ///     let uploads = TaskQueue(maxConcurrentTaskCount: 4, scheduler: AppTasks.shared?.scheduler ?? .shared)
    public var scheduler: Scheduler { lifecycle?.scheduler ?? .shared }

    /// Whether the end has begun: a ``AppTask/main()`` that runs had better come to its own.
    public var isEnding: Bool { lifecycle?.isEnding.load(ordering: .acquiring) ?? true }

    /// Whether all tasks have booted.
    public var hasBooted: Bool { lifecycle?.state.withLock { $0.hasBooted } ?? false }

    /// Makes the end wait for a queue that is not on the app's ``scheduler``, within the total budget. Closures that
    /// are left then are cancelled and counted.
    public func drainAtEnd(_ queue: TaskQueue) {
        lifecycle?.state.withLock { $0.drained.append(queue) }
    }

    // MARK: - Events

    /// Posts an event to the tasks that listen.
    ///
    ///     AppTasks.shared?.post(Reload(file: path))
    ///
    /// - Returns: nil if the event was accepted; otherwise one sentence with the reason. The report counts refused
    ///   events.
    /// - Ordering: Each task hears of each event once, in the order in which they were accepted.
    /// - Threading: Any thread; it never waits. Tasks hear of it on a worker.
    @discardableResult
    public func post(_ event: any AppEvent) -> AppError? {
        guard let lifecycle else { return .postedAfterEnd(event: "\(type(of: event))") }
        return lifecycle.events.post(event)
    }

    /// Calls a closure with every task that listens: when the boot has ended, or at once if it has.
    ///
    ///     AppTasks.shared?.forEach { ($0 as? PushTask)?.didRegister(token) }
    ///
    /// - Throws: What `body` throws, where it is called at once. Else the report has it.
    /// - Ordering: What waits is called among the events, in the order in which it came.
    public func forEach(_ body: @escaping @Sendable (AppTask) throws -> Void) rethrows {
        guard let lifecycle, !lifecycle.events.keep(body) else { return }
        for task in listening { try body(task) }
    }

    /// Whether a predicate holds for every task that has booted so far: it is asked now, and its answer is true.
    @discardableResult
    public func allSatisfy(_ predicate: (AppTask) throws -> Bool) rethrows -> Bool {
        try listening.allSatisfy(predicate)
    }

    /// Whether a predicate holds for every task, asked when the boot has ended.
    ///
    /// - Throws: ``AppError`` when the boot fails instead.
    public func allSatisfy(_ predicate: @escaping @Sendable (AppTask) -> Bool) async throws -> Bool {
        try await booted()
        return listening.allSatisfy(predicate)
    }

    /// Combines the tasks that have booted so far, in the order of their providers.
    public func reduce<Result>(
        _ initialResult: Result, _ nextPartialResult: (Result, AppTask) throws -> Result
    ) rethrows -> Result {
        try listening.reduce(initialResult, nextPartialResult)
    }

    private var listening: [AppTask] { lifecycle?.living.tasks.filter { $0.place == .up } ?? [] }

    // MARK: - The end

    /// Suspends until all tasks have booted.
    ///
    /// - Throws: ``AppError`` when the boot failed or was ended.
    public func booted() async throws(AppError) {
        guard let lifecycle else { throw stillborn?.failure ?? .notStarted(task: "the app") }
        let failure: AppError? = await unsafe withUnsafeContinuation { continuation in
            lifecycle.whenBooted { unsafe continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// Begins the end: tasks are stopped in reverse order. It may be asked for at any time, also while the boot runs, and
    /// again.
    ///
    /// - Parameter cancelling: Cancels the Swift tasks that tasks stop in, as a second signal does.
    public func end(cancelling: Bool = false) {
        guard let lifecycle else { return }
        lifecycle.end(.requested)
        if cancelling { lifecycle.end(.requested, isUrging: true) }
    }

    /// Suspends until the app has ended.
    ///
    /// - Returns: What there is to be said of it; ``AppReport/exitCode`` is what the process may exit with.
    public func ended() async -> AppReport {
        guard let lifecycle else { return report }
        return await unsafe withUnsafeContinuation { continuation in
            lifecycle.whenEnded { unsafe continuation.resume(returning: $0) }
        }
    }

    /// How the boot and the end go, as of now.
    ///
    ///     print(AppTasks.shared?.report.table ?? "")
    public var report: AppReport {
        guard let lifecycle else { return stillborn ?? AppReport(stillborn: .notStarted(task: "the app")) }
        if let report = lifecycle.state.withLock({ $0.report }) { return report }
        guard let graph = lifecycle.living.graph else { return self.report }  // it has just ended
        return AppReport(of: lifecycle, graph: graph, end: nil)
    }
}
