internal import OverdriveCore
internal import Synchronization

/// A unit of work with a result: started by a queue, awaited, chained, retried, cancelled.
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
/// - Ordering: At the end: willFinish observers, the result, handlers in registration order, didFinish observers,
///   dependents. Writes before the task was added are visible to its body. Writes of the body are visible to every
///   reader of the outcome.
/// - Threading: Safe from any thread.
/// - Cost: One allocation and one for the closure. A task without dependencies or conditions, and with at most one
///   handler, takes only its queue's lock.
open class Task<T: Sendable>: AnyTask, @unchecked Sendable {
    // What AnyTask says holds here: `body` belongs to whoever is inside it and then to whoever has the action
    // dropBody, `slot` to whoever claimed it and then to the publisher, `value` is written by the publisher
    // before the word says finished and read by others after. So the word has seen to exclusive access.
    //
    // Code that does not know T asks the runtime for types that are made of it, such as `Result<T, any Error>`, which
    // takes longer than all the rest of a task: so it is kept off everybody's path. What a closure task does with its
    // result is inlinable, and comes with the task from where T is known: the conductor.

    /// The name of the result type in old code.
    public typealias ResultType = T

    @usableFromInline
    enum Body {
        case run
        case inline(() throws -> T, by: Conductor)
        case progressive(@Sendable (Emitter) -> () -> Void)
        /// A progressive body that only waits for `parts`, tasks of the same queue: it holds no place there.
        case relay(parts: [AnyTask], @Sendable (Emitter) -> () -> Void)
        case async(@Sendable () async throws -> T)
        case none

        /// The body, which is not here any more. It is handed over without being counted.
        mutating func take() -> Body {
            let taken = consume self
            self = .none
            return taken
        }

        /// Not inline: the task would be counted while the old one is let go of.
        @usableFromInline
        @inline(never)
        mutating func become(_ other: consuming Body) {
            self = consume other
        }
    }

    /// Runs a body and concludes the task with what it returns.
    @usableFromInline typealias Conductor = (Task<T>, consuming @escaping () throws -> T) -> Void

    @usableFromInline @exclusivity(unchecked) final var body: Body
    @usableFromInline @exclusivity(unchecked) final var slot: Handler<T>?
    /// Full from a success on.
    @usableFromInline @exclusivity(unchecked) final var publishedValue = ValuePlace()

