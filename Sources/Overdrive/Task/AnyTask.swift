// Owns the part of a task that does not depend on its result type: the state word, queues, the order of its end.
// Queues, groups and dependents call it. It never touches the value.

internal import OverdriveCore
internal import Synchronization

/// A task of any result type: the part of ``Task`` that queues, groups and dependents use.
///
///     let preparations: [AnyTask] = [download, login]
///     for each in preparations { launch.add(dependency: each) }
///
/// - Threading: Safe from any thread.
@safe open class AnyTask: @unchecked Sendable {
    // All threads share these fields. The state word says which thread may access a field: a successful exchange
    // gives the thread the fields that its actions name; see TaskState.

    /// The progress of a task.
    public enum State: Int, Sendable, Comparable {
        /// The task was neither added nor started.
        case initialized
        /// The task is on a queue and waits for dependencies, for conditions, or for its next attempt.
        case pending
        /// The task waits for its turn in the queue.
        case ready
        /// The body runs, or has returned before a call of `finish(with:)`.
        case executing
        /// The task has its outcome.
        case finished

        public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
    }

    let word = Atomic<UInt64>(0)

    /// Optional storage, which few tasks need; see ``TaskExtras``.
    let lazyExtras = LazyReference<TaskExtras>()

    /// The queue, set by the first add. It is the object that ``TaskQueue/withTaskSide(_:)`` passes.
    let lazyQueue = LazyReference<TaskQueue>()

    /// The edges to the dependents, newest first; ``AnyTask/closedList`` once the task has finished.
    let dependents = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// The edges to the dependencies, newest first.
    let edges = Locked(EdgeList())

    /// The record of the first edge. The address is that of the field, because the record has atomics.
    @exclusivity(unchecked) final var firstEdge = Edge.Record()

    /// A number above the levels of all dependencies; see ``circleClosed(by:)``.
    let level = Atomic(0)

    /// The index of the task in the queue's ``QueueTasks``, with flags.
    let place = Atomic<UInt64>(0)

    /// Whether the body was entered as a job of its queue, not by ``start()``. It belongs to the thread inside the body.
    @exclusivity(unchecked) final var isJob = false

    /// The error of a failed or cancelled task. The publisher writes it before the word says finished; other threads
    /// read it afterwards.
    @usableFromInline @exclusivity(unchecked) final var publishedError: (any Error)?

    /// Only ``Task`` is a subclass.
    init() {}

    deinit {
        let standing = standing
        if standing.hasDependencies, standing.phase != .finished { dropUnstartedDependencies() }
    }

    // MARK: - The state

    /// The current state.
    var standing: TaskState {
        // Acquires data published with the state, such as the result.
        TaskState(word: word.load(ordering: .acquiring))
    }

    /// The current state, read in the total order of all state changes. The thread of a later event sees this
    /// thread's earlier writes.
    final var standingInFull: TaskState {
        TaskState(word: word.add(0, ordering: .sequentiallyConsistent).newValue)
    }

    /// Applies an event. The thread whose exchange succeeded must carry out the actions.
    @inline(__always)
    final func step(_ event: TaskState.Event) -> TaskState.Step {
        var current = word.load(ordering: .acquiring)
        while true {
            let step = TaskState(word: current).after(event)
            if step.state.word == current { return step }
            // Releases the writes before the event, and acquires the writes before the current state.
            let (exchanged, found) = word.weakCompareExchange(
                expected: current, desired: step.state.word, successOrdering: .acquiringAndReleasing,
                failureOrdering: .acquiring)
            if exchanged { return step }
            current = found
        }
    }

    /// Applies an event and carries out its actions, except publishing an outcome that came with the event.
    @discardableResult
    final func take(_ event: TaskState.Event, byProducer: Bool = false) -> Bool {
        let actions = step(event).actions
        if actions == [.accept, .submit] {
            submit(byProducer: byProducer)  // the common case
        } else if !actions.isSubset(of: .accept) {
            perform(actions, byProducer: byProducer)
        }
        return actions.contains(.accept)
    }

    /// - Parameter byProducer: Whether the program is adding the task, so that a full queue may block the caller.
    ///   Other threads must not block: a finished task would not release its remaining dependents.
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

    /// The progress of the task.
    public final var state: State { standing.phase }

