internal import OverdriveCore
internal import Synchronization

/// Runs a unit of work with a result, which can be awaited, chained, retried and cancelled.
///
///     let queue = TaskQueue()
///     queue.add { try Data(contentsOf: logo) }
///         .onValue { data in print(data.count, "bytes") }
///         .onError { error in print(error) }
///
/// A task has any number of updates and then exactly one outcome. Cancellation is an outcome too:
/// `.failure(CancellationError())`. Subclass it and override ``run()``, or make one from a closure with
/// ``inline(_:)``, ``async(_:)`` or ``init(_:)``.
///
///     final class GetLogoTask: Task<Image>, @unchecked Sendable {
///         override func run() {
///             finish(with: Result { try Image(data: Data(contentsOf: logo)) })
///         }
///     }
///
/// - Ordering: A task ends in this order: willFinish observers, the result, handlers in order of registration,
///   didFinish observers, dependents. Writes before the task was added are visible to its body. Writes of the body
///   are visible to every reader of the outcome.
/// - Threading: Safe from any thread.
/// - Cost: One allocation, and one for the closure. A task without dependencies and conditions, and with at most one
///   handler, takes only its queue's lock.
open class Task<T: Sendable>: AnyTask, @unchecked Sendable {
    // Exclusive access follows from the state word, as AnyTask states. `body` belongs to the thread inside it, and
    // then to the thread with the action dropBody. `slot` belongs to the thread that claimed it, and then to the
    // publisher. The publisher writes `value` before the word becomes `finished`; other threads read it afterwards.
    //
    // Code that does not know T looks up metadata of types such as `Result<T, any Error>`, which takes longer than
    // the rest of a task. Such code is kept off the common path. The conductor, which handles a closure task's
    // result, is inlinable and comes from code that knows T.

    /// The name of the result type in old code.
    public typealias ResultType = T

    @usableFromInline
    enum Body {
        case run
        case inline(() throws -> T, by: Conductor)
        case progressive(@Sendable (Emitter) -> () -> Void)
        /// A progressive body that only waits for `parts`, tasks of the same queue. It does not count against the
        /// queue's limit.
        case relay(parts: [AnyTask], @Sendable (Emitter) -> () -> Void)
        case async(@Sendable () async throws -> T)
        case none

        /// Moves the body out and leaves `none`, without changing reference counts.
        mutating func take() -> Body {
            let taken = consume self
            self = .none
            return taken
        }

        /// This function is not inlined: otherwise the compiler would retain the task while it releases the old body.
        @usableFromInline
        @inline(never)
        mutating func become(_ other: consuming Body) {
            self = consume other
        }
    }

    /// Runs a body and concludes the task with its result.
    @usableFromInline typealias Conductor = (Task<T>, consuming @escaping () throws -> T) -> Void

    @usableFromInline @exclusivity(unchecked) final var body: Body
    @usableFromInline @exclusivity(unchecked) final var slot: Handler<T>?
    /// The value. It is present after a success.
    @usableFromInline @exclusivity(unchecked) final var publishedValue = ValuePlace()

