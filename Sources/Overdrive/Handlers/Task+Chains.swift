public import OverdriveCore
internal import Synchronization

/// Tasks made of tasks. They are lazy: starting or adding one starts what it is made of, on the same queue, unless its
/// outcome is decided before. Cancelling one cancels what it has started, or would have, and leaves alone what others
/// had started before. One that ends before its start, as by a failed dependency, cancels its parts too. An attempt of it that is repeated finds the outcomes that were there: retry what it is made of
/// instead. A chain may be as long as memory allows, and so may a loop whose `then` leads to the next round: neither takes
/// more stack than a short one.
extension Task {
    /// A task that continues with this task's value.
    ///
    ///     let count = download.then { data in try decode(data).count }
    ///
    /// Updates pass through `transform` too. A failure or cancellation is passed on.
    ///
    /// - Ordering: After this task's handlers that were there before; updates keep their order.
    /// - Threading: `transform` runs on the thread that brings the value, so it should be short.
    /// - Cost: A task and two handlers of this one.
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

    /// A task that continues with the task that a closure makes from this task's value.
    ///
    ///     let page = login.then { session in fetchPage(session) }
    ///
    /// An update leads to a task as well, and cancels that of the update before.
    ///
    /// - Ordering: The second task begins when this one's value is there.
    /// - Threading: `transform` runs on the thread that brings the value; the task that it returns on the new task's
    ///   queue.
    /// - Cost: A task, two handlers of this one, and for each value the task that it leads to.
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

    /// A task that has a value in place of this one's error. Cancellation is passed on.
    ///
    ///     let logo = download.recover { _ in placeholder }
    ///
    /// - Ordering: After this task's handlers that were there before; updates keep their order.
    /// - Threading: `transform` runs on the thread that brings the error, so it should be short.
    /// - Cost: A task and two handlers of this one.
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

    /// A task that continues with another task in place of this one's error. Cancellation is passed on.
    ///
    /// - Ordering: The other task begins when this one's error is there.
    /// - Threading: `transform` runs on the thread that brings the error; the task that it returns on the new task's
    ///   queue.
    /// - Cost: A task, two handlers of this one, and for an error the task that it leads to.
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

    /// A task whose updates and outcome, and so its handlers, come on a queue, in their order. On `TaskQueue.main`
    /// they come at once where the main thread brings them. It is cancelled where the queue discards them.
    ///
    ///     issues.switchTo(.main).onUpdate { show($0) }
    ///
    /// - Ordering: As this task's, whatever number of closures the queue runs at a time.
    /// - Threading: Handlers run where the queue's closures do.
    /// - Cost: A task, two handlers of this one, and a submission for each time that something comes.
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

    /// Two tasks' values together. The first failure is the failure, and cancels the other.
    ///
    /// - Ordering: The two run beside each other.
    /// - Threading: The value is put together on the thread that ends the later one.
    /// - Cost: A task, a handler of each, and a lock for each value.
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

    /// Two tasks' values together; see ``zip(_:)``.
    ///
    /// - Ordering: The two run beside each other.
    /// - Threading: The value is put together on the thread that ends the later one.
    /// - Cost: A task, a handler of each, and a lock for each value.
    public static func zip<A: Sendable, B: Sendable>(_ a: Task<A>, _ b: Task<B>) -> Task<(A, B)> where T == (A, B) {
        a.zip(b)
    }

    /// The values of all tasks, in their order. The first failure is the failure, and cancels the others.
    ///
    ///     let pages = Task.all(urls.map(fetch))
    ///
    /// - Ordering: They run beside each other, and begin in their order.
    /// - Threading: The array is put together on the thread that ends the last one.
    /// - Cost: A task, a handler of each, and a lock for each value.
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

    /// The outcome of the first task to finish. The others are cancelled.
    ///
    /// - Parameter tasks: None of them fails with ``TaskError/nothingToDo``.
    /// - Ordering: They run beside each other, and begin in their order.
    /// - Threading: The outcome comes on the thread that ends the first one.
    /// - Cost: A task and a handler of each.
    public static func race(_ tasks: [Task<T>]) -> Task<T> {
        Task(body: .relay(parts: tasks) { emit in
            if tasks.isEmpty { emit(.failure(TaskError.nothingToDo)) }
            let forgets = tasks.map { task in task.relayOutcome { outcome in emit.end(with: outcome) } }
            let stops = Swift.zip(tasks, forgets).map { emit.begin($0, $1) }
            return { for stop in stops { stop() } }
        })
    }

    /// Hands the outcome on, one task after another instead of one inside the other. Returns the closure that ends this.
    private func relayOutcome(
        _ body: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let listener = Listener<T> { outcome in Bounce.run { body(outcome) } }
        add(.listener(listener))
        return { [weak self] in self?.forget(nil, listener) }
    }

    /// Hands updates on, and the outcome after them. Returns the closure that ends this.
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
    /// Not worked out where nobody listens any more.
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

    /// Starts a task that this one is made of, unless it has begun. Returns the closure for the end of this task: it
    /// calls `forget`, and stops the part if it was started here.
    fileprivate func begin<U>(_ part: Task<U>, _ forget: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let stop = stop(of: part) else { return forget }
        start(part)
        return {
            forget()
            stop()
        }
    }

    /// Unless the outcome is there before its turn to start has come.
    fileprivate func start<U>(_ part: Task<U>) {
        let queue = partsQueue
        Bounce.run {
            guard self.isActive else { return }
            if let queue { part.join(queue) } else { part.start() }
        }
    }

    /// What stops a task, also where it will not be started: whoever waits for it waits no longer. nil: it has begun.
    fileprivate func stop<U>(of part: Task<U>) -> (@Sendable () -> Void)? {
        guard part.state == .initialized else { return nil }
        // A long chain is cancelled one after another, not one inside the other.
        return { Bounce.run { part.cancel() } }
    }
}

/// The task that the last update has led to: its predecessors are cancelled, and what they say is ignored.
private final class Latest<U: Sendable>: Sendable {
    /// A task that was followed until now.
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
        /// Kept until another is followed: nobody else may hold it. Given up without the lock, because that may be its end,
        /// of which it tells.
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

    /// Begins the task that `transform` leads to, unless nobody listens any more.
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
                // Who hears of the update may have brought another.
                guard state.generation == generation else { return false }
                state.currentIsOver = true
                return state.noneFollows
            }
            if isEnd { emit(.completion) }
        }
    }

    /// What was followed last is the last.
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

/// Values that come one by one, until there are two.
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

/// Values that come one by one, until they are all there.
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

/// Hands closures to a queue in their order, one at a time, however many of them the queue runs.
private final class OrderedDelivery: Sendable {
    private struct State {
        var waiting = Fifo<@Sendable () -> Void>()
        var isUnderWay = false
    }
    private let state = Locked(State())
    private let queue: TaskQueue
    private let whenDiscarded: @Sendable () -> Void

    /// - Parameter whenDiscarded: The queue has taken closures back, in place of running them.
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

    /// What the queue's closure holds, and nobody else.
    private final class Drain: Sendable {
        private let line: OrderedDelivery
        // Written by the one thread that runs the closure, read when the last reference is gone.
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