    /// Whether the task was asked to stop before its outcome was decided.
    public final var isCancelled: Bool { standing.isCancelled }

    /// Whether the task has its outcome.
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

    /// Whether the body runs, or has returned before a call of `finish(with:)`.
    public final var isExecuting: Bool { state == .executing }

    /// Whether the task waits only for its turn in the queue.
    public final var isReady: Bool { state == .ready }

    /// Asks the task to stop.
    ///
    /// If the body has not begun, it never begins and the task finishes at once. If the body runs, `isCancelled` and
    /// `Cancellation.isRequested` become true and `onCancel` handlers are called. The task then finishes with the
    /// body. The outcome is `.failure(CancellationError())`. A finished task is not affected.
    ///
    /// - Ordering: A body that starts during the call sees the cancel, or does not start. `onCancel` handlers come
    ///   before the outcome. Inside 64 or more nested handlers and bodies, the call returns before both.
    /// - Threading: Any thread. Handlers may run on the calling thread.
    /// - Cost: One atomic instruction, and the handlers.
    public final func cancel() {
        let actions = step(.cancel).actions
        if actions.contains(.tellCancelled), Bounce.isDeep {
            Bounce.run { self.perform(actions) }
        } else {
            perform(actions)
        }
    }

    /// Starts the task without a queue.
    ///
    /// The body runs on the calling thread if the task has no dependencies and conditions, otherwise on
    /// `TaskQueue.global(qos:)`. Tasks started more than 64 levels deep in bodies and handlers run there too. A call
    /// for a task that was started or added has no effect.
    ///
    /// A started task is cancelled when its last reference is released; a queue retains its tasks. Dependents retain
    /// the task while its body runs, or while a body stores its emitter.
    ///
    /// - Ordering: If the body runs here and ends the task, the body, outcome and handlers have finished when this
    ///   call returns.
    /// - Threading: Any thread. The body may run on the calling thread.
    /// - Cost: One atomic instruction besides the body, or a submission.
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

    /// The optional storage, if it exists.
    final var extras: TaskExtras? { lazyExtras.load() }

    /// Whether the task may have a property of the kind. The check does not retain the optional storage, because most
    /// tasks have no such property and must pay little for it.
    @inline(__always)
    final func had(_ kind: TaskExtras.Kinds) -> Bool { lazyExtras.withReference { $0.had(kind) } ?? false }

    /// Calls `body` if the task may have a property of the kind.
    @inline(__always) @discardableResult
    final func ifHad<R>(_ kind: TaskExtras.Kinds, _ body: (inout TaskExtras.Fields) -> R?) -> R? {
        lazyExtras.withReference { $0.had(kind) ? $0.locked(body) : nil } ?? nil
    }

    /// Changes a property of the kind. Both this call and each event exchange the state word. A later event therefore
    /// sees the change, or this thread sees the event.
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

    /// The actions that need the type of the result. ``Task`` implements them.
    enum TypedAction {
        case runBody
        case dropBody
        /// Call the handlers in the optional storage.
        case serveHandlers
        case prepareConditions
        case evaluateConditions
    }

    /// Carries out an action. ``Task`` overrides it, and its switch has no default.
    func carryOut(_ action: TypedAction) { trap("AnyTask: only Task may be a subclass") }

    /// Rarer actions, which need an argument. `TypedAction` has none, because it is then passed in a register.
    enum TypedNotice {
        /// Publish an error. This thread has decided the outcome and prepared its publication.
        case failure(any Error)
        /// Call the closure when the task has finished.
        case whenOver(@Sendable () -> Void)
        case observers([any TaskObserver], ObserverEvent)
        case delegate(any TaskQueueDelegate, QueueTasks.DelegateEvent, TaskQueue)
    }

    /// Carries out an action with an argument. ``Task`` overrides it.
    func pass(on notice: TypedNotice) { trap("AnyTask: only Task may be a subclass") }

    /// The task in one line: its type, number, name and progress, and its duration if ``isTimed`` is true.
    ///
    ///     print(task)     // GetLogoTask #7 "logo" (executing for 1.20 s)
    ///     print(task)     // GetLogoTask #7 "logo" (failed after 3.41 s: timeout)
    open var description: String { summary }
}

extension AnyTask: CurrentWork {
    package final var isRequested: Bool { isCancelled }
}
