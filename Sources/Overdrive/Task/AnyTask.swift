internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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
    private let lazyQueue = LazyReference<TaskQueue>()

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

    // MARK: - Queues

    /// The queue that the task is on, or `.global()`.
    final var assignedQueue: TaskQueue { chosenQueue ?? lazyQueue.load() ?? .global() }

    /// Where the program added the task, in place of the queue to which a dependent had brought it.
    private var chosenQueue: TaskQueue? {
        // Acquires the field, which is not changed any more.
        let isMoved = lazyExtras.withReference { $0.isMoved.load(ordering: .acquiring) } ?? false
        return isMoved ? extras?.locked { $0.chosenQueue } : nil
    }

    /// The program adds the task to a queue, and a dependent has brought it to another one, or is about to: unless it has
    /// begun, it runs where the program says. Both queues keep it until it is over.
    private func move(to queue: TaskQueue, from stored: TaskQueue, mayRepeat: Bool) {
        guard standing.phase < .executing else { return markAdded(mayRepeat: mayRepeat) }
        let extras = makeExtras()
        extras.locked { $0.chosenQueue = $0.chosenQueue ?? queue }
        // Before the task can become ready by this thread's step: whoever submits it then does so here.
        extras.isMoved.store(true, ordering: .sequentiallyConsistent)
        QueueTasks.with(queue) { $0.keepMoved(self, in: queue) }
        let taken = join(stored, .add(byProgram: true))
        if taken.actions.isEmpty { markAdded(mayRepeat: mayRepeat) }
        perform(taken.actions, byProducer: true)
        let phase = standingInFull.phase
        // It may have been cancelled meanwhile.
        if phase == .finished { leaveChosenQueue() }
        // The place that it has in the other queue is given up: whoever comes to it finds that the task has moved. One that
        // becomes ready later is submitted here by whoever makes it so.
        if phase == .ready, taken.actions == .accept { submit(byProducer: true) }
    }

    /// The task is over: the queue to which it moved keeps it no longer.
    private func leaveChosenQueue() {
        guard let queue = chosenQueue else { return }
        endProgress()
        if let place = extras?.locked({ $0.chosenPlace.take() }) {
            QueueTasks.with(queue) { $0.leaveMoved(self, at: place) }
        }
    }

    /// Whether the task runs on another queue than that to whose tasks it first came.
    final func hasMoved(from tasks: QueueTasks) -> Bool {
        guard let chosenQueue else { return false }
        return QueueTasks.of(chosenQueue) !== tasks
    }

    /// Whether a queue has been chosen.
    final var isOnQueue: Bool { lazyQueue.isSet }

    /// Whether only who holds the task can finish it: it was started without a queue, its body has returned, and nobody
    /// has said that he will speak for it. So those that wait for it do not keep it.
    final func isForgettable(in standing: TaskState) -> Bool {
        standing.phase == .executing && !standing.isInBody && !standing.isSettled && !isOnQueue
            && extras?.locked { $0.isSpokenFor } != true
    }

    /// Brings a dependency to the task's queue, unless it is on one or was started.
    final func bring(_ dependency: AnyTask) {
        let brought: Void? = lazyQueue.withReference { dependency.join($0) }
        if brought == nil { dependency.join(.global()) }
    }

    /// The task is brought to a queue: only if it is on none yet.
    final func join(_ queue: TaskQueue) {
        guard standing.phase == .initialized, !lazyQueue.isSet else { return }
        enqueue(on: queue, byProgram: false, mayRepeat: true)
    }

    /// Adds the task to a queue.
    final func enqueue(on queue: TaskQueue, byProgram: Bool, mayRepeat: Bool) {
        // One that was cancelled before is over: the queue, and its delegate, have nothing to do with it.
        if standing.phase == .finished, !lazyQueue.isSet {
            if byProgram { markAdded(mayRepeat: mayRepeat) }
            return
        }
        if standing.isConditional { carryOut(.prepareConditions) }
        queue.withTaskSide { queue in
            // The task has it for as long as it is there itself.
            unsafe lazyQueue.storeIfNil(queue)._withUnsafeGuaranteedRef { stored in
                enqueue(on: queue, storedAs: stored, byProgram: byProgram, mayRepeat: mayRepeat)
            }
        }
    }

    private func enqueue(on queue: TaskQueue, storedAs stored: TaskQueue, byProgram: Bool, mayRepeat: Bool) {
        // A dependent was faster, and brings it elsewhere. One that is started without a queue goes where it is brought.
        if stored !== queue, byProgram, !mayRepeat {
            if standing.isAdded { return markAdded(mayRepeat: mayRepeat) }
            return move(to: queue, from: stored, mayRepeat: mayRepeat)
        }
        let taken = join(stored, .add(byProgram: byProgram))
        if taken.actions.isEmpty, byProgram { markAdded(mayRepeat: mayRepeat) }
        perform(taken.actions, byProducer: byProgram)
    }

    /// Has a queue keep the task, and takes the event into account.
    private func join(_ queue: TaskQueue, _ event: TaskState.Event) -> TaskState.Step {
        QueueTasks.with(queue) { tasks in
            tasks.register(self, in: queue)
            let taken = step(event)
            // A publisher who has not found the queue is found here; one who comes later finds it.
            if taken.actions.isEmpty ? standingInFull.phase == .finished : taken.state.phase == .finished {
                tasks.unregister(self, from: queue)
            }
            return taken
        }
    }

    private func markAdded(mayRepeat: Bool) {
        if !step(.add(byProgram: true)).actions.isEmpty || mayRepeat { return }
        trap("TaskQueue.add(task:): the task was added or started before (\(title)). Make a new task.")
    }

    /// The queue's bookkeeping, where the task is on one.
    final var queueTasks: (QueueTasks, TaskQueue)? {
        guard let queue = lazyQueue.load() else { return nil }
        return (QueueTasks.of(queue), queue)
    }

    private func submit(byProducer: Bool) {
        let entry = unsafe Unmanaged.passRetained(self).toOpaque()
        let qos = qos
        if let chosenQueue {
            // The mark tells the place in this queue from one that the task has given up.
            let marked = unsafe entry + 1
            return unsafe chosenQueue.submit(task: marked, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
        let submitted: Void? = lazyQueue.withReference {
            unsafe $0.submit(task: entry, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
        if submitted == nil {
            unsafe TaskQueue.global().submit(task: entry, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
    }

    /// A worker is about to run the task.
    final func begin(isMarked: Bool) {
        if !isMarked, chosenQueue != nil { return }  // a place that it has given up
        if step(.begin).actions.contains(.enter) { enter() }
    }

    /// The queue of a place of the task's was cancelled.
    final func discard(isMarked: Bool) {
        if !isMarked, chosenQueue != nil { return }  // a place that it has given up
        take(.discard)
    }

    /// Runs the body; this thread has been given it.
    private func enter() {
        var work = CurrentWorkReference(self)  // the caller has the task
        unsafe withUnsafeMutablePointer(to: &work) { work in
            let outer = unsafe CurrentWorkPlace.enter(work)
            if lazyExtras.isSet {
                ifHad(.time) { $0.noteStart() }
                tellObservers(of: .start)
            }
            carryOut(.runBody)
            unsafe CurrentWorkPlace.leave(to: outer)
        }
    }

    // MARK: - The end

    /// What became of an outcome that was handed in.
    @usableFromInline
    enum Reception {
        /// Another one was first.
        case refused
        /// It ends the attempt, and there is nothing to do about it.
        case accepted
        /// It is the task's outcome, and the caller publishes it.
        case due
        /// It is the task's outcome, and the caller publishes it with ``publishLater(_:publish:)``.
        case dueLater
    }

    /// Takes an outcome into account. Where it is due, observers know that it comes, and the error is in its place.
    @usableFromInline
    final func settle(failure: (any Error)?, returning: Bool) -> Reception {
        let actions =
            if let failure, let extras {
                stepAfterFailure(failure, extras, returning: returning)
            } else {
                step(.finish(returning: returning)).actions
            }
        if actions.contains(.publish) {
            if endsLater { return .dueLater }
            preparePublishing(of: failure)
            return .due
        }
        perform(actions)
        return actions.contains(.accept) ? .accepted : .refused
    }

    private func stepAfterFailure(_ failure: any Error, _ extras: TaskExtras, returning: Bool) -> TaskState.Actions {
        // The answer is the program's and may take its time: it holds for the attempt that is under way now, if one is.
        let asked = standing
        if asked.isBetweenAttempts, !returning { return [] }
        let event: TaskState.Event =
            extras.mayRetry(after: failure)
            ? .fail(attempt: asked.attempt, returning: returning) : .finish(returning: returning)
        return step(event).actions
    }

    /// Whether the thread is deep inside handlers, and the task has observers or a delegate, which come before its result.
    private var endsLater: Bool { lazyExtras.isSet && Bounce.isDeep && (had(.observers) || delegate != nil) }

    /// Publishes the outcome when the innermost handler on this thread has returned. Until then, a wait on this thread traps.
    @usableFromInline
    @inline(never)
    final func publishLater(_ failure: (any Error)?, publish: @escaping () -> Void) {
        let extras = makeExtras()
        let before = extras.locked { fields in
            defer { fields.teller = thisThread }
            return fields.teller
        }
        Bounce.run {
            extras.locked { $0.teller = before }
            self.preparePublishing(of: failure)
            publish()
        }
    }

    /// Before the outcome is written; this thread has settled it.
    final func preparePublishing(of failure: (any Error)?) {
        if lazyExtras.isSet {
            ifHad(.time) { $0.noteEnd() }
            endProgress(with: failure)  // whoever sees the outcome finds it counted
            tellObservers(of: .willFinish)
        }
        lazyQueue.withReference { queue in QueueTasks.with(queue) { $0.announceEnd(of: self, in: queue) } }
        if let failure { unsafe publishedError = failure }
    }

    /// The outcome is written: it can be read from now on. Returns whether the handler in the slot is to be served.
    @usableFromInline
    final func publishOutcome() -> Bool {
        let actions = step(.publish).actions
        if actions.contains(.dropBody) { carryOut(.dropBody) }
        if let extras { end(extras) }
        return actions.contains(.serveSlot)
    }

    /// The handler in the slot, where there was one, was served.
    @usableFromInline
    final func endPublishing() {
        if !standing.isClosed, step(.close(locked: false)).actions.isEmpty { carryOut(.serveHandlers) }
        tellObservers(of: .didFinish)
        lazyQueue.withReference { queue in
            QueueTasks.with(queue) { $0.unregister(self, from: queue) }
        }
        if lazyExtras.isSet { leaveChosenQueue() }
        let standing = standing
        if standing.hasDependents { releaseDependents() }
        if standing.hasDependencies { dropDependencies() }
    }

    /// Publishes a failure; this thread has settled the outcome.
    private func publish(failure: any Error) {
        if endsLater { return publishLater(failure) { self.pass(on: .failure(failure)) } }
        preparePublishing(of: failure)
        pass(on: .failure(failure))
    }

    /// Finishes the task with an error, if it is not finished.
    final func fail(_ error: any Error) {
        switch settle(failure: error, returning: false) {
        case .due: pass(on: .failure(error))
        case .dueLater: publishLater(error) { self.pass(on: .failure(error)) }
        case .refused, .accepted: break
        }
    }

    private func end(_ extras: TaskExtras) {
        endAttempt(standing.attempt)
        if unsafe publishedError?.isCancellation == true { tellCancelled() }
        let unused = extras.locked { fields in
            defer { fields.cancelHandlers = [] }
            return fields.cancelHandlers
        }
        withExtendedLifetime(unused) {}  // given up without the lock
        extras.lazyTyped.load()?.endUpdates()
    }

    /// The error of a task that failed or was cancelled.
    final var failure: (any Error)? { unsafe isFinished ? publishedError : nil }

    /// Who was told that the task is added.
    final var delegate: (any TaskQueueDelegate)? {
        ifHad(.delegate) { $0.delegate }
    }

    final func tellDelegate(_ event: QueueTasks.DelegateEvent) {
        guard let delegate else { return }
        lazyQueue.withReference { tell(delegate, of: event, in: $0) }
    }

    final func tell(_ delegate: any TaskQueueDelegate, of event: QueueTasks.DelegateEvent, in queue: TaskQueue) {
        // The program's own object, for as long as that is there.
        let named = ifHad(.delegate) { $0.delegateQueue } ?? queue
        whileTelling { pass(on: .delegate(delegate, event, named)) }
    }

    @inline(__always)
    final func tellObservers(of event: ObserverEvent) {
        if had(.observers) { tellWhoObserves(of: event) }
    }

    private func tellWhoObserves(of event: ObserverEvent) {
        let observers = observers
        guard !observers.isEmpty else { return }
        whileTelling { pass(on: .observers(observers, event)) }
    }

    /// Calls the program's code, for whose return the task's end waits.
    final func whileTelling(_ body: () -> Void) {
        let extras = makeExtras()
        let before = extras.locked { fields in
            defer { fields.teller = thisThread }
            return fields.teller
        }
        Bounce.outside(body)
        extras.locked { $0.teller = before }
    }

    /// Whether the calling thread is in the program's code that the task calls before its end.
    final var isToldHere: Bool { extras?.locked { $0.teller == thisThread } ?? false }

    private var thisThread: UInt { UInt(bitPattern: pthread_self().hashValue) }

    final func tellCancelled() {
        // An asynchronous body that is about to leave word how it is cancelled looks there whether it was.
        guard let extras = standing.phase == .executing ? makeExtras() : extras else { return }
        let handlers = extras.locked { fields in
            fields.cancelIsTold = true
            defer { fields.cancelHandlers = [] }
            return (fields.cancelBody.take().map { [$0] } ?? []) + fields.cancelHandlers
        }
        guard !handlers.isEmpty else { return }
        whileTelling { for handler in handlers { handler() } }
    }

    /// Calls `body` when the task is over.
    final func whenOver(_ body: @escaping @Sendable () -> Void) { pass(on: .whenOver(body)) }

    /// What blocked threads wait for.
    final func completionGroup() -> WaitGroup {
        // One for all who wait: who waits for a while, again and again, adds nothing to the task.
        let (group, isNew) = makeExtras().locked { fields in
            if let group = fields.completion { return (group, false) }
            let group = WaitGroup()
            group.enter()
            fields.completion = group
            return (group, true)
        }
        if isNew { whenOver { group.leave() } }
        return group
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

/// The engine's door: a worker is about to run a submitted task.
private func runSubmittedTask(_ entry: UnsafeMutableRawPointer) {
    let (task, isMarked) = unsafe submittedTask(entry)
    task.begin(isMarked: isMarked)
}

/// The task of an entry, and whether the entry is in the queue to which the task moved.
private func submittedTask(_ entry: UnsafeMutableRawPointer) -> (AnyTask, Bool) {
    let mark = Int(bitPattern: entry) & 1
    return unsafe (Unmanaged<AnyTask>.fromOpaque(entry - mark).takeRetainedValue(), mark == 1)
}

@_cdecl("od_task_run")
func odTaskRun(_ task: UnsafeMutableRawPointer) {
    unsafe runSubmittedTask(task)
}

/// The engine's other door: a submitted task will not run, because its queue or scheduler was cancelled.
@_cdecl("od_task_discard")
func odTaskDiscard(_ task: UnsafeMutableRawPointer) {
    unsafe discardSubmittedTask(task)
}

private func discardSubmittedTask(_ entry: UnsafeMutableRawPointer) {
    let (task, isMarked) = unsafe submittedTask(entry)
    task.discard(isMarked: isMarked)
}

extension AnyTask: CurrentWork {
    package final var isRequested: Bool { isCancelled }
}
