// Owns the running app as the program sees it: build, run, events, end, report. Programs call it. The work is in
// `Lifecycle`, `Supervisor` and `EndConductor`.

public import OverdriveCore
internal import Dispatch
internal import Overdrive
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Manages a program's boot, events and shutdown.
///
///     AppTasks.run(serviceProviders: [StorageServices(), WebServices()]) { print("ready") }
///
/// The tasks of all providers boot in parallel as far as their dependencies allow. Events during the boot are
/// delivered after it. In the shutdown, tasks stop in reverse order, each within its budget and all within the total
/// budget.
///
/// With `run(serviceProviders:options:finished:)` the app owns the process: it handles signals and exits. With
/// `build(serviceProviders:options:finished:)` the app is a part of a process, for tests and for programs that
/// control their own exit.
///
/// - Threading: Safe from any thread.
public final class AppTasks: Sendable {
    private let lifecycle: Lifecycle?
    /// The report of an app that could not be made.
    private let stillborn: AppReport?

    private static let current = Locked<AppTasks?>(nil)

    /// The app that was made last; nil if there was none.
    public static var shared: AppTasks? { current.withLock { $0 } }

    /// Boots an app as a part of the process.
    ///
    ///     let app = AppTasks.build(serviceProviders: [StorageServices()]) { print("ready") }
    ///     let report = await app.ended()
    ///
    /// - Parameters:
    ///   - serviceProviders: The providers. Their modules are registered first, then their tasks start.
    ///   - options: The limits, budgets and events.
    ///   - finished: A closure that is called once, when all tasks have booted. It is not called if the boot fails.
    /// - Returns: The app, which is also ``shared``. If it could not boot, its report states the reason.
    /// - Ordering: `finished` comes before all events.
    /// - Threading: `finished` is called on a worker of the app's ``scheduler``.
    @discardableResult
    public static func build(
        serviceProviders: [any ServiceProvider], options: AppOptions = AppOptions(),
        finished: @escaping @Sendable () -> Void = {}
    ) -> AppTasks {
        AppTasks(serviceProviders, options, ownsProcess: false, finished)
    }

    /// Boots an app that owns the process, handles its signals, shuts down in order and exits.
    ///
    /// SIGTERM or SIGINT drains, a second one cancels, a third exits at once. The exit code is 0 after an orderly
    /// shutdown, 1 if the boot or a task failed, and 2 if budgets ran out. After a forced exit it is 128 plus the
    /// signal's number. `exit()` in a task also shuts the app down in order, and keeps its code.
    ///
    /// - Parameters:
    ///   - serviceProviders: The providers. Their modules are registered first, then their tasks start.
    ///   - options: The limits, budgets, events and signals.
    ///   - finished: A closure that is called once, when all tasks have booted.
    /// - Threading: The main thread, which then serves `TaskQueue.main`. Another thread blocks.
    @available(*, noasync, message: "it blocks the thread: write await AppTasks.run(…)")
    public static func run(
        serviceProviders: [any ServiceProvider], options: AppOptions = AppOptions(),
        finished: @escaping @Sendable () -> Void = {}
    ) -> Never {
        _ = AppTasks(serviceProviders, options, ownsProcess: true, finished)
        if isMainThread() { serveMainQueue() }
        while true { pause() }
    }

