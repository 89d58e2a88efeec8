// Owns the state machine of a task as a pure function. AnyTask applies it with compare-and-exchange. This file has no
// threads, memory or closures.

/// The state of a task in one word, and its transitions.
///
/// `after(_:)` is a pure function from a state and an event to the next state and a set of actions. ``AnyTask`` holds
/// the word and changes it with one compare-and-exchange for each event. The thread whose exchange succeeded carries
/// out the actions alone.
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
        @inline(__always) get { AnyTask.State(rawValue: Int(word & 7)) ?? .finished }
        @inline(__always) set { word = word & ~7 | UInt64(newValue.rawValue) }
    }

    /// Whether the task was asked to stop before its outcome was decided.
    var isCancelled: Bool { get { self[3] } set { self[3] = newValue } }
    /// Whether a thread or an asynchronous body is inside the body.
    var isInBody: Bool { get { self[4] } set { self[4] = newValue } }
    /// Whether the outcome is decided. The thread that decided it publishes it.
    var isSettled: Bool { get { self[5] } set { self[5] = newValue } }
    /// Whether the attempt has failed and another follows when the body returns.
    var isRetrying: Bool { get { self[6] } set { self[6] = newValue } }
    /// Whether a thread is writing or has written the handler in the task's slot.
    var isSlotClaimed: Bool { get { self[7] } set { self[7] = newValue } }
    /// Whether the handler in the slot may be read.
    var isSlotFilled: Bool { get { self[8] } set { self[8] = newValue } }
    /// Whether the optional storage may have work for the publisher.
    var isWatched: Bool { get { self[9] } set { self[9] = newValue } }
    /// Whether the handlers were called. The thread that adds a handler then calls it at once.
    var isClosed: Bool { get { self[10] } set { self[10] = newValue } }
    /// Whether the program added or started the task. A dependent that brings the task along does not set it.
    var isAdded: Bool { get { self[11] } set { self[11] = newValue } }
    /// Whether conditions must be evaluated before the body.
    var isConditional: Bool { get { self[12] } set { self[12] = newValue } }
    var hasDependencies: Bool { get { self[13] } set { self[13] = newValue } }
    var hasDependents: Bool { get { self[14] } set { self[14] = newValue } }
    /// Whether conditions are being evaluated.
    var isEvaluating: Bool { get { self[15] } set { self[15] = newValue } }

    /// The number of failed attempts that another followed. It stays at its largest value.
    var attempt: UInt16 {
        get { UInt16(truncatingIfNeeded: word >> 16) }
        set { word = word & ~(0xffff << 16) | UInt64(newValue) << 16 }
    }

    /// Whether an attempt has failed and the next one has not begun.
    var isBetweenAttempts: Bool { attempt > 0 && phase != .executing }

    /// The number of dependencies that have not finished, plus 1 for each thread that is linking dependencies.
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
        /// The task is added to a queue. `byProgram` is false if a dependent brings the task along.
        case add(byProgram: Bool)
        /// The task is started without a queue, on the calling thread.
        case start
        /// A dependency is added.
        case dependOn
        /// Another task is about to become a dependent of this one.
        case gainDependent
        /// A condition is added.
        case condition
        /// A dependency has finished or was removed, or the linking is complete.
        case release
        /// The conditions hold.
        case conditionsMet
        /// A worker is about to run the task.
        case begin
        /// The outcome is set. `returning` is true if the body sets it by its return.
        case finish(returning: Bool)
        /// The body has returned a value, and the task does not hold the body. No action if another attempt or a
        /// cancellation needs it.
        case succeed
        /// An attempt has failed, and another may follow. `returning` is true if the body failed by its return.
        case fail(attempt: UInt16, returning: Bool)
        /// The body has returned without an outcome.
        case leave
        /// The next attempt is due.
        case retryDue
        case cancel
        /// A queue discarded the task's entry. It cancels the task, unless the task has begun from another entry.
        case discard
        /// The outcome is written and becomes readable.
        case publish
        /// A thread wants to store a handler in the task's slot.
        case claimSlot
        /// The handler in the slot is written.
        case fillSlot
        /// The publisher must check the optional storage.
        case watch
        /// All handlers were called: the one in the slot, and if `locked`, those in the optional storage. The caller
        /// holds its lock then.
        case close(locked: Bool)
    }

    /// The actions for the thread that caused a step. If the set is empty, the event had no effect because it came
    /// too early or too late.
    struct Actions: OptionSet, Sendable {
        let rawValue: UInt16

        /// The event had an effect.
        static let accept = Actions(rawValue: 1 << 0)
        /// Submit the task to its queue.
        static let submit = Actions(rawValue: 1 << 1)
        /// Link the dependencies, then take ``Event/release`` once for the linking. After ``Event/dependOn``, link
        /// only the new dependency.
        static let link = Actions(rawValue: 1 << 2)
        /// Evaluate the conditions, then take ``Event/conditionsMet`` or fail the task.
        static let evaluate = Actions(rawValue: 1 << 3)
        /// Run the body on this thread.
        static let enter = Actions(rawValue: 1 << 4)
        /// Publish the outcome that came with the event.
        static let publish = Actions(rawValue: 1 << 5)
        /// Publish the cancellation.
        static let publishCancelled = Actions(rawValue: 1 << 6)
        /// Call the onCancel handlers.
        static let tellCancelled = Actions(rawValue: 1 << 7)
        /// Start the next attempt, now or after a delay.
        static let retry = Actions(rawValue: 1 << 8)
        /// Call the handler in the slot.
        static let serveSlot = Actions(rawValue: 1 << 9)
        /// Release the body. No thread is inside it, and none will enter it.
        static let dropBody = Actions(rawValue: 1 << 10)
        /// Call the handler at once, because the outcome is published.
        static let serveLate = Actions(rawValue: 1 << 11)
    }

    struct Step: Equatable, Sendable {
        var state: TaskState
        var actions: Actions
    }

    // MARK: - The rules

    /// Returns the state after an event, and the actions that it requires.
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
                // A dependent added the task first. The program's own call only sets the flag.
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
            // The task may already have an entry in the queue. That entry becomes void: it finds the task pending, or
            // begun from another entry.
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

        case .succeed:
            // A cancelled body is released before handlers of the outcome: it has to be in its place, too.
            if isRetrying || isCancelled && !isSettled { return [] }
            return takeOutcome(mayRetry: false, returning: true)

        case .fail(let attempt, let returning):
            // The attempt has already failed once, and another follows. The caller checked for a retry too early.
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
        unmet += 1  // counts the linking
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
        // Between two attempts there is nothing to finish: the call is a second finish of the last attempt.
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

    /// Handles the return of the body without an outcome.
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
