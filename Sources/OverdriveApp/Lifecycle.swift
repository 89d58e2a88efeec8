internal import Overdrive
internal import OverdriveCore
internal import Synchronization

/// Why an app ends.
enum EndReason: Sendable, Equatable {
    case bootFailed
    case taskFailed
    case requested
    case signal(AppSignal)
    case exitCalled

    var sentence: String {
        switch self {
        case .bootFailed: "the boot failed"
        case .taskFailed: "a task failed"
        case .requested: "the program asked for it"
        case .signal(let signal): "\(signal) came"
        case .exitCalled: "exit() was called"
        }
    }
}

/// What an app's parts share: its tasks, how far the boot is, and why it ends.
///
/// Tasks count themselves off here, on the threads on which they finish. What needs a clock or a decision is the
/// ``Supervisor``'s, which this wakes.
final class Lifecycle: Sendable {
    struct State {
        var failure: AppError?
        var reason: EndReason?
        /// When the end was asked for.
        var endsSince: Int64 = 0
        /// How often it was asked for more urgently.
        var urgency = 0
        var notes: [String]
        var hasBooted = false
        var bootedAt: Int64 = 0
        var report: AppReport?
        var whenEnded: [@Sendable (AppReport) -> Void] = []
        var drained: [TaskQueue] = []
        /// Tasks that have changed their place since the end began, and may be among those more than once.
        var changed: [Int] = []
        /// The task that is inside exit(), and will not come back.
        var exiting: Int?
        var finished: (@Sendable () -> Void)?
        /// Wait for the end of the boot, whichever it is.
        var whenBooted: [@Sendable (AppError?) -> Void] = []
        /// The last signal that asked for the end.
        var lastSignal: AppSignal?
    }

    let options: AppOptions
    let scheduler: Scheduler
    let startedAt: Int64
    let wake: WakePipe
    /// Whether the app is the process: it owns the signals, and exits.
    let ownsProcess: Bool
    let queue: TaskQueue
    let events: EventLine
    /// No task starts any more.
    let isEnding = Atomic(false)
    private let remaining: Atomic<Int>
    let state: Locked<State>
    let living: Living

    init(
        options: AppOptions, scheduler: Scheduler, graph: AppGraph, wake: WakePipe, ownsProcess: Bool, startedAt: Int64,
        state: State
    ) {
        (self.options, self.scheduler, self.wake, self.ownsProcess) = (options, scheduler, wake, ownsProcess)
        self.startedAt = startedAt
        self.state = Locked(state)
        remaining = Atomic(graph.tasks.count)
        let living = Living(graph)
        self.living = living
        queue = TaskQueue.concurrent(label: "app.boot", scheduler: scheduler)
        events = EventLine(on: TaskQueue.serial(label: "app.events", scheduler: scheduler), options: options) {
            living.tasks
        }
    }

    /// The tasks, until the app is over: then nothing keeps them, which keep the app.
    final class Living: Sendable {
        private let held: Locked<AppGraph?>

        init(_ graph: AppGraph) { held = Locked(graph) }

        var graph: AppGraph? { held.withLock { $0 } }
        var tasks: [AppTask] { graph?.tasks ?? [] }

        func end() {
            let graph = held.withLock { $0.take() }
            withExtendedLifetime(graph) {}  // let go of without the lock
        }
    }

    // MARK: - The boot

    /// Adds the tasks to the queue: those that wait for nothing may start at once.
    func start(_ tasks: [AppTask]) {
        for task in tasks {
            task.lifecycle = self
            task.onCompletion { [self, unowned task] in hasEnded(task, $0) }
        }
        queue.add(tasks: tasks)
        if tasks.isEmpty { bootIsOver() }
    }

    /// A worker is about to run the task. False: it is not to start.
    func mayStart(_ task: AppTask) -> Bool {
        guard !isEnding.load(ordering: .sequentiallyConsistent) else {
            _ = task.move(from: .waiting, to: .withdrawn)
            return false
        }
        if task.place == .booting { return true }  // one more attempt
        // The end may have withdrawn it meanwhile.
        guard task.move(from: .waiting, to: .booting) else { return false }
        task.startedAt.store(monotonicNow(), ordering: .releasing)
        return true
    }