    /// Creates a task whose body is an override of ``run()``.
    ///
    /// - Ordering: None before the task is added or started.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public override init() {
        unsafe body = .run
        super.init()
    }

    /// Creates a task whose body is an override of ``run()``, with dependencies, observers and conditions. A subclass
    /// inherits this initializer if it declares none or overrides `init()`.
    ///
    ///     let logo = GetLogoTask(dependencies: [login], observers: [Stopwatch()], conditions: [IsOnline()])
    ///
    /// - Parameters:
    ///   - dependencies: The tasks to wait for; see ``AnyTask/add(dependency:requiring:)``.
    ///   - requirement: How the dependencies have to end; see ``AnyTask/DependencyRequirement``.
    ///   - observers: The observers of the task's progress; see ``AnyTask/add(observer:)``.
    ///   - conditions: The conditions that must hold before the body runs; see ``AnyTask/add(condition:)``.
    /// - Ordering: ``run()`` is called after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: The task, an allocation for observers and conditions, and one for each dependency
    ///   after the first.
    public convenience init(
        dependencies: [AnyTask] = [], requiring requirement: DependencyRequirement = .finish,
        observers: [any TaskObserver] = [], conditions: [any TaskCondition] = []
    ) {
        self.init()
        add(dependencies: dependencies, requiring: requirement, observers: observers, conditions: conditions)
    }

    // This is a convenience initializer: a subclass that overrides init(), the only designated one, inherits all
    // others.
    @usableFromInline
    convenience init(body: consuming Body) {
        self.init()
        unsafe self.body.become(consume body)
    }

    /// Sets the body to a closure, which the task releases at its end. Initializers of subclasses call it.
    final func call(_ block: @escaping () throws -> T) {
        unsafe body = .inline(block) { task, body in task.conduct(consume body) }
    }

    deinit {
        let phase = standing.phase
        if phase == .executing { endForgotten() }
        if phase == .finished {
            if unsafe publishedError == nil { unsafe publishedValue.empty(of: T.self) }
        } else if case .relay = unsafe body {
            let end = BouncedBody<T>()
            unsafe swap(&end.body, &body)  // The end now has the only reference to the body.
            Bounce.run(end)
        }
    }

    // MARK: - The body

    /// Runs the task's work. Override it, and call ``finish(with:)`` in the override or later.
    ///
    /// - Ordering: Called once for each attempt, after the dependencies and the conditions. Their writes are visible.
    /// - Threading: A worker of the task's queue, or the thread that calls `start()`.
    /// - Cost: One indirect call.
    open func run() {
        trap("Task.run(): not overridden (\(title)). Override it without calling super, or make the task from a closure.")
    }

    /// Ends the current attempt with a result. Only the first call counts.
    ///
    /// - Parameter result: `.value(x)` or `.error(e)`, as well as `.success(x)` or `.failure(e)`. A failure begins
    ///   the next attempt if ``retry(_:)-(Int)`` allows it. A cancelled task's result is discarded.
    /// - Returns: Whether this call ended the attempt.
    /// - Ordering: First willFinish observers, then the result, handlers in order of registration, didFinish
    ///   observers, dependents.
    /// - Threading: Any thread. Handlers run on the calling thread.
    /// - Cost: Two atomic instructions, and the handlers.
    @inlinable
    @discardableResult
    public final func finish(with result: Result<T, any Error>) -> Bool {
        conclude(result, returning: false)
    }

    /// Whether work that ``run()`` started elsewhere belongs to the body. The body then ends with a call of
    /// `conclude` with `returning` true.
    var bodyGoesOn: Bool { false }

    @inlinable
    @discardableResult
    final func conclude(_ result: Result<T, any Error>, returning: Bool) -> Bool {
        let reception =
            switch result {
            case .success: settle(failure: nil, returning: returning)
            case .failure(let error): settle(failure: error, returning: returning)
            }
        if reception == .due { publish(result) } else if reception == .dueLater { publishLater(result) }
        return reception != .refused
    }

    /// Runs the closure of a closure task. The conductor owns the closure during the call, so the call does not
    /// retain it. No other thread reads or drops the body while this thread is inside.
    @inlinable
    final func conduct(_ body: consuming @escaping () throws -> T) {
        let result: Result<T, any Error>
        let left = unsafe stepOutOfLine()
        do { result = .success(try body()) } catch { result = .failure(error) }
        unsafe stepIntoLine(left)
        // After a success the closure is seldom needed again, so it does not go back into its place.
        if case .success = result, let reception = settleValue() {
            switch reception {
            case .due: publish(result, dropping: consume body)
            case .dueLater: publishLater(result)
            case .refused, .accepted: break
            }
            return
        }
        unsafe self.body.become(.inline(consume body) { task, body in task.conduct(consume body) })
        conclude(result, returning: true)
    }

    override final func carryOut(_ action: TypedAction) {
        switch action {
        case .runBody: runBody()
        case .dropBody: dropBody()
        case .serveHandlers: serveSide()
        case .prepareConditions: prepareConditions()
        case .evaluateConditions: evaluateConditions()
        }
    }

    override final func pass(on notice: TypedNotice) {
        switch notice {
        case .failure(let error): failed(with: error)
        case .whenOver(let body): onCompletion(body)
        case .observers(let observers, let event): tell(observers, of: event)
        case .delegate(let delegate, let event, let queue): report(event, to: delegate, in: queue)
        }
    }

    /// This is a separate function, because the type of the result is looked up at the entry of the function that
    /// makes one.
    @inline(never) private func failed(with error: any Error) { publish(.failure(error)) }

    private func runBody() {
        switch unsafe body {
        case .run:
            Bounce.outside { run() }
            if !bodyGoesOn, !standing.isSettled { leave() }
        case .inline:
            runInline()
        case .progressive(let start):
            Bounce.outside { begin(start) }
            leave()
        case .relay(_, let start):
            begin(start)
            leave(holdingPlace: false)
        case .async:
            if let body = asyncBody { launch(body) }
        case .none:
            leave()
        }
    }

    /// The body for one attempt. The getter is not inlined, so that no stack frame keeps a reference to the closure
    /// beyond the attempt.
    private var asyncBody: AsyncBody<T>? {
        @inline(never) get { if case .async(let body) = unsafe body { AsyncBody(body) } else { nil } }
    }

    /// Releases the body. No thread is inside the body, and none will enter it.
    private func dropBody() {
        if case .relay(let parts, _) = unsafe body {
            // If the task ends before its start, it cancels its parts, unless others have started them. Otherwise a
            // waiter of a part would wait forever.
            for part in parts where part.state == .initialized { Bounce.run { part.cancel() } }
        }
        unsafe body = .none
        dropWork()
    }

    /// Releases closures that a subclass stores for the body.
    @usableFromInline
    func dropWork() {}

    private func runInline() {
        guard case .inline(let taken, let conductor) = unsafe body.take() else { return }
        conductor(self, taken)
    }

    private func begin(_ start: @Sendable (Emitter) -> () -> Void) {
        let attempt = standing.attempt
        var emitter = Emitter(of: self, attempt: attempt)
        let cleanup = start(emitter)
        keep(cleanup: cleanup, of: attempt)
        if !isKnownUniquelyReferenced(&emitter) {
            makeExtras().locked { $0.isSpokenFor = true }
            emitter.isKept.store(true, ordering: .relaxed)  // relaxed: the reference counts order it
        }
    }

    private func leave(holdingPlace: Bool = true) {
        let standing = standing
        if holdingPlace, !standing.isSettled, !standing.isRetrying { holdPlace(of: standing.attempt) }
        let step = step(.leave)
        // The publisher may have run the cleanups before this one was added. Then this thread runs it after the end.
        if step.state.phase == .finished { endAttempt(step.state.attempt) }
        perform(step.actions)
        if step.state.hasDependents { stopBeingKept() }
    }

    /// Keeps the task counted against the limit of its queue until the end of the attempt. The body is about to
    /// return without an outcome.
    final func holdPlace(of attempt: UInt16) {
        guard isOnQueue else { return }
        let queue = assignedQueue
        guard let places = queue.holdPlaces() else { return }
        keep(cleanup: { queue.releasePlaces(places) }, of: attempt)
    }

    // MARK: - The end

    /// Publishes the outcome. This thread has decided it, and has stored an error in `publishedError`.
    @inlinable
    final func publish(_ result: Result<T, any Error>) {
        if case .success(let value) = result { unsafe publishedValue.fill(with: value) }
        serve(result, inSlot: publishOutcome(dropsBody: true), isLast: false)
    }

    @usableFromInline
    @inline(never)
    final func publishLater(_ result: Result<T, any Error>) {
        let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
        publishLater(failure) { self.publish(result) }
    }

    /// Publishes a value as ``publish(_:)``, with the body that has returned it: it is in no other place.
    @inlinable
    final func publish(_ result: Result<T, any Error>, dropping body: consuming @escaping () throws -> T) {
        if case .success(let value) = result { unsafe publishedValue.fill(with: value) }
        let servesSlot = publishOutcome(dropsBody: false)
        _ = consume body
        dropWork()
        serve(result, inSlot: servesSlot, isLast: true)
    }

    @inlinable @inline(__always)
    final func serve(_ result: Result<T, any Error>, inSlot servesSlot: Bool, isLast: Bool) {
        if handlersAreDeep() { return serveLater(slot: servesSlot) }
        if servesSlot { unsafe slot.take()?.serve(result) }
        endPublishing(isLast: isLast)
    }

    /// Serves the handlers from the thread's line, because too many handlers are nested on the stack. They run after
    /// the innermost of these has returned.
    @usableFromInline
    @inline(never)
    final func serveLater(slot servesSlot: Bool) {
        Bounce.run {
            if servesSlot, let result = self.result { unsafe self.slot.take()?.serve(result) }
            self.endPublishing(isLast: false)
        }
    }

    private func serveSide() {
        guard let result else { return }
        let typed = typedExtras
        while true {
            let handlers = typed.typed { typed in
                if typed.handlers.isEmpty { _ = step(.close(locked: true)) }
                defer { typed.handlers = [] }
                return typed.handlers
            }
            if handlers.isEmpty { return }
            for handler in handlers { handler.serve(result) }
        }
    }

    /// Ends a task that is being deinitialised without an outcome. Its waiters receive a cancellation, although there
    /// is no task object to pass to observers.
    private func endForgotten() {
        guard !step(.cancel).actions.isEmpty else { return }
        tellCancelled()
        endAttempt(standing.attempt)
        let result = Result<T, any Error>.failure(CancellationError())
        unsafe slot.take()?.serve(result)
        for handler in typedExtrasIfAny?.typed({ $0.handlers }) ?? [] { handler.serve(result) }
        if standing.hasDependents { releaseDependents(isLost: true) }
    }

    /// The outcome; nil until it is published.
    @inlinable
    public final var result: Result<T, any Error>? {
        guard isFinished else { return nil }
        if let publishedError = unsafe publishedError { return .failure(publishedError) }
        return unsafe .success(publishedValue.value(of: T.self))
    }

    // MARK: - Handlers

    // Allocated only here.
    final var typedExtras: TypedExtras<T> {
        if let typedExtrasIfAny { return typedExtrasIfAny }
        let stored = unsafe makeExtras().lazyTyped.storeIfNil(TypedExtras<T>()).takeUnretainedValue()
        return unsafe unsafeDowncast(stored, to: TypedExtras<T>.self)
    }
    final var typedExtrasIfAny: TypedExtras<T>? {
        extras?.lazyTyped.load().map { unsafe unsafeDowncast($0, to: TypedExtras<T>.self) }
    }

    /// Adds a handler that is called once with the outcome. If the outcome is published and all other handlers were
    /// called, the call is made at once.
    @usableFromInline
    final func add(_ handler: consuming Handler<T>) {
        if !step(.claimSlot).actions.isEmpty {
            unsafe slot = handler
            if step(.fillSlot).actions.contains(.serveLate) { unsafe serveLate(slot.take()) }
            return
        }
        addBeside(handler)
    }

    /// Adds a handler that can be removed. It is stored in the typed extras, not in the task's slot.
    final func addBeside(_ listener: Listener<T>) {
        addBeside(.listener(listener))
    }

    private func addBeside(_ handler: consuming Handler<T>) {
        let handler = handler
        let isLate = typedExtras.typed { typed in
            if step(.watch).actions.contains(.serveLate) { return true }
            typed.handlers.append(handler)
            return false
        }
        if isLate { serveLate(handler) }
    }

    private func serveLate(_ handler: consuming Handler<T>?) {
        if let result { handler.take()?.serve(result) }
    }

    private func tell(_ observers: [any TaskObserver], of event: ObserverEvent) {
        for observer in observers {
            switch event {
            case .start: observer.taskDidStartExecution(self)
            case .willFinish: observer.taskWillFinishExecution(self)
            case .didFinish: observer.taskDidFinishExecution(self)
            case .didRetry: observer.taskDidRetry(self)
            }
        }
    }

    private func report(_ event: QueueTasks.DelegateEvent, to delegate: any TaskQueueDelegate, in queue: TaskQueue) {
        switch event {
        case .didAdd: delegate.didAdd(task: self, to: queue)
        case .willFinish: delegate.willFinish(task: self, in: queue)
        case .didFinish: delegate.didFinish(task: self, in: queue)
        case .didRetry: delegate.didRetry(task: self, in: queue)
        }
    }
}