    /// Boots an app that owns the process, from an asynchronous `main()`. The main thread continues to serve the main
    /// actor.
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
        // The signal handlers come first, so that a signal at any later time causes an orderly shutdown.
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
            // The supervisor opens its descriptors before any task boots. It is then passed to its thread.
            nonisolated(unsafe) let supervisor = Supervisor(of: lifecycle, graph: graph, signals: signals)
            let problem = startThread(named: "app-supervisor") { unsafe supervisor.run() }
            if let problem { trap("AppTasks: the app's own thread could not be started: \(problem)") }
            lifecycle.start(graph.tasks)
        })
    }

    // MARK: - The app

    /// The scheduler of the app. Its queues are drained in the shutdown, after all tasks have stopped.
    ///
    ///     let uploads = TaskQueue(maxConcurrentTaskCount: 4, scheduler: AppTasks.shared?.scheduler ?? .shared)
    public var scheduler: Scheduler { lifecycle?.scheduler ?? .shared }

    /// Whether the shutdown has begun. A running ``AppTask/main()`` should then return early.
    public var isEnding: Bool { lifecycle?.isEnding.load(ordering: .acquiring) ?? true }

    /// Whether all tasks have booted.
    public var hasBooted: Bool { lifecycle?.state.withLock { $0.hasBooted } ?? false }

    /// Makes the shutdown wait for a queue of another scheduler, within the total budget. Closures that remain are
    /// cancelled and counted.
    public func drainAtEnd(_ queue: TaskQueue) {
        lifecycle?.state.withLock { $0.drained.append(queue) }
    }

    // MARK: - Events

    /// Posts an event to all booted tasks.
    ///
    ///     AppTasks.shared?.post(Reload(file: path))
    ///
    /// - Returns: nil if the event was accepted; otherwise one sentence with the reason. The report counts refused
    ///   events.
    /// - Ordering: Each task receives each event once, in the order of acceptance.
    /// - Threading: Any thread. The call never blocks. Tasks receive the event on a worker.
    @discardableResult
    public func post(_ event: any AppEvent) -> AppError? {
        guard let lifecycle else { return .postedAfterEnd(event: "\(type(of: event))") }
        return lifecycle.events.post(event)
    }

    /// Calls a closure with each booted task, after the boot or at once if the boot has finished.
    ///
    ///     AppTasks.shared?.forEach { ($0 as? PushTask)?.didRegister(token) }
    ///
    /// - Throws: The error of `body` if it is called at once. Otherwise the report notes the error.
    /// - Ordering: Delayed calls are made between events, in the order of the calls of this function.
    public func forEach(_ body: @escaping @Sendable (AppTask) throws -> Void) rethrows {
        guard let lifecycle, !lifecycle.events.keep(body) else { return }
        for task in listening { try body(task) }
    }

    /// Returns whether a predicate holds for each task that has booted so far.
    @discardableResult
    public func allSatisfy(_ predicate: (AppTask) throws -> Bool) rethrows -> Bool {
        try listening.allSatisfy(predicate)
    }

    /// Returns whether a predicate holds for each task, after the boot.
    ///
    /// - Throws: ``AppError`` if the boot fails.
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
    /// - Throws: ``AppError`` if the boot failed or the shutdown began.
    public func booted() async throws(AppError) {
        guard let lifecycle else { throw stillborn?.failure ?? .notStarted(task: "the app") }
        let failure: AppError? = await unsafe withUnsafeContinuation { continuation in
            lifecycle.whenBooted { unsafe continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// Begins the shutdown, in which tasks stop in reverse order. It can be called at any time, also during the boot
    /// and repeatedly.
    ///
    /// - Parameter cancelling: Whether to cancel the Swift tasks of `stop()`, as a second signal does.
    public func end(cancelling: Bool = false) {
        guard let lifecycle else { return }
        lifecycle.end(.requested)
        if cancelling { lifecycle.end(.requested, isUrging: true) }
    }

    /// Suspends until the shutdown has finished.
    ///
    /// - Returns: The report. The process may exit with ``AppReport/exitCode``.
    public func ended() async -> AppReport {
        guard let lifecycle else { return report }
        return await unsafe withUnsafeContinuation { continuation in
            lifecycle.whenEnded { unsafe continuation.resume(returning: $0) }
        }
    }

    /// The current report on the boot and the shutdown.
    ///
    ///     print(AppTasks.shared?.report.table ?? "")
    public var report: AppReport {
        guard let lifecycle else { return stillborn ?? AppReport(stillborn: .notStarted(task: "the app")) }
        if let report = lifecycle.state.withLock({ $0.report }) { return report }
        // The app has just ended, so its report now exists.
        guard let graph = lifecycle.living.graph else { return self.report }
        return AppReport(of: lifecycle, graph: graph, end: nil)
    }
}
