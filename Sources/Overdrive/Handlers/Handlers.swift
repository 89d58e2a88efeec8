// Owns the handlers of a task and the delivery of updates and outcomes to them. `Task.publish`, emitters and chains
// call it. It never decides an outcome on its own account.

internal import OverdriveCore
internal import Synchronization

/// A call that is made when a task has its outcome.
@usableFromInline
@safe enum Handler<T: Sendable> {
    case value((T) -> Void)
    case error((any Error) -> Void)
    case completion((Result<T, any Error>) -> Void)
    /// A Swift task that awaits the value.
    case continuation(UnsafeContinuation<T, any Error>)
    /// A stream or a derived task, which may end before this task.
    case listener(Listener<T>)

    // Consumes the handler, so that its closure is neither retained for the call nor kept after it.
    @inlinable
    consuming func serve(_ outcome: Result<T, any Error>) {
        switch consume self {
        case .completion(let body):
            let left = unsafe stepOutOfLine()
            body(outcome)
            unsafe stepIntoLine(left)
        case .value(let body):
            guard case .success(let value) = outcome else { return }
            let left = unsafe stepOutOfLine()
            body(value)
            unsafe stepIntoLine(left)
        case .error(let body):
            guard case .failure(let error) = outcome, !(error is CancellationError) else { return }
            let left = unsafe stepOutOfLine()
            body(error)
            unsafe stepIntoLine(left)
        case .continuation(let continuation):
            let left = unsafe stepOutOfLine()
            unsafe continuation.resume(with: outcome)
            unsafe stepIntoLine(left)
        case .listener(let listener):
            listener.serve(outcome)
        }
    }
}

/// A handler of the outcome that can be removed. Streams and derived tasks use it. The closure leaves the thread's
/// line before it calls the program's code.
@usableFromInline
final class Listener<T: Sendable>: Sendable {
    // The thread that sets `isTaken` takes the closure; no other thread accesses it.
    private nonisolated(unsafe) var body: ((Result<T, any Error>) -> Void)?
    private let isTaken = Atomic(false)

    init(_ body: @escaping (Result<T, any Error>) -> Void) {
        unsafe self.body = body
    }

    private func take() -> ((Result<T, any Error>) -> Void)? {
        // relaxed: a thread that has the listener also sees its closure, and only one thread takes the closure
        isTaken.exchange(true, ordering: .relaxed) ? nil : unsafe body.take()
    }

    @usableFromInline
    func serve(_ outcome: Result<T, any Error>) { take()?(outcome) }

    /// Releases the closure, unless another thread has already called or released it.
    func giveUp() { _ = take() }
}

/// A handler of updates, which also receives the last update before its subscription.
///
/// The subscription waits in the task's event line for that delivery. The line's thread may be busy with the outcome;
/// the thread that brings the subscriber the outcome then delivers the last update first.
final class Subscription<T: Sendable>: Sendable {
    // The caller of `init` passed the closure over. One thread at a time calls it.
    private nonisolated(unsafe) let handler: (T) -> Void
    /// Whether the handler forwards updates to another task. Such calls run from the thread's line, so that a chain
    /// of tasks needs no deep stack.
    private let isRelay: Bool
    /// Whether the subscriber has ended. The lock of the task's handlers guards the flag.
    nonisolated(unsafe) var isGivenUp = false
    /// 0: waiting; 1: a thread delivers the last update; 2: delivered.
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

    /// Claims the delivery of the last update. Returns false if another thread has claimed it.
    func begin() -> Bool {
        // relaxed: the exchange passes no data
        state.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged
    }

    /// Marks the delivery as done, and releases the handler's writes.
    func end() { state.store(2, ordering: .releasing) }

    var isServed: Bool { state.load(ordering: .acquiring) == 2 }
}

/// The part of a task's result storage that does not depend on the result type.
class ResultExtras: @unchecked Sendable {
    // The subclass has the state.

    /// Removes all update handlers once the outcome is published.
    func endUpdates() {}
}

