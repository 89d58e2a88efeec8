/// Where a task stands: the whole of it in one word, and what each event makes of it.
///
/// This is the rule book. It is a pure function from a state and an event to the next state and what is to
/// be done: it has no memory, no threads and no closures. ``AnyTask`` holds the word, changes it with one
/// compare-and-exchange per event, and carries out the actions; whoever's exchange succeeded does so alone.
///
///     phase:3 | cancelled | in body | settled | retrying | slot claimed | slot filled | watched | closed |
///     added | conditional | has dependencies | has dependents | evaluating | attempt:16 | unmet:32
struct TaskState: Equatable, Sendable {
    private(set) var word: UInt64

    init(word: UInt64 = 0) {
        self.word = word
    }

    // MARK: - Fields

    var phase: AnyTask.State {
        get { AnyTask.State(rawValue: Int(word & 7)) ?? .finished }
        set { word = word & ~7 | UInt64(newValue.rawValue) }
    }

    /// It was asked to stop before its outcome was decided.
    var isCancelled: Bool { get { self[3] } set { self[3] = newValue } }
    /// A thread (or an asynchronous body) is inside the body.
    var isInBody: Bool { get { self[4] } set { self[4] = newValue } }
    /// The outcome is decided: whoever decided it publishes it.
    var isSettled: Bool { get { self[5] } set { self[5] = newValue } }
    /// The attempt has failed, and another follows as soon as the body has returned.
    var isRetrying: Bool { get { self[6] } set { self[6] = newValue } }
    /// Somebody is writing, or has written, the handler that lives in the task itself.
    var isSlotClaimed: Bool { get { self[7] } set { self[7] = newValue } }
    /// That handler may be read.
    var isSlotFilled: Bool { get { self[8] } set { self[8] = newValue } }
    /// The side storage has, or may have, something for the publisher to do.
    var isWatched: Bool { get { self[9] } set { self[9] = newValue } }
    /// The handlers have been served: a new one is served by whoever brings it.
    var isClosed: Bool { get { self[10] } set { self[10] = newValue } }
    /// A program added or started it, as opposed to a dependent of it.
    var isAdded: Bool { get { self[11] } set { self[11] = newValue } }
    /// Conditions are to be evaluated before the body.
    var isConditional: Bool { get { self[12] } set { self[12] = newValue } }
    var hasDependencies: Bool { get { self[13] } set { self[13] = newValue } }
    var hasDependents: Bool { get { self[14] } set { self[14] = newValue } }
    /// Conditions are being evaluated.
    var isEvaluating: Bool { get { self[15] } set { self[15] = newValue } }

    /// Failed attempts that were followed by another; stays at its greatest value.
    var attempt: UInt16 {
        get { UInt16(truncatingIfNeeded: word >> 16) }
        set { word = word & ~(0xffff << 16) | UInt64(newValue) << 16 }
    }

    /// An attempt has failed, and the next one has not begun.
    var isBetweenAttempts: Bool { attempt > 0 && phase != .executing }

    /// What the task waits for: dependencies that have not finished, and whoever is still linking them.
    var unmet: UInt32 {
        get { UInt32(truncatingIfNeeded: word >> 32) }
        set { word = word & 0xffff_ffff | UInt64(newValue) << 32 }
    }

    @inline(__always)
    private subscript(bit: UInt64) -> Bool {
        get { word & (1 << bit) != 0 }
        set { word = newValue ? word | 1 << bit : word & ~(1 << bit) }
    }

    // MARK: - Events and actions

