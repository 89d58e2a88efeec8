internal import OverdriveCore
internal import Synchronization

/// The calls that are due when a task has its outcome.
@usableFromInline
@safe enum Handler<T: Sendable> {
    case value((T) -> Void)
    case error((any Error) -> Void)
    case completion((Result<T, any Error>) -> Void)
    /// A Swift task that awaits the value.
    case continuation(UnsafeContinuation<T, any Error>)
    /// A stream or a derived task, which may end before.
    case listener(Listener<T>)

    // Takes the handler over: its closure is neither counted for the call nor kept after it.
    @inlinable
    consuming func serve(_ outcome: Result<T, any Error>) {
        switch consume self {
        case .completion(let body):
            let left = stepOutOfLine()
            body(outcome)
            stepIntoLine(left)
        case .value(let body):
            guard case .success(let value) = outcome else { return }
            let left = stepOutOfLine()
            body(value)
            stepIntoLine(left)
        case .error(let body):
            guard case .failure(let error) = outcome, !(error is CancellationError) else { return }
            let left = stepOutOfLine()
            body(error)
            stepIntoLine(left)
        case .continuation(let continuation):
            let left = stepOutOfLine()
            unsafe continuation.resume(with: outcome)
            stepIntoLine(left)
        case .listener(let listener):
            listener.serve(outcome)
        }
    }
}

/// A handler of the outcome that can be removed: of a stream, or of a task that is made of this one. The closure steps out
/// of the thread's line by itself before it calls the program's code.
@usableFromInline
final class Listener<T: Sendable>: Sendable {
    // Taken once, by the thread that sets `isTaken`.
    private nonisolated(unsafe) var body: ((Result<T, any Error>) -> Void)?
    private let isTaken = Atomic(false)

    init(_ body: @escaping (Result<T, any Error>) -> Void) {
        unsafe self.body = body
    }

    private func take() -> ((Result<T, any Error>) -> Void)? {
        // relaxed: whoever knows the listener knows its closure, and one thread takes the closure
        isTaken.exchange(true, ordering: .relaxed) ? nil : unsafe body.take()
    }

    @usableFromInline
    func serve(_ outcome: Result<T, any Error>) { take()?(outcome) }

    /// Releases the closure, unless another thread has called or released it.
    func giveUp() { _ = take() }
}

/// A handler of updates, and whether it has had the one that was there when it came. For that it stands in the line,
/// whose thread may be telling others of the outcome; then whoever brings it the outcome serves it first.
final class Subscription<T: Sendable>: Sendable {
    // Handed over by its caller, and called by one thread at a time.
    private nonisolated(unsafe) let handler: (T) -> Void
    /// Whether it hands updates on to another task: at the thread's line, so that a chain of tasks is no stack.
    private let isRelay: Bool
    /// Nobody wants to hear any more. The lock of the task's handlers is around it.
    nonisolated(unsafe) var isGivenUp = false
    /// 0: it waits; 1: somebody serves it; 2: it is served.
    private let state = Atomic<UInt8>(0)

    init(isRelay: Bool, _ handler: sending @escaping (T) -> Void) {
        self.isRelay = isRelay
        unsafe self.handler = handler
    }

    func call(with value: T) {
        if isRelay {
            Bounce.forward { unsafe handler(value) }
        } else {
            Bounce.outside { unsafe handler(value) }
        }
    }

    /// False: somebody else serves it, or has.
    func begin() -> Bool {
        // relaxed: nothing is handed over
        state.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged
    }

    /// Releases what the handler did with the update.
    func end() { state.store(2, ordering: .releasing) }

    var isServed: Bool { state.load(ordering: .acquiring) == 2 }
}

/// What extras know of a task's result without its type.
class ResultExtras: @unchecked Sendable {
    // What state there is, the subclass has.

    /// The outcome is published: nobody is told of updates any more.
    func endUpdates() {}
}

/// A task's handlers beyond the first, and its updates.
///
/// Updates, and the outcome that an emitter announces, pass through one line, which one thread at a time
/// serves: whoever finds it served puts its event in and goes on.
final class TypedExtras<T: Sendable>: ResultExtras, @unchecked Sendable {
    enum Event {
        /// A handler comes, and is owed the last update.
        case subscribe(Subscription<T>)
        /// The events of the attempt's emitter.
        case update(T, attempt: UInt16)
        /// The same, unless `isWanted` returns false by then.
        case updateIf(T, attempt: UInt16, isWanted: () -> Bool)
        case failureIf(any Error, attempt: UInt16, isWanted: () -> Bool)
        case outcome(Result<T, any Error>, attempt: UInt16)
        case completion(attempt: UInt16)
        /// Events that come after the earlier ones.
        case call(() -> Void)
    }

    struct Typed {
        var handlers: [Handler<T>] = []
        var updateHandlers: [Subscription<T>] = []
        var lastUpdate: T?
        var line = Fifo<Event>()
        var isServed = false
        var isOver = false
        /// The attempt that has brought the last update.
        var updatedAttempt: UInt16 = 0
        /// The outcome is the last update, not another value.
        var endedWithUpdate = false
    }

    // Handlers are handed over by their callers, and called by one thread at a time.
    nonisolated(unsafe) private var typed = Typed()
    private let typedLock = Locked<UInt8>(0)

    func typed<R>(_ body: (inout Typed) -> R) -> R {
        typedLock.withLock { _ in unsafe body(&typed) }
    }

