internal import OverdriveCore
internal import Synchronization

/// A task, whatever its result: the part of ``Task`` that queues, groups and dependents know.
///
///     let preparations: [AnyTask] = [download, login]
///     for each in preparations { launch.add(dependency: each) }
///
/// - Threading: Safe from any thread, every part of it.
@safe open class AnyTask: @unchecked Sendable {
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
    let lazyExtras = LazyReference<TaskExtras>()

    /// The queue, from the first add on, as the object that ``TaskQueue/withTaskSide(_:)`` gives.
    let lazyQueue = LazyReference<TaskQueue>()

    /// Edges to those that wait for this task, newest first; ``AnyTask/closedList`` when it is over.
    let dependents = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// Edges to those that this task waits for, newest first.
    let edges = Locked(EdgeList())

    /// Above the levels of the tasks for which this one waits; see ``circleClosed(by:)``.
    let level = Atomic(0)

    /// Where the queue's ``QueueTasks`` keep the task.
    let place = Atomic<UInt64>(0)

    /// The error of a task that failed or was cancelled: written by the publisher before the word says finished, read
    /// by others after.
    @usableFromInline @exclusivity(unchecked) final var publishedError: (any Error)?

    /// Only ``Task`` is a subclass.
    init() {}

    deinit {
        let standing = standing
        if standing.hasDependencies, standing.phase != .finished { dropUnstartedDependencies() }
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
    final func take(_ event: TaskState.Event, byProducer: Bool = false) -> Bool {
        let actions = step(event).actions
        if !actions.isSubset(of: .accept) { perform(actions, byProducer: byProducer) }
        return actions.contains(.accept)
    }

    /// - Parameter byProducer: Whether the program adds the task now, and may be held back by a queue that is full.
    ///   Nobody else is: a task that is over would release no more dependents.
    final func perform(_ actions: TaskState.Actions, byProducer: Bool = false) {
        if actions.contains(.submit) { submit(byProducer: byProducer) }
        if actions.contains(.link) { linkDependencies(byProducer: byProducer) }
        if actions.contains(.evaluate) { carryOut(.evaluateConditions) }
        if actions.contains(.enter) { enter() }
        if actions.contains(.tellCancelled) { tellCancelled() }
        if actions.contains(.publishCancelled) { publish(failure: CancellationError()) }
        if actions.contains(.retry) { beginNextAttempt() }
        if actions.contains(.dropBody) { carryOut(.dropBody) }
    }

    /// How far the task is.
    public final var state: State { standing.phase }

    /// Whether it was asked to stop before its outcome was decided.
    public final var isCancelled: Bool { standing.isCancelled }

    /// Whether it has its outcome.
    public final var isFinished: Bool { state == .finished }

    /// The outcome without its value; nil until the task has finished.
    ///
    ///     for task in preparations where task.outcome?.error != nil { print(task, "failed") }
    ///
    /// Use it to report on tasks of several types. `Task.result` has the value too.
    ///
    /// - Ordering: The writes of the task's body are visible if there is an outcome.
    /// - Threading: Any thread.
    /// - Cost: One load.
    public final var outcome: Result<Void, any Error>? {
        guard isFinished else { return nil }
        if let publishedError = unsafe publishedError { return .failure(publishedError) }
        return .success(())
    }

    /// Whether its body runs, or somebody is to call `finish(with:)`.
    public final var isExecuting: Bool { state == .executing }

    /// Whether it waits for nothing but its turn.
    public final var isReady: Bool { state == .ready }

    /// Asks the task to stop.
    ///
    /// Before the body has begun it never will, and the task finishes at once. While it runs, `isCancelled` and
    /// `Cancellation.isRequested` turn true and `onCancel` handlers are called; the task finishes when the
    /// body does. The outcome is `.failure(CancellationError())`. Afterwards nothing happens.
    ///
    /// - Ordering: A body that starts during the call sees the cancel, or does not start. `onCancel` handlers come
    ///   before the outcome. Inside 64 or more nested handlers and bodies, the call returns before both.
    /// - Threading: Any thread; handlers may run on it.
    /// - Cost: One locked instruction, and the handlers.
    public final func cancel() {
        let actions = step(.cancel).actions
        if actions.contains(.tellCancelled), Bounce.isDeep {
            Bounce.run { self.perform(actions) }
        } else {
            perform(actions)
        }
    }

    /// Starts the task without a queue: on the calling thread if the task waits for nothing, otherwise on
    /// `TaskQueue.global(qos:)`. Tasks that are started more than 64 levels deep inside bodies and handlers run there
    /// too. A task that was started or added before is not affected.
    ///
    /// A started task is cancelled when its last reference is released; a queue keeps its tasks. Dependents hold the
    /// task while its body runs, or while a body keeps its emitter.
    ///
    /// - Ordering: Its body, outcome and handlers are over when this returns, where nothing is waited for and the body
    ///   ends the task.
    /// - Threading: Any thread, on which the body may run.
    /// - Cost: One locked instruction beside the body; else a submission.
    public final func start() {
        let standing = standing
        guard standing.phase == .initialized else { return }
        guard standing.hasDependencies || standing.isConditional || Bounce.isDeep else {
            take(.start)
            return
        }
        enqueue(on: .global(), byProgram: true, mayRepeat: true)
    }

    // MARK: - Extras

    /// What is rarely needed, if it ever was.
    final var extras: TaskExtras? { lazyExtras.load() }

    /// Whether there may be something of the kind: without a count of references, for nearly always there is not.
    @inline(__always)
    final func had(_ kind: TaskExtras.Kinds) -> Bool { lazyExtras.withReference { $0.had(kind) } ?? false }

    /// What is of the kind, if there ever was such.
    @inline(__always) @discardableResult
    final func ifHad<R>(_ kind: TaskExtras.Kinds, _ body: (inout TaskExtras.Fields) -> R?) -> R? {
        lazyExtras.withReference { $0.had(kind) ? $0.locked(body) : nil } ?? nil
    }

    /// Changes what is of the kind. A later event of the task, whoever brings it, finds it changed; and who changes it, and sees
    /// no such event then, can rely on that: both have exchanged the word.
    final func change<R>(_ kind: TaskExtras.Kinds, _ body: (inout TaskExtras.Fields) -> R) -> R {
        let changed = makeExtras().change(kind, body)
        _ = standingInFull
        return changed
    }

    final func makeExtras() -> TaskExtras {
        unsafe lazyExtras.load() ?? lazyExtras.storeIfNil(TaskExtras()).takeUnretainedValue()
    }

    // MARK: - What Task does

    enum ObserverEvent { case start, willFinish, didFinish, didRetry }

    /// What only ``Task`` can do, which knows the type of the result.
    enum TypedAction {
        case runBody
        case dropBody
        /// Serve the handlers in the side storage.
        case serveHandlers
        case prepareConditions
        case evaluateConditions
    }

    /// Does it. ``Task`` does all of them: its switch has no default.
    func carryOut(_ action: TypedAction) { trap("AnyTask: only Task may be a subclass") }

    /// The same of what needs to be handed over, and is rarer: each task has an action or two, as a number in a register.
    enum TypedNotice {
        /// Publish an error. This thread has settled the outcome, and prepared the publishing.
        case failure(any Error)
        /// Calls this when the task has finished.
        case whenOver(@Sendable () -> Void)
        case observers([any TaskObserver], ObserverEvent)
        case delegate(any TaskQueueDelegate, QueueTasks.DelegateEvent, TaskQueue)
    }

    /// Tells it to whom it is for.
    func pass(on notice: TypedNotice) { trap("AnyTask: only Task may be a subclass") }

    /// The task in one line: its type, its number, its name, and how far it is; how long it has taken where it ``isTimed``.
    ///
    ///     print(task)     // GetLogoTask #7 "logo" (executing for 1.20 s)
    ///     print(task)     // GetLogoTask #7 "logo" (failed after 3.41 s: timeout)
    open var description: String { summary }
}

extension AnyTask: CurrentWork {
    package final var isRequested: Bool { isCancelled }
}
