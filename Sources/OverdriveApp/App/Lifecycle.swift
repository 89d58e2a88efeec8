// Owns the shared state of an app: its tasks, the progress of the boot, and the reason for the shutdown. Tasks report
// to it from their threads. The supervisor makes all decisions that need a clock.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

/// The reason for a shutdown.
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

/// The state that the parts of an app share.
///
/// Tasks report their ends here, on the threads on which they finish. Work that needs a clock or a decision belongs
/// to the ``Supervisor``, which this object wakes.
final class Lifecycle: Sendable {
    struct State {
        var failure: AppError?
        var reason: EndReason?
        /// The time of the first request for a shutdown.
        var endsSince: Int64 = 0
        /// The number of further, more urgent requests.
        var urgency = 0
        var notes: [String]
        var hasBooted = false
        var bootedAt: Int64 = 0
        var report: AppReport?
        var whenEnded: [@Sendable (AppReport) -> Void] = []
        var drained: [TaskQueue] = []
        /// The tasks whose state has changed in the shutdown; a task may occur repeatedly.
        var changed: [Int] = []
        /// The task inside exit(), which will not return.
        var exiting: Int?
        var finished: (@Sendable () -> Void)?
        /// The waiters for the end of the boot, successful or not.
        var whenBooted: [@Sendable (AppError?) -> Void] = []
        /// The last signal that requested the shutdown.
        var lastSignal: AppSignal?
    }

    let options: AppOptions
    let scheduler: Scheduler
    let startedAt: Int64
    let wake: WakePipe
    /// Whether the app owns the process: it handles signals and exits.
    let ownsProcess: Bool
    let queue: TaskQueue
    let events: EventLine
    /// Whether no further task may start.
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

    /// The tasks, until the app has ended. Then they are released, which breaks their reference cycle with the app.
    final class Living: Sendable {
        private let held: Locked<AppGraph?>

        init(_ graph: AppGraph) { held = Locked(graph) }

        var graph: AppGraph? { held.withLock { $0 } }
        var tasks: [AppTask] { graph?.tasks ?? [] }

        func end() {
            let graph = held.withLock { $0.take() }
            withExtendedLifetime(graph) {}  // Released after the lock.
        }
    }

    // MARK: - The boot

    /// Adds the tasks to the queue. Tasks without dependencies may start at once.
    func start(_ tasks: [AppTask]) {
        for task in tasks {
            task.lifecycle = self
            task.onCompletion { [self, unowned task] in hasEnded(task, $0) }
        }
        queue.add(tasks: tasks)
        if tasks.isEmpty { bootIsOver() }
    }

    /// Called by a worker before the task runs. Returns false if the task must not start.
    func mayStart(_ task: AppTask) -> Bool {
        guard !isEnding.load(ordering: .sequentiallyConsistent) else {
            _ = task.move(from: .waiting, to: .withdrawn)
            return false
        }
        if task.place == .booting { return true }  // another attempt
        // The shutdown may have withdrawn the task.
        guard task.move(from: .waiting, to: .booting) else { return false }
        task.startedAt.store(monotonicNow(), ordering: .releasing)
        return true
    }

    /// Handles the outcome of a task, before its dependents start.
    private func hasEnded(_ task: AppTask, _ result: Result<Void, any Error>) {
        task.endedAt.store(monotonicNow(), ordering: .releasing)
        switch result {
        case .success:
            // setFinished() has made this change unless the body called finish(with:)
            _ = task.move(from: .booting, to: .up)
            task.tellFailure()
        case .failure(let error):
            if task.move(from: .booting, to: .failed) || task.move(from: .waiting, to: .failed) {
                fail(.taskFailed(task: task.title, reason: reason(of: error)))
            }
        }
        // The state and isEnding are in one total order: the first scan of the shutdown sees the state, or this
        // thread sees the flag.
        if isEnding.load(ordering: .sequentiallyConsistent) { hasChanged(task) }
        // Releases the writes of the tasks to the code after the boot.
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

    /// Fails the boot, unless it has failed, has finished or is being ended.
    func fail(_ error: AppError) {
        let fails = state.withLock { state in
            guard state.reason == nil, !state.hasBooted else { return false }
            state.failure = error
            return true
        }
        if fails { end(.bootFailed) }
    }

    /// Handles the failure of a task that had booted. The app ends, or the boot fails if it is under way. During the
    /// shutdown the failure is only noted.
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

    /// Requests the shutdown. The first call begins it; later calls make it more urgent if `isUrging` is true.
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

    /// Calls `body` after the boot: with nil if all tasks have booted, otherwise with the error.
    func whenBooted(_ body: @escaping @Sendable (AppError?) -> Void) {
        let (isOver, failure) = state.withLock { state -> (Bool, AppError?) in
            if state.hasBooted { return (true, nil) }
            if state.reason != nil { return (true, state.failure ?? .notStarted(task: "the rest of the boot")) }
            state.whenBooted.append(body)
            return (false, nil)
        }
        if isOver { body(failure) }
    }

    /// Makes the shutdown check the task again.
    func hasChanged(_ task: AppTask) {
        state.withLock { $0.changed.append(task.index - 1) }
        wake.poke()
    }

    /// Stops a task that booted after it was given up, because no other code will stop it.
    func stopLate(_ task: AppTask) {
        note("\(task.title) booted only after the app had given it up, and was stopped at once")
        AsyncTask(executorPreference: scheduler) { try? await task.stop() }
    }

    /// Runs the task's `stop()`. Returns the Swift task, by which it can be cancelled.
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

    /// Calls `body` with the report when the app has ended; at once if it has ended.
    func whenEnded(_ body: @escaping @Sendable (AppReport) -> Void) {
        let report = state.withLock { state -> AppReport? in
            if state.report == nil { state.whenEnded.append(body) }
            return state.report
        }
        if let report { body(report) }
    }
}