/// The handlers of a task beyond the first, and its updates.
///
/// Updates, and outcomes from emitters, pass through one line of events. One thread at a time serves the line. A
/// thread that finds the line served appends its event and returns.
final class TypedExtras<T: Sendable>: ResultExtras, @unchecked Sendable {
    enum Event {
        /// A new update handler, which receives the last update.
        case subscribe(Subscription<T>)
        /// An update of the attempt's emitter.
        case update(T, attempt: UInt16)
        /// An update, delivered only if `isWanted` returns true at that time.
        case updateIf(T, attempt: UInt16, isWanted: () -> Bool)
        case failureIf(any Error, attempt: UInt16, isWanted: () -> Bool)
        case outcome(Result<T, any Error>, attempt: UInt16)
        case completion(attempt: UInt16)
        /// A closure to call after the earlier events.
        case call(() -> Void)
    }

    struct Typed {
        var handlers: [Handler<T>] = []
        var updateHandlers: [Subscription<T>] = []
        var lastUpdate: T?
        var line = Fifo<Event>()
        var isServed = false
        var isOver = false
        /// The attempt that emitted the last update.
        var updatedAttempt: UInt16 = 0
        /// Whether the outcome is the last update, and not another value.
        var endedWithUpdate = false
    }

    // Callers pass the handlers over, and one thread at a time calls them.
    nonisolated(unsafe) private var typed = Typed()
    private let typedLock = Locked<UInt8>(0)

    func typed<R>(_ body: (inout Typed) -> R) -> R {
        typedLock.withLock { _ in unsafe body(&typed) }
    }

    /// Appends events to the line, and serves the line unless another thread does.
    ///
    /// If the calling thread is forwarding an update, the line is served after its current call.
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
                // The publisher may not have seen this object, if it was created after the outcome. Repeat the
                // publisher's call then.
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
                // An update of a failed attempt must not become the outcome of a later attempt.
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
            // Another thread may have published an outcome before this lock; no update may follow it.
            guard !typed.isOver else { return ([], nil) }
            typed.updatedAttempt = attempt
            defer { typed.lastUpdate = value }
            return (typed.updateHandlers, typed.lastUpdate)
        }
        withExtendedLifetime(last) {}  // Released after the lock: the value may be an object of the program.
        for subscription in handlers { subscription.call(with: value) }
    }

    /// Ends the task with the update as the outcome, unless another thread has decided the outcome.
    private func end(_ task: Task<T>, withUpdate value: T) {
        let reception = task.settle(failure: nil, returning: false)
        guard reception == .due || reception == .dueLater else { return }
        // No thread reads the flag before the outcome is published, and only this thread publishes it.
        typed { $0.endedWithUpdate = true }
        if reception == .due { task.publish(.success(value)) } else { task.publishLater(.success(value)) }
    }

    /// Removes the handlers of a stream or derived task that has ended. The search starts at the newest handlers.
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
        withExtendedLifetime(forgotten) {}  // Released after the lock.
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
        withExtendedLifetime(handlers) {}  // Released after the lock.
    }
}

extension Task {
    /// Calls `body` with each later update, and now with the last one if there is one.
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

    /// Removes the handlers of a stream or derived task that has ended, and releases them.
    final func forget(_ subscription: Subscription<T>?, _ listener: Listener<T>?) {
        listener?.giveUp()  // The listener may be in the task's single handler slot, from which it cannot be removed.
        if !isFinished { typedExtrasIfAny?.forget(subscription, listener) }
    }

    /// Delivers the last update of a finished task, unless the subscription has received it.
    private func serveLate(_ subscription: Subscription<T>) {
        guard subscription.begin() else { return }
        if let last = typedExtrasIfAny?.typed({ $0.lastUpdate }) { subscription.call(with: last) }
        subscription.end()
    }

    /// Calls `body` after the subscription's handler has received the last update. The task has its outcome.
    ///
    /// The call is made now, unless another thread is calling the handler. That thread then calls `body` next.
    final func call(behind subscription: Subscription<T>, _ body: @escaping () -> Void) {
        serveLate(subscription)
        if subscription.isServed { return body() }
        typedExtras.handle(.call(body), for: self)
    }
}