    enum Event: Equatable, Sendable {
        /// To a queue. `byProgram`: by the program, not because a dependent was added.
        case add(byProgram: Bool)
        /// Without a queue, on the calling thread.
        case start
        /// A dependency is added.
        case dependOn
        /// A task is about to become a dependent of this one.
        case gainDependent
        /// A condition is added.
        case condition
        /// A dependency has finished or was removed, or all of them are linked.
        case release
        /// The conditions hold.
        case conditionsMet
        /// A worker is about to run the task.
        case begin
        /// The body hands over the task's outcome; `returning`: by its return.
        case finish(returning: Bool)
        /// An attempt has failed, and may be followed by another; `returning`: by its body's return.
        case fail(attempt: UInt16, returning: Bool)
        /// The body has returned without more.
        case leave
        /// The next attempt is due.
        case retryDue
        case cancel
        /// A place in the queue was taken back: a cancel, unless the task has begun from another.
        case discard
        /// The outcome can be read.
        case publish
        /// A handler wants to live in the task itself.
        case claimSlot
        /// It is written.
        case fillSlot
        /// The side storage is to be looked at by the publisher.
        case watch
        /// Every handler was served: the one in the slot, and where `locked`, those in the side storage, whose
        /// lock the caller has.
        case close(locked: Bool)
    }

    /// What whoever caused a step has to do. An empty set: nothing; the event came too late or too early.
    struct Actions: OptionSet, Sendable {
        let rawValue: UInt16

        /// The event counts.
        static let accept = Actions(rawValue: 1 << 0)
        /// Hand the task to its queue.
        static let submit = Actions(rawValue: 1 << 1)
        /// Link the dependencies (``Event/dependOn``: this one), then ``Event/release`` once for the linking.
        static let link = Actions(rawValue: 1 << 2)
        /// Evaluate the conditions, then ``Event/conditionsMet`` or a failure.
        static let evaluate = Actions(rawValue: 1 << 3)
        /// Run the body on this thread.
        static let enter = Actions(rawValue: 1 << 4)
        /// Publish the outcome that was handed in.
        static let publish = Actions(rawValue: 1 << 5)
        /// Publish the cancellation.
        static let publishCancelled = Actions(rawValue: 1 << 6)
        /// Serve the onCancel handlers.
        static let tellCancelled = Actions(rawValue: 1 << 7)
        /// Bring about the next attempt, now or later.
        static let retry = Actions(rawValue: 1 << 8)
        /// Serve the handler in the slot.
        static let serveSlot = Actions(rawValue: 1 << 9)
        /// Let go of the body: nobody is inside, and nobody will be.
        static let dropBody = Actions(rawValue: 1 << 10)
        /// The outcome is there: serve the handler at once.
        static let serveLate = Actions(rawValue: 1 << 11)
    }

    struct Step: Equatable, Sendable {
        var state: TaskState
        var actions: Actions
    }

    // MARK: - The rules

    /// The state after an event, and what it calls for.
    @inline(__always)
    func after(_ event: Event) -> Step {
        var next = self
        let actions = next.take(event)
        return Step(state: next, actions: actions)
    }