    /// The task's outcome is there, and its dependents wait still.
    private func hasEnded(_ task: AppTask, _ result: Result<Void, any Error>) {
        task.endedAt.store(monotonicNow(), ordering: .releasing)
        switch result {
        case .success:
            _ = task.move(from: .booting, to: .up)  // setFinished() has, or finish(with:) was called
            task.tellFailure()
        case .failure(let error):
            if task.move(from: .booting, to: .failed) || task.move(from: .waiting, to: .failed) {
                fail(.taskFailed(task: task.title, reason: reason(of: error)))
            }
        }
        // In one order with isEnding: the end's first look sees the place, or this sees the end.
        if isEnding.load(ordering: .sequentiallyConsistent) { hasChanged(task) }
        // Releases what the tasks have written to what comes after the boot.
        if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { bootIsOver() }
    }

    private func reason(of error: any Error) -> String {
        error is CancellationError ? "it was cancelled" : "\(error)"
    }

    private func bootIsOver() {
        guard !isEnding.load(ordering: .sequentiallyConsistent) else { return }
        queue.async { [self] in
            let finished = state.withLock { $0.finished.take() }
            guard !isEnding.load(ordering: .sequentiallyConsistent) else { return }
            finished?()
            let waiting = state.withLock { state in
                state.hasBooted = true
                state.bootedAt = monotonicNow()
                defer { state.whenBooted = [] }
                return state.whenBooted
            }
            events.open()
            wake.poke()
            for body in waiting { body(nil) }
        }
    }

    /// The boot fails, unless it has failed, is over or is being ended.
    func fail(_ error: AppError) {
        let fails = state.withLock { state in
            guard state.reason == nil, !state.hasBooted else { return false }
            state.failure = error
            return true
        }
        if fails { end(.bootFailed) }
    }

    /// A task that had booted has failed: the app ends, or the boot fails where it is not over. While it ends, that is
    /// noted.
    func failLater(_ task: AppTask, _ error: any Error) {
        let error = AppError.failedLater(task: task.title, reason: reason(of: error))
        let reason = state.withLock { state -> EndReason? in
            guard state.reason == nil, state.failure == nil else {
                state.notes.append("\(error)")
                return nil
            }
            state.failure = error
            return state.hasBooted ? .taskFailed : .bootFailed
        }
        if let reason { end(reason) }
    }

    // MARK: - The end

    /// Asks for the end: the first time it begins, afterwards it becomes more urgent if `isUrging`.
    func end(_ reason: EndReason, isUrging: Bool = false) {
        let (waiting, failure) = state.withLock { state in
            if case .signal(let signal) = reason { state.lastSignal = signal }
            if state.reason == nil {
                state.reason = reason
                state.endsSince = monotonicNow()
            } else if isUrging {
                state.urgency += 1
            }
            defer { state.whenBooted = [] }
            return (state.whenBooted, state.failure)
        }
        events.refuseFromNowOn()
        isEnding.store(true, ordering: .sequentiallyConsistent)
        wake.poke()
        for body in waiting { body(failure ?? .notStarted(task: "the rest of the boot")) }
    }

    /// Calls `body` when the boot is over: with nil when all tasks have booted, else with why they have not.
    func whenBooted(_ body: @escaping @Sendable (AppError?) -> Void) {
        let (isOver, failure) = state.withLock { state -> (Bool, AppError?) in
            if state.hasBooted { return (true, nil) }
            if state.reason != nil { return (true, state.failure ?? .notStarted(task: "the rest of the boot")) }
            state.whenBooted.append(body)
            return (false, nil)
        }
        if isOver { body(failure) }
    }

    /// The end has to look at the task again.
    func hasChanged(_ task: AppTask) {
        state.withLock { $0.changed.append(task.index - 1) }
        wake.poke()
    }

    /// The task has booted after it was given up: nobody else will stop it.
    func stopLate(_ task: AppTask) {
        note("\(task.title) booted only after the app had given it up, and was stopped at once")
        AsyncTask(executorPreference: scheduler) { try? await task.stop() }
    }

    /// Runs the task's `stop()`. Returns what cancels it.
    func stop(_ task: AppTask) -> AsyncTask<Void, Never> {
        AsyncTask(executorPreference: scheduler) { [self] in
            await AppTask.$current.withValue(task) {
                do { try await task.stop() } catch { note("\(task.title) failed to stop: \(error)") }
            }
            task.stopEndedAt.store(monotonicNow(), ordering: .releasing)
            _ = task.move(from: .stopping, to: .stopped)
            hasChanged(task)
        }
    }

    func note(_ sentence: String) {
        state.withLock { $0.notes.append(sentence) }
    }

    /// Calls `body` with the report when the app is over: at once where it is.
    func whenEnded(_ body: @escaping @Sendable (AppReport) -> Void) {
        let report = state.withLock { state -> AppReport? in
            if state.report == nil { state.whenEnded.append(body) }
            return state.report
        }
        if let report { body(report) }
    }
}
