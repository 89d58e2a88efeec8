internal import OverdriveCore
internal import Synchronization

/// What is to be called when a task's outcome is there.
@usableFromInline
enum Handler<T: Sendable> {
    case value((T) -> Void)
    case error((any Error) -> Void)
    case completion((Result<T, any Error>) -> Void)
    /// The same for a task that is made of this one: it sets off what it has to in the thread's line.
    case relay((Result<T, any Error>) -> Void)
    /// A Swift task that awaits the value.
    case continuation(UnsafeContinuation<T, any Error>)

    // Takes the handler over: its closure is neither counted for the call nor kept after it.
    @inlinable
    consuming func serve(_ outcome: Result<T, any Error>) {
        switch consume self {
        case .relay(let body):
            body(outcome)
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
            continuation.resume(with: outcome)
            stepIntoLine(left)
        }
    }
}

/// A task's handlers beyond the first, and its updates.
///
/// Updates, and the outcome that an emitter announces, pass through one line, which one thread at a time
/// serves: whoever finds it served puts its event in and goes on.
final class TypedExtras<T: Sendable>: TaskExtras, @unchecked Sendable {
    enum Event {
        /// A handler comes, and is owed the last update.
        case subscribe((T) -> Void)
        /// What an emitter of the attempt says.
        case update(T, attempt: UInt16)
        case outcome(Result<T, any Error>, attempt: UInt16)
        case completion(attempt: UInt16)
    }

    struct Typed {
        var handlers: [Handler<T>] = []
        var updateHandlers: [(T) -> Void] = []
        var lastUpdate: T?
        var line: [Event] = []
        var isServed = false
        var isOver = false
        /// The outcome is the last update, not another value.
        var endedWithUpdate = false
    }

    // Handlers are handed over by their callers, and called by one thread at a time.
    nonisolated(unsafe) private var typed = Typed()
    private let typedLock = Locked<UInt8>(0)

    func typed<R>(_ body: (inout Typed) -> R) -> R {
        typedLock.withLock { _ in body(&typed) }
    }

    /// Puts events into the line, and serves the line unless another thread does.
    func handle(_ events: Event..., for task: Task<T>) {
        let isServed = typed { typed in
            typed.line += events
            defer { typed.isServed = true }
            return typed.isServed
        }
        guard !isServed else { return }
        while let event = nextEvent() {
            switch event {
            case .subscribe(let handler):
                let last = typed { typed in
                    if !typed.isOver { typed.updateHandlers.append(handler) }
                    return typed.lastUpdate
                }
                // The end sees this object only if it was there before.
                if task.isFinished { endUpdates() }
                if let last { Bounce.aside { handler(last) } }
            case .update(let value, let attempt):
                guard task.isUnderWay(attempt) else { continue }
                let handlers = typed { typed in
                    typed.lastUpdate = value
                    return typed.updateHandlers
                }
                Bounce.aside { for handler in handlers { handler(value) } }
            case .outcome(let outcome, let attempt):
                guard task.isUnderWay(attempt) else { continue }
                if case .success = outcome { typed { $0.endedWithUpdate = true } }
                task.conclude(outcome, returning: false)
            case .completion(let attempt):
                guard task.isUnderWay(attempt) else { continue }
                let value = typed { typed in
                    typed.endedWithUpdate = typed.lastUpdate != nil
                    return typed.lastUpdate
                } ?? () as? T
                task.conclude(value.map { .success($0) } ?? .failure(TaskError.noValue), returning: false)
            }
        }
    }

    private func nextEvent() -> Event? {
        typed { typed in
            guard !typed.line.isEmpty else {
                typed.isServed = false
                return nil
            }
            return typed.line.removeFirst()
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