    @inline(__always)
    private mutating func take(_ event: Event) -> Actions {
        switch event {
        case .add(let byProgram):
            guard phase == .initialized, !isSettled else {
                // A dependent brought it here first; the program's own add joins.
                guard byProgram, !isAdded else { return [] }
                isAdded = true
                return .accept
            }
            if byProgram { isAdded = true }
            if mustWait { return waitForDependencies() }
            phase = .ready
            return [.accept, .submit]

        case .start:
            guard phase == .initialized, !isSettled else { return [] }
            isAdded = true
            if mustWait { return waitForDependencies() }
            phase = .executing
            isInBody = true
            return [.accept, .enter]

        case .dependOn:
            guard !isSettled, attempt == 0, phase < .executing else { return [] }
            hasDependencies = true
            unmet += 1
            if phase == .initialized { return .accept }
            // A place in the queue that it may have already is given up: the entry there finds it pending, or begun
            // from another.
            phase = .pending
            return [.accept, .link]

        case .gainDependent:
            guard phase != .finished else { return [] }
            hasDependents = true
            return .accept

        case .condition:
            guard phase == .initialized, !isSettled else { return [] }
            isConditional = true
            return .accept

        case .release:
            unmet -= 1
            return readyIfNothingIsUnmet()

        case .conditionsMet:
            guard isEvaluating, !isSettled else { return [] }
            isEvaluating = false
            isConditional = false
            return readyIfNothingIsUnmet()

        case .begin:
            guard phase == .ready, !isSettled else { return [] }
            phase = .executing
            isInBody = true
            return [.accept, .enter]

        case .finish(let returning):
            return takeOutcome(mayRetry: false, returning: returning)

        case .fail(let attempt, let returning):
            // A second failure of an attempt that another follows already: whether one may was asked too early.
            guard attempt == self.attempt else { return returning ? takeLeave() : [] }
            return takeOutcome(mayRetry: true, returning: returning)

        case .leave:
            return takeLeave()

        case .retryDue:
            guard phase == .pending, attempt > 0, !isSettled else { return [] }
            phase = .ready
            return [.accept, .submit]

        case .cancel:
            return takeCancel()

        case .discard:
            return phase < .executing ? takeCancel() : []

        case .publish:
            phase = .finished
            var actions: Actions = .accept
            if isSlotFilled { actions.insert(.serveSlot) }
            if !isInBody { actions.insert(.dropBody) }
            if !isSlotFilled && !isWatched { isClosed = true }
            return actions

        case .claimSlot:
            guard !isSlotClaimed, !isWatched, phase != .finished else { return [] }
            isSlotClaimed = true
            return .accept

        case .fillSlot:
            guard phase != .finished else { return .serveLate }
            isSlotFilled = true
            return .accept

        case .watch:
            guard !isClosed else { return .serveLate }
            isWatched = true
            return .accept

        case .close(let locked):
            guard phase == .finished, locked || !isWatched else { return [] }
            isClosed = true
            return .accept
        }
    }

    private var mustWait: Bool { hasDependencies || isConditional }

    private mutating func waitForDependencies() -> Actions {
        phase = .pending
        unmet += 1  // the linking's own
        return [.accept, .link]
    }

    private mutating func readyIfNothingIsUnmet() -> Actions {
        guard unmet == 0, phase == .pending, !isSettled, !isEvaluating, attempt == 0 else { return .accept }
        if isConditional {
            isEvaluating = true
            return [.accept, .evaluate]
        }
        phase = .ready
        return [.accept, .submit]
    }

    @inline(__always)
    private mutating func takeOutcome(mayRetry: Bool, returning: Bool) -> Actions {
        // Between two attempts there is nothing to finish: it is a second finish of the last one.
        guard !isSettled, !isRetrying, !isBetweenAttempts else { return returning ? takeLeave() : [] }
        let wasInBody = isInBody
        if returning { isInBody = false }
        if isCancelled {
            isSettled = true
            return [.accept, .publishCancelled]
        }
        if mayRetry, phase == .executing {
            if wasInBody && !returning {
                isRetrying = true
                return .accept
            }
            return [.accept, beginNextAttempt()]
        }
        isSettled = true
        return [.accept, .publish]
    }

    /// The body is over without having said more than it did.
    private mutating func takeLeave() -> Actions {
        guard isInBody else { return [] }
        isInBody = false
        if isSettled {
            return phase == .finished ? [.accept, .dropBody] : .accept
        }
        if isCancelled {
            isSettled = true
            return [.accept, .publishCancelled]
        }
        return isRetrying ? [.accept, beginNextAttempt()] : .accept
    }

    private mutating func takeCancel() -> Actions {
        guard !isCancelled, !isSettled else { return [] }
        isCancelled = true
        if isInBody { return [.accept, .tellCancelled] }
        isSettled = true
        return [.accept, .tellCancelled, .publishCancelled]
    }

    private mutating func beginNextAttempt() -> Actions {
        isRetrying = false
        phase = .pending
        if attempt < .max { attempt += 1 }
        return .retry
    }
}
