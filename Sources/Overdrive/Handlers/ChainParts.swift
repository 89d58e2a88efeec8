// Owns what derived tasks keep while their source tasks run: the followed task, collected values, ordered deliveries.
// Task+Chains creates them. They never block a thread.

internal import OverdriveCore
internal import Synchronization

extension Task.Emitter {
    /// Emits a result. The expression is evaluated only if the attempt still accepts events.
    func update(with result: @autoclosure () -> Result<T, any Error>) {
        guard isActive else { return }
        switch result() {
        case .success(let value): self(.update(value))
        case .failure(let error): self(.failure(error))
        }
    }

    func end(with result: @autoclosure () -> Result<T, any Error>) {
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
    func begin<U>(_ part: Task<U>, _ forget: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let stop = stop(of: part) else { return forget }
        start(part)
        return {
            forget()
            stop()
        }
    }

    /// Starts a source task from the thread's line, unless the derived task has its outcome by then.
    func start<U>(_ part: Task<U>) {
        let queue = partsQueue
        Bounce.run {
            guard self.isActive else { return }
            if let queue { part.join(queue) } else { part.start() }
        }
    }

    /// Returns a closure that cancels a source task; nil if the source has begun. A source that will not be started
    /// is cancelled too, so that its waiters return.
    func stop<U>(of part: Task<U>) -> (@Sendable () -> Void)? {
        guard part.state == .initialized else { return nil }
        // A long chain is cancelled in a loop, not by nested calls.
        return { Bounce.run { part.cancel() } }
    }
}

/// Follows the task that the last update produced. Earlier tasks are cancelled, and their events have no effect.
final class Latest<U: Sendable>: Sendable {
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
final class Pair<A: Sendable, B: Sendable>: Sendable {
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
final class Collected<E: Sendable>: Sendable {
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
final class OrderedDelivery: Sendable {
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
