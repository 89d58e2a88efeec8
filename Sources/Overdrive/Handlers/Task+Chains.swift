// Owns tasks that are derived from other tasks: `then`, `recover`, `switchTo`, `zip`, `all`, `race`. Programs call
// it. It never blocks a thread.

public import OverdriveCore
internal import Synchronization

/// Derived tasks are lazy. Starting or adding one starts its source tasks on the same queue, unless its outcome is
/// decided before.
///
/// Cancelling a derived task cancels the sources that it has started or would have started, but none that others had
/// started. A derived task that ends before its start, for example by a failed dependency, cancels its sources too. A
/// repeated attempt uses the existing outcomes of the sources instead of running them again. Stack use does not
/// depend on the length of a chain, or on the number of rounds of a loop of `then`.
extension Task {
    /// Returns a task that transforms this task's value.
    ///
    ///     let count = download.then { data in try decode(data).count }
    ///
    /// `transform` also transforms updates. A failure or cancellation is passed on.
    ///
    /// - Parameter transform: A closure that returns the new task's value.
    /// - Returns: The derived task.
    /// - Ordering: After this task's earlier handlers. Updates keep their order.
    /// - Threading: `transform` runs on the thread that publishes the value, so it should be short.
    /// - Cost: A task, and two handlers of this task.
    public final func then<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> U) -> Task<U> {
        Task<U>(body: .relay(parts: [self]) { emit in
            let forget = self.relay { value in
                emit.update(with: Result { try Bounce.outside { try transform(value) } })
            } outcome: { outcome, wasUpdate in
                switch outcome {
                case .failure(let error): emit(.failure(error))
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit.end(with: Result { try Bounce.outside { try transform(value) } })
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task that continues with another task, made from this task's value.
    ///
    ///     let page = login.then { session in fetchPage(session) }
    ///
    /// Each update also produces a task, and cancels the task of the update before.
    ///
    /// - Parameter transform: A closure that returns the task to continue with.
    /// - Returns: The derived task.
    /// - Ordering: The second task begins after this task's value.
    /// - Threading: `transform` runs on the thread that publishes the value. The task that it returns runs on the
    ///   derived task's queue.
    /// - Cost: A task, two handlers of this task, and a task for each value.
    public final func then<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> Task<U>) -> Task<U> {
        Task<U>(body: .relay(parts: [self]) { emit in
            let latest = Latest(emit)
            let forget = self.relay { value in
                latest.follow { try transform(value) }
            } outcome: { outcome, wasUpdate in
                switch outcome {
                case .failure(let error): emit(.failure(error))
                case .success(let value):
                    if !wasUpdate { latest.follow { try transform(value) } }
                    latest.isLast()
                }
            }
            let stop = emit.begin(self, forget)
            return {
                stop()
                latest.stop()
            }
        })
    }

    /// Returns a task that replaces this task's error by a value. Cancellation is passed on.
    ///
    ///     let logo = download.recover { _ in placeholder }
    ///
    /// - Parameter transform: A closure that returns the value for an error.
    /// - Returns: The derived task.
    /// - Ordering: After this task's earlier handlers. Updates keep their order.
    /// - Threading: `transform` runs on the thread that publishes the error, so it should be short.
    /// - Cost: A task, and two handlers of this task.
    public final func recover(_ transform: @escaping @Sendable (any Error) throws -> T) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let forget = self.relay { emit(.update($0)) } outcome: { outcome, wasUpdate in
                switch outcome {
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit(.value(value))
                case .failure(let error) where error.isCancellation: emit(.failure(error))
                case .failure(let error): emit.end(with: Result { try Bounce.outside { try transform(error) } })
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task that continues with another task after this task's error. Cancellation is passed on.
    ///
    /// - Parameter transform: A closure that returns the task to continue with.
    /// - Returns: The derived task.
    /// - Ordering: The other task begins after this task's error.
    /// - Threading: `transform` runs on the thread that publishes the error. The task that it returns runs on the
    ///   derived task's queue.
    /// - Cost: A task, two handlers of this task, and a task for an error.
    public final func recover(_ transform: @escaping @Sendable (any Error) throws -> Task<T>) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let latest = Latest(emit)
            let forget = self.relay { emit(.update($0)) } outcome: { outcome, wasUpdate in
                switch outcome {
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit(.value(value))
                case .failure(let error) where error.isCancellation: emit(.failure(error))
                case .failure(let error):
                    latest.follow { try transform(error) }
                    latest.isLast()
                }
            }
            let stop = emit.begin(self, forget)
            return {
                stop()
                latest.stop()
            }
        })
    }

    /// Returns a task whose updates, outcome and handlers are delivered on a queue, in order.
    ///
    /// On `TaskQueue.main`, events of the main thread are delivered at once. If the queue discards a delivery, the
    /// derived task is cancelled.
    ///
    ///     issues.switchTo(.main).onUpdate { show($0) }
    ///
    /// - Parameter queue: The queue that runs the handlers.
    /// - Returns: The derived task.
    /// - Ordering: The order of this task's events, even on a concurrent queue.
    /// - Threading: Handlers run where the queue's closures run.
    /// - Cost: A task, two handlers of this task, and at most one submission for each event.
    public final func switchTo(_ queue: TaskQueue) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let line = OrderedDelivery(to: queue) { emit.isDiscarded() }
            let forget = self.relay { value in
                line.deliver { emit(.update(value)) }
            } outcome: { outcome, wasUpdate in
                line.deliver {
                    switch outcome {
                    case .success where wasUpdate: emit(.completion)
                    case .success(let value): emit(.value(value))
                    case .failure(let error): emit(.failure(error))
                    }
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task with the values of both tasks. The first failure fails it and cancels the other task.
    ///
    /// - Parameter other: The other task.
    /// - Returns: The derived task.
    /// - Ordering: The two tasks run concurrently.
    /// - Threading: The thread that ends the later task combines the values.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public final func zip<U: Sendable>(_ other: Task<U>) -> Task<(T, U)> {
        Task<(T, U)>(body: .relay(parts: [self, other]) { emit in
            let pair = Pair<T, U>()
            let forgetFirst = self.relayOutcome { outcome in
                switch outcome {
                case .success(let value): pair.note(first: value).map { emit(.value($0)) }
                case .failure(let error): emit(.failure(error))
                }
            }
            let forgetSecond = other.relayOutcome { outcome in
                switch outcome {
                case .success(let value): pair.note(second: value).map { emit(.value($0)) }
                case .failure(let error): emit(.failure(error))
                }
            }
            let stops = [emit.begin(self, forgetFirst), emit.begin(other, forgetSecond)]
            return { for stop in stops { stop() } }
        })
    }

    /// Returns a task with the values of both tasks; see ``zip(_:)``.
    ///
    /// - Parameters:
    ///   - a: The first task.
    ///   - b: The second task.
    /// - Returns: The derived task.
    /// - Ordering: The two tasks run concurrently.
    /// - Threading: The thread that ends the later task combines the values.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public static func zip<A: Sendable, B: Sendable>(_ a: Task<A>, _ b: Task<B>) -> Task<(A, B)> where T == (A, B) {
        a.zip(b)
    }

    /// Returns a task with the values of all tasks, in order. The first failure fails it and cancels the others.
    ///
    ///     let pages = Task.all(urls.map(fetch))
    ///
    /// - Parameter tasks: The tasks.
    /// - Returns: The derived task.
    /// - Ordering: The tasks run concurrently, and begin in the order of the array.
    /// - Threading: The thread that ends the last task makes the array.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public static func all<E: Sendable>(_ tasks: [Task<E>]) -> Task<[E]> where T == [E] {
        Task(body: .relay(parts: tasks) { emit in
            guard !tasks.isEmpty else {
                emit(.value([]))
                return {}
            }
            let values = Collected<E>(count: tasks.count)
            let forgets = tasks.enumerated().map { index, task in
                task.relayOutcome { outcome in
                    switch outcome {
                    case .success(let value): values.note(value, at: index).map { emit(.value($0)) }
                    case .failure(let error): emit(.failure(error))
                    }
                }
            }
            let stops = Swift.zip(tasks, forgets).map { emit.begin($0, $1) }
            return { for stop in stops { stop() } }
        })
    }

    /// Returns a task with the outcome of the first task to finish. The others are cancelled.
    ///
    /// - Parameter tasks: The tasks. If there are none, the derived task fails with ``TaskError/nothingToDo``.
    /// - Returns: The derived task.
    /// - Ordering: The tasks run concurrently, and begin in the order of the array.
    /// - Threading: The outcome comes on the thread that ends the first task.
    /// - Cost: A task, and a handler of each task.
    public static func race(_ tasks: [Task<T>]) -> Task<T> {
        Task(body: .relay(parts: tasks) { emit in
            if tasks.isEmpty { emit(.failure(TaskError.nothingToDo)) }
            let forgets = tasks.map { task in task.relayOutcome { outcome in emit.end(with: outcome) } }
            let stops = Swift.zip(tasks, forgets).map { emit.begin($0, $1) }
            return { for stop in stops { stop() } }
        })
    }

    /// Forwards the outcome through the thread's line, so that forwarding does not nest. Returns a closure that
    /// removes the handler.
    private func relayOutcome(
        _ body: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let listener = Listener<T> { outcome in Bounce.run { body(outcome) } }
        add(.listener(listener))
        return { [weak self] in self?.forget(nil, listener) }
    }

    /// Forwards updates, and then the outcome. Returns a closure that removes the handlers.
    fileprivate func relay(
        updates: @escaping @Sendable (T) -> Void,
        outcome body: @escaping @Sendable (Result<T, any Error>, _ wasUpdate: Bool) -> Void
    ) -> @Sendable () -> Void {
        let subscription = subscribe(isRelay: true, updates)
        let listener = Listener<T> { [weak self] outcome in
            let wasUpdate = self?.isLastUpdateTheValue ?? false
            let deliver = { Bounce.run { body(outcome, wasUpdate) } }
            guard let self else { return deliver() }
            call(behind: subscription, deliver)
        }
        add(.listener(listener))
        return { [weak self] in self?.forget(subscription, listener) }
    }
}

extension Task.Emitter {
    /// Emits a result. The expression is evaluated only if the attempt still accepts events.
    fileprivate func update(with result: @autoclosure () -> Result<T, any Error>) {
        guard isActive else { return }
        switch result() {
        case .success(let value): self(.update(value))
        case .failure(let error): self(.failure(error))
        }
    }

    fileprivate func end(with result: @autoclosure () -> Result<T, any Error>) {
        guard isActive else { return }
        switch result() {
        case .success(let value): self(.value(value))
        case .failure(let error): self(.failure(error))
        }
    }

    /// Starts a source task, unless it has begun.
    ///
    /// Returns the closure to call at the end of the derived task. It calls `forget`, and cancels the source if it
    /// was started here.
    fileprivate func begin<U>(_ part: Task<U>, _ forget: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let stop = stop(of: part) else { return forget }
        start(part)
        return {
            forget()
            stop()
        }
    }

    /// Starts a source task from the thread's line, unless the derived task has its outcome by then.
    fileprivate func start<U>(_ part: Task<U>) {
        let queue = partsQueue
        Bounce.run {
            guard self.isActive else { return }
            if let queue { part.join(queue) } else { part.start() }
        }
    }

    /// Returns a closure that cancels a source task; nil if the source has begun. A source that will not be started
    /// is cancelled too, so that its waiters return.
    fileprivate func stop<U>(of part: Task<U>) -> (@Sendable () -> Void)? {
        guard part.state == .initialized else { return nil }
        // A long chain is cancelled in a loop, not by nested calls.
        return { Bounce.run { part.cancel() } }
    }
}

/// Follows the task that the last update produced. Earlier tasks are cancelled, and their events have no effect.
private final class Latest<U: Sendable>: Sendable {
    /// A task that is no longer followed.
    private struct Followed {
        let task: Task<U>?
        let stop: (@Sendable () -> Void)?
        let forget: (@Sendable () -> Void)?

        func end() {
            forget?()
            stop?()
        }
    }

    private struct State {
        /// The followed task. This may be the only reference to it. It is released after the lock, because the
        /// release may end the task and call back.
        var current: Task<U>?
        var stopCurrent: (@Sendable () -> Void)?
        var forgetCurrent: (@Sendable () -> Void)?
        var generation = 0
        var currentIsOver = false
        var noneFollows = false
        var isStopped = false

        mutating func next(_ task: Task<U>?, stop: (@Sendable () -> Void)?) -> Followed {
            generation += 1
            currentIsOver = false
            defer { (current, stopCurrent) = (task, stop) }
            return Followed(task: current.take(), stop: stopCurrent.take(), forget: forgetCurrent.take())
        }
    }
    private let state = Locked(State())
    private let emit: Task<U>.Emitter

    init(_ emit: Task<U>.Emitter) {
        self.emit = emit
    }

    /// Begins the task that `transform` returns, unless the derived task accepts no more events.
    func follow(_ transform: () throws -> Task<U>) {
        guard emit.isActive else { return }
        let task: Task<U>
        do { task = try Bounce.outside(transform) } catch { return emit(.failure(error)) }
        let stop = emit.stop(of: task)
        let entered = state.withLock { state -> (generation: Int, before: Followed)? in
            if state.isStopped { return nil }
            let before = state.next(task, stop: stop)
            return (state.generation, before)
        }
        guard let entered else { return }
        let generation = entered.generation
        entered.before.end()
        let forget = task.relay { [self] value in
            emit.update(value) { self.isCurrent(generation) }
        } outcome: { [self] outcome, wasUpdate in
            end(generation, outcome, wasUpdate)
        }
        let isKept = state.withLock { state in
            guard state.generation == generation else { return false }
            state.forgetCurrent = forget
            return true
        }
        if !isKept { forget() }
        if stop != nil { emit.start(task) }
    }

    private func isCurrent(_ generation: Int) -> Bool {
        state.withLock { $0.generation == generation }
    }

    private func end(_ generation: Int, _ outcome: Result<U, any Error>, _ wasUpdate: Bool) {
        guard isCurrent(generation) else { return }
        switch outcome {
        case .failure(let error):
            emit.fail(error) { self.isCurrent(generation) }
        case .success(let value):
            if !wasUpdate { emit.update(value) { self.isCurrent(generation) } }
            let isEnd = state.withLock { state in
                // A handler of the update may have emitted another update.
                guard state.generation == generation else { return false }
                state.currentIsOver = true
                return state.noneFollows
            }
            if isEnd { emit(.completion) }
        }
    }

    /// Marks the followed task as the last one: its outcome ends the derived task.
    func isLast() {
        let isEnd = state.withLock { state in
            state.noneFollows = true
            return state.currentIsOver
        }
        if isEnd { emit(.completion) }
    }

    func stop() {
        let before = state.withLock { state in
            state.isStopped = true
            return state.next(nil, stop: nil)
        }
        before.end()
    }
}

/// The values of two tasks, until both are known.
private final class Pair<A: Sendable, B: Sendable>: Sendable {
    private let values = Locked<(A?, B?)>((nil, nil))

    func note(first: A) -> (A, B)? {
        values.withLock { values in
            values.0 = first
            return values.1.map { (first, $0) }
        }
    }

    func note(second: B) -> (A, B)? {
        values.withLock { values in
            values.1 = second
            return values.0.map { ($0, second) }
        }
    }
}

/// The values of several tasks, until all are known.
private final class Collected<E: Sendable>: Sendable {
    private let state: Locked<(values: [E?], missing: Int)>

    init(count: Int) {
        state = Locked((Array(repeating: nil, count: count), count))
    }

    func note(_ value: E, at index: Int) -> [E]? {
        state.withLock { state in
            state.values[index] = value
            state.missing -= 1
            return state.missing == 0 ? state.values.compactMap { $0 } : nil
        }
    }
}

/// Runs closures on a queue, one at a time and in order, even if the queue is concurrent.
private final class OrderedDelivery: Sendable {
    private struct State {
        var waiting = Fifo<@Sendable () -> Void>()
        var isUnderWay = false
    }
    private let state = Locked(State())
    private let queue: TaskQueue
    private let whenDiscarded: @Sendable () -> Void

    /// - Parameter whenDiscarded: Called if the queue discards the closures instead of running them.
    init(to queue: TaskQueue, whenDiscarded: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.whenDiscarded = whenDiscarded
    }

    func deliver(_ body: @escaping @Sendable () -> Void) {
        let isUnderWay = state.withLock { state in
            state.waiting.append(body)
            defer { state.isUnderWay = true }
            return state.isUnderWay
        }
        if isUnderWay { return }
        if queue.isMainAndHere { return work() }
        let drain = Drain(of: self)
        queue.async { drain.run() }
    }

    /// The content of the queue's closure. Only the closure references it, so its deinitialiser detects a discarded
    /// closure.
    private final class Drain: Sendable {
        private let line: OrderedDelivery
        // The thread that runs the closure writes the flag; `deinit` reads it after the last reference is gone.
        nonisolated(unsafe) private var hasRun = false

        init(of line: OrderedDelivery) {
            self.line = line
        }

        func run() {
            unsafe hasRun = true
            line.work()
        }

        deinit {
            if unsafe !hasRun { line.isDiscarded() }
        }
    }

    private func isDiscarded() {
        let discarded = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        withExtendedLifetime(discarded, whenDiscarded)
    }

    private func work() {
        while let next = state.withLock({ state -> (@Sendable () -> Void)? in
            let next = state.waiting.popFirst()
            if next == nil { state.isUnderWay = false }
            return next
        }) {
            next()
        }
    }
}