    /// Puts events into the line, and serves the line unless another thread does: after what this thread is at, where it
    /// hands on what it was told itself.
    func handle(_ events: Event..., for task: Task<T>) {
        let isServed = typed { typed in
            for event in events { typed.line.append(event) }
            defer { typed.isServed = true }
            return typed.isServed
        }
        guard !isServed else { return }
        if Bounce.isForwarding {
            Bounce.run { self.serveLine(of: task) }
        } else {
            serveLine(of: task)
        }
    }

    private func serveLine(of task: Task<T>) {
        while let event = nextEvent() {
            switch event {
            case .subscribe(let subscription):
                guard subscription.begin() else { continue }
                let last = typed { typed in
                    if !typed.isOver, unsafe !subscription.isGivenUp { typed.updateHandlers.append(subscription) }
                    return typed.lastUpdate
                }
                // The end sees this object only if it was there before.
                if task.standingInFull.phase == .finished { endUpdates() }
                if let last { subscription.call(with: last) }
                subscription.end()
            case .update(let value, let attempt):
                update(task, with: value, attempt)
            case .updateIf(let value, let attempt, let isWanted):
                if isWanted() { update(task, with: value, attempt) }
            case .failureIf(let error, let attempt, let isWanted):
                if task.isUnderWay(attempt), isWanted() { task.conclude(.failure(error), returning: false) }
            case .outcome(.success(let value), let attempt):
                guard task.isUnderWay(attempt) else { continue }
                end(task, withUpdate: value)
            case .outcome(.failure(let error), let attempt):
                guard task.isUnderWay(attempt) else { continue }
                task.conclude(.failure(error), returning: false)
            case .completion(let attempt):
                guard task.isUnderWay(attempt) else { continue }
                // What an attempt has said that failed is not the outcome of another.
                if let value = typed({ $0.updatedAttempt == attempt ? $0.lastUpdate : nil }) {
                    end(task, withUpdate: value)
                } else {
                    task.conclude((() as? T).map { .success($0) } ?? .failure(TaskError.noValue), returning: false)
                }
            case .call(let body):
                body()
            }
        }
    }

    private func update(_ task: Task<T>, with value: T, _ attempt: UInt16) {
        guard task.isUnderWay(attempt) else { return }
        let (handlers, last) = typed { typed -> ([Subscription<T>], T?) in
            // Another thread may have brought an outcome meanwhile: no update comes after it.
            guard !typed.isOver else { return ([], nil) }
            typed.updatedAttempt = attempt
            defer { typed.lastUpdate = value }
            return (typed.updateHandlers, typed.lastUpdate)
        }
        withExtendedLifetime(last) {}  // given up without the lock: it may be the program's object
        for subscription in handlers { subscription.call(with: value) }
    }

    /// The last update is the outcome, unless another thread was faster with one.
    private func end(_ task: Task<T>, withUpdate value: T) {
        let reception = task.settle(failure: nil, returning: false)
        guard reception == .due || reception == .dueLater else { return }
        // Nobody looks at it before the outcome is published, which only this thread does.
        typed { $0.endedWithUpdate = true }
        if reception == .due { task.publish(.success(value)) } else { task.publishLater(.success(value)) }
    }

    /// Removes the handlers of a stream, or of a derived task, that has ended. The newest handlers are looked at first.
    func forget(_ subscription: Subscription<T>?, _ listener: Listener<T>?) {
        let forgotten = typed { typed -> ([Subscription<T>], [Handler<T>]) in
            unsafe subscription?.isGivenUp = true
            let place = typed.updateHandlers.lastIndex { $0 === subscription }
            let handler = typed.handlers.lastIndex {
                if case .listener(let other) = $0 { other === listener } else { false }
            }
            return (
                place.map { [typed.updateHandlers.remove(at: $0)] } ?? [],
                handler.map { [typed.handlers.remove(at: $0)] } ?? []
            )
        }
        withExtendedLifetime(forgotten) {}  // given up without the lock
    }

    private func nextEvent() -> Event? {
        typed { typed in
            let event = typed.line.popFirst()
            if event == nil { typed.isServed = false }
            return event
        }
    }

    override func endUpdates() {
        let handlers = typed { typed in
            typed.isOver = true
            defer { typed.updateHandlers = [] }
            return typed.updateHandlers
        }
        withExtendedLifetime(handlers) {}  // given up without the lock
    }
}

extension Task {
    /// Has `body` called with each update, and with the last one now, if there was one.
    @discardableResult
    final func subscribe(isRelay: Bool = false, _ body: sending @escaping (T) -> Void) -> Subscription<T> {
        let subscription = Subscription(isRelay: isRelay, body)
        if isFinished {
            serveLate(subscription)
        } else {
            typedExtras.handle(.subscribe(subscription), for: self)
        }
        return subscription
    }

    /// A stream or a derived task has ended: the task neither calls nor keeps its handlers from now on.
    final func forget(_ subscription: Subscription<T>?, _ listener: Listener<T>?) {
        listener?.giveUp()  // it may be in the slot
        if !isFinished { typedExtrasIfAny?.forget(subscription, listener) }
    }

    /// No update comes any more: the subscription's handler gets the last one, unless it has it.
    private func serveLate(_ subscription: Subscription<T>) {
        guard subscription.begin() else { return }
        if let last = typedExtrasIfAny?.typed({ $0.lastUpdate }) { subscription.call(with: last) }
        subscription.end()
    }

    /// The outcome is there: calls `body` once the subscription's handler has had the last update. That is now, but where
    /// another thread is calling the handler: then it calls `body` next.
    final func call(behind subscription: Subscription<T>, _ body: @escaping () -> Void) {
        serveLate(subscription)
        if subscription.isServed { return body() }
        typedExtras.handle(.call(body), for: self)
    }
}
