internal import OverdriveCore
internal import Synchronization

/// A task, whatever its result: the part of ``Task`` that queues, groups and dependents know.
///
///     let preparations: [AnyTask] = [download, login]
///     for each in preparations { launch.add(dependency: each) }
///
/// - Threading: Safe from any thread, every part of it.
open class AnyTask: @unchecked Sendable {
    // Shared by all threads: `word` says who may touch what. Each exchange of it that succeeds makes one thread
    // the owner of what its actions name; see TaskState.

    /// How far a task is.
    public enum State: Int, Sendable, Comparable {
        /// Nobody has added or started it.
        case initialized
        /// It is on a queue and waits: for dependencies, for conditions, for its next attempt.
        case pending
        /// It waits for its turn.
        case ready
        /// Its body runs, or has returned and somebody is to call `finish(with:)`.
        case executing
        /// It has its outcome.
        case finished

        public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
    }

    let word = Atomic<UInt64>(0)

    /// What few tasks have; see ``TaskExtras``.
    private let lazyExtras = LazyReference<TaskExtras>()

    /// The queue, from the first add on.
    private let lazyHome = LazyReference<TaskQueue>()

    /// Edges to those that wait for this task, newest first; ``AnyTask/closedList`` when it is over.
    let dependents = Atomic<UnsafeMutableRawPointer?>(nil)

    /// Edges to those that this task waits for, newest first.
    let edges = Mutex<Edge?>(nil)

    /// Neighbours among the tasks of the queue; see ``QueueTasks``.
    var registered = QueueTasks.Links()

    /// Only ``Task`` is a subclass.
    init() {}

    deinit {
        if standing.hasDependencies { dropUnstartedDependencies() }
    }

    // MARK: - The state

    /// Where the task stands, as of now.
    var standing: TaskState {
        // Acquires what was published with it: a result that is there can be read.
        TaskState(word: word.load(ordering: .acquiring))
    }

    /// Where the task stands, in one order with every event that anybody takes into account: what this thread wrote
    /// before is seen by whoever brings a later one.
    final var standingInFull: TaskState {
        TaskState(word: word.add(0, ordering: .sequentiallyConsistent).newValue)
    }

    /// Takes an event into account: whoever's exchange succeeds has the actions to carry out.
    @inline(__always)
    final func step(_ event: TaskState.Event) -> TaskState.Step {
        var current = word.load(ordering: .acquiring)
        while true {
            let step = TaskState(word: current).after(event)
            if step.state.word == current { return step }
            // Releases what led to the event, acquires what led to the state.
            let (exchanged, found) = word.weakCompareExchange(
                expected: current, desired: step.state.word, successOrdering: .acquiringAndReleasing,
                failureOrdering: .acquiring)
            if exchanged { return step }
            current = found
        }
    }

    /// Takes an event into account and carries out what it calls for, but for publishing a given outcome.
    @discardableResult
    final func take(_ event: TaskState.Event) -> Bool {
        let actions = step(event).actions
        if !actions.isSubset(of: .accept) { perform(actions) }
        return actions.contains(.accept)
    }

    final func perform(_ actions: TaskState.Actions) {
        if actions.contains(.submit) { submit() }
        if actions.contains(.link) { linkDependencies() }
        if actions.contains(.evaluate) { evaluateConditions() }
        if actions.contains(.enter) { execute() }
        if actions.contains(.tellCancelled) { tellCancelled() }
        if actions.contains(.publishCancelled) { publish(failure: CancellationError()) }
        if actions.contains(.retry) { scheduleNextAttempt() }
        if actions.contains(.dropBody) { dropBody() }
    }

    /// How far the task is.
    public final var state: State { standing.phase }

    /// Whether it was asked to stop before its outcome was decided.
    public final var isCancelled: Bool { standing.isCancelled }

    /// Whether it has its outcome.
    public final var isFinished: Bool { state == .finished }

    /// Whether its body runs, or somebody is to call `finish(with:)`.
    public final var isExecuting: Bool { state == .executing }

    /// Whether it waits for nothing but its turn.
    public final var isReady: Bool { state == .ready }

    /// Asks the task to stop.
    ///
    /// Before the body has begun it never will, and the task finishes at once. While it runs, `isCancelled` and
    /// ``Cancellation/isRequested`` turn true and `onCancel` handlers are called; the task finishes when the
    /// body does. The outcome is `.failure(CancellationError())`. Afterwards nothing happens.
    ///
    /// - Threading: Any thread; handlers may run on it.
    public final func cancel() {
        take(.cancel)
    }