    /// A task whose body is an override of ``run()``.
    ///
    /// - Ordering: None before it is added or started.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public override init() {
        unsafe body = .run
        super.init()
    }

    /// A task whose body is an override of ``run()``, with dependencies, observers and conditions. A subclass
    /// inherits this initializer if it declares none or overrides `init()`.
    ///
    ///     let logo = GetLogoTask(dependencies: [login], observers: [Stopwatch()], conditions: [IsOnline()])
    ///
    /// - Parameters:
    ///   - dependencies: What it waits for; see ``AnyTask/add(dependency:requiring:)``.
    ///   - observers: Who is told how it goes; see ``AnyTask/add(observer:)``.
    ///   - conditions: What has to hold before the body runs; see ``AnyTask/add(condition:)``.
    /// - Ordering: ``run()`` is called after the dependencies and the conditions.
    /// - Threading: Any thread.
    /// - Cost: The task, its extras where it has observers or conditions, and an allocation for each dependency.
    public convenience init(
        dependencies: [AnyTask] = [], observers: [any TaskObserver] = [], conditions: [any TaskCondition] = []
    ) {
        self.init()
        add(dependencies: dependencies, observers: observers, conditions: conditions)
    }

    // Not a designated initializer: a subclass that overrides the one that is, init(), inherits all others.
    @usableFromInline
    convenience init(body: consuming Body) {
        self.init()
        unsafe self.body.become(consume body)
    }

    /// For initializers of subclasses: the body is a closure, which the task releases at its end.
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
            unsafe swap(&end.body, &body)  // and so nobody else has it
            Bounce.run(end)
        }
    }

    // MARK: - The body

    /// The task's work: override it, and call ``finish(with:)`` in it or later.
    ///
    /// - Ordering: After the dependencies and the conditions, whose writes are visible to it; once for each attempt.
    /// - Threading: A worker of the task's queue; the calling thread of `start()`.
    /// - Cost: The body's own; calling it is one indirect call.
    open func run() {
        trap("Task.run(): not overridden (\(title)). Override it without calling super, or make the task from a closure.")
    }

    /// Ends the task's attempt with a result. The first call counts.
    ///
    /// - Parameter result: `.value(x)` or `.error(e)`, as well as `.success(x)` or `.failure(e)`. A failure begins
    ///   the next attempt if ``retry(_:)-(Int)`` allows it. A cancelled task's result is discarded.
    /// - Returns: Whether this call ended the attempt.
    /// - Ordering: willFinish observers, the result, handlers in registration order, didFinish observers, dependents.
    /// - Threading: Any thread. Handlers run on it.
    /// - Cost: Two locked instructions, and the handlers.
    @inlinable
    @discardableResult
    public final func finish(with result: Result<T, any Error>) -> Bool {
        conclude(result, returning: false)
    }

    /// Whether what ``run()`` has set off elsewhere is the body too: it ends with a conclusion that says it returns.
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

    /// What the conductor of a closure task does. It has the closure meanwhile, which so is not counted for the call:
    /// while this thread is inside, nobody else looks at the body or drops it.
    @inlinable
    final func conduct(_ body: consuming @escaping () throws -> T) {
        let result: Result<T, any Error>
        let left = stepOutOfLine()
        do { result = .success(try body()) } catch { result = .failure(error) }
        stepIntoLine(left)
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

    /// Apart: the type of a result of `Success` is looked up where a function makes one, at its entry.
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

    /// The body for one attempt. A frame that outlasts the attempt keeps no reference to the closure.
    private var asyncBody: AsyncBody<T>? {
        @inline(never) get { if case .async(let body) = unsafe body { AsyncBody(body) } else { nil } }
    }

    /// Nobody is inside the body, and nobody will be.
    private func dropBody() {
        if case .relay(let parts, _) = unsafe body {
            // A task that ends before its start ends its parts too, unless others have started them: who waits for a part
            // would wait for ever.
            for part in parts where part.state == .initialized { Bounce.run { part.cancel() } }
        }
        unsafe body = .none
        dropWork()
    }

    /// Releases closures that a subclass keeps for the body.
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
            emitter.isKept.store(true, ordering: .relaxed)  // ordered by the counts of references
        }
    }

    private func leave(holdingPlace: Bool = true) {
        let standing = standing
        if holdingPlace, !standing.isSettled, !standing.isRetrying { holdPlace(of: standing.attempt) }
        let step = step(.leave)
        // The publisher may have looked for what is to be cleaned up before it was there; then this is after it.
        if step.state.phase == .finished { endAttempt(step.state.attempt) }
        perform(step.actions)
        if step.state.hasDependents { stopBeingKept() }
    }

    /// The body is about to return without an outcome. Where the queue limits how many run, the task's place
    /// stays taken until the attempt's end.
    final func holdPlace(of attempt: UInt16) {
        guard isOnQueue else { return }
        let queue = assignedQueue
        guard let places = queue.holdPlaces() else { return }
        keep(cleanup: { queue.releasePlaces(places) }, of: attempt)
    }

    // MARK: - The end

    /// Publishes the outcome, whose error is in its place: this thread has settled it.
    @inlinable
    final func publish(_ result: Result<T, any Error>) {
        if case .success(let value) = result { unsafe publishedValue.fill(with: value) }
        let servesSlot = publishOutcome()
        if handlersAreDeep() { return serveLater(slot: servesSlot) }
        if servesSlot {
            unsafe slot.take()?.serve(result)
        }
        endPublishing()
    }

    @usableFromInline
    @inline(never)
    final func publishLater(_ result: Result<T, any Error>) {
        let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
        publishLater(failure) { self.publish(result) }
    }

    /// Handlers of many tasks are on the thread's stack, one inside the other: those of this task come when the innermost
    /// of them has returned.
    @usableFromInline
    @inline(never)
    final func serveLater(slot servesSlot: Bool) {
        Bounce.run {
            if servesSlot, let result = self.result { unsafe self.slot.take()?.serve(result) }
            self.endPublishing()
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

    /// Nobody holds the task any more, and nobody will finish it: whoever waits for it is told that it is
    /// cancelled, without a task.
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

    // Made in no other place.
    final var typedExtras: TypedExtras<T> {
        if let typedExtrasIfAny { return typedExtrasIfAny }
        let stored = unsafe makeExtras().lazyTyped.storeIfNil(TypedExtras<T>()).takeUnretainedValue()
        return unsafe unsafeDowncast(stored, to: TypedExtras<T>.self)
    }
    final var typedExtrasIfAny: TypedExtras<T>? {
        extras?.lazyTyped.load().map { unsafe unsafeDowncast($0, to: TypedExtras<T>.self) }
    }

    /// Has a handler served once with the outcome: at once when it is there and all others were served.
    @usableFromInline
    final func add(_ handler: consuming Handler<T>) {
        if !step(.claimSlot).actions.isEmpty {
            unsafe slot = handler
            if step(.fillSlot).actions.contains(.serveLate) { unsafe serveLate(slot.take()) }
            return
        }
        addBeside(handler)
    }

    /// The same for a handler that can be removed with its entry: it does not live in the task itself.
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