    /// Starts the task without a queue: on the calling thread when nothing is to be waited for, else on
    /// ``TaskQueue/global(qos:)``. A task that was started or added before goes on as it is.
    ///
    /// A started task is cancelled when nobody holds it any more; a queue keeps its tasks.
    public final func start() {
        let standing = standing
        guard standing.phase == .initialized else { return }
        guard standing.hasDependencies || standing.isConditional else {
            take(.start)
            return
        }
        enqueue(on: .global(), byHand: true, mayRepeat: true)
    }

    // MARK: - Queues

    /// The queue that the task is on, or `.global()`.
    final var home: TaskQueue { lazyHome.load() ?? .global() }

    /// The task is brought to a queue, by a dependent of it or by ``start()``: only if it is on none yet.
    final func join(_ queue: TaskQueue) {
        guard standing.phase == .initialized, lazyHome.load() == nil else { return }
        enqueue(on: queue, byHand: false, mayRepeat: true)
    }

    /// Adds the task to a queue.
    final func enqueue(on queue: TaskQueue, byHand: Bool, mayRepeat: Bool) {
        if standing.isConditional { prepareConditions() }
        let stored = lazyHome.storeIfNil(queue)
        guard stored === queue || standing.phase == .initialized || !byHand else {
            // A dependent was faster, and has chosen the queue.
            markAdded(mayRepeat: mayRepeat)
            return
        }
        let tasks = QueueTasks.of(stored)
        if tasks.register(self) { tasks.tellAdded(self, to: stored) }
        let step = step(.add(byHand: byHand))
        // A publisher who has not found the queue is found here; one who comes later finds it.
        if step.actions.isEmpty ? standingInFull.phase == .finished : step.state.phase == .finished {
            tasks.unregister(self)
        }
        if step.actions.isEmpty, byHand { markAdded(mayRepeat: mayRepeat) }
        perform(step.actions)
    }

    private func markAdded(mayRepeat: Bool) {
        if !step(.add(byHand: true)).actions.isEmpty || mayRepeat { return }
        trap("TaskQueue.add(task:) of \(title), which was added or started before: make a new task")
    }

    /// The queue's bookkeeping, where the task is on one.
    final var queueTasks: (QueueTasks, TaskQueue)? {
        guard let home = lazyHome.load() else { return nil }
        return (QueueTasks.of(home), home)
    }

    private func submit() {
        let entry = Unmanaged.passRetained(self).toOpaque()
        home.submit(task: entry, qos: lazyExtras.load()?.qos, run: runSubmittedTask)
    }

    /// A worker has the task in hand.
    final func begin() {
        if step(.begin).actions.contains(.enter) { execute() }
    }

    // MARK: - Extras

    /// What is rarely needed, if it ever was.
    final var extras: TaskExtras? { lazyExtras.load() }

    final func makeExtras() -> TaskExtras {
        lazyExtras.load() ?? lazyExtras.storeIfNil(newExtras())
    }

    // MARK: - What Task does

    /// Runs the body; this thread has been given it.
    func execute() {}
    /// Publishes a failure; this thread has settled the outcome.
    func publish(failure: any Error) {}
    /// Finishes the task with an error, if it is not finished.
    func fail(_ error: any Error) {}
    /// The error of a task that failed or was cancelled.
    var failure: (any Error)? { nil }
    func tellCancelled() {}
    func evaluateConditions() {}
    func prepareConditions() {}
    func scheduleNextAttempt() {}
    func dropBody() {}
    func completionGroup() -> WaitGroup { WaitGroup() }
    func newExtras() -> TaskExtras { TaskExtras() }
    func tellDelegate(_ event: QueueTasks.DelegateEvent, _ delegate: any TaskQueueDelegate, _ queue: TaskQueue) {}
}

/// The engine's door: a worker has a submitted task in hand.
private func runSubmittedTask(_ task: UnsafeMutableRawPointer) {
    Unmanaged<AnyTask>.fromOpaque(task).takeRetainedValue().begin()
}

@_cdecl("od_task_run")
func odTaskRun(_ task: UnsafeMutableRawPointer) {
    runSubmittedTask(task)
}

/// The engine's other door: a submitted task will not run, because its queue or scheduler was cancelled.
@_cdecl("od_task_discard")
func odTaskDiscard(_ task: UnsafeMutableRawPointer) {
    discardSubmittedTask(task)
}

private func discardSubmittedTask(_ task: UnsafeMutableRawPointer) {
    Unmanaged<AnyTask>.fromOpaque(task).takeRetainedValue().cancel()
}

extension AnyTask: CurrentWork {
    package final var isRequested: Bool { isCancelled }
}
