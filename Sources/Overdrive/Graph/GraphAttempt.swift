// Owns an attempt of a node that suspends, has a time limit or spawns nodes. `GraphRun` makes one for each attempt of
// such a node; plain nodes have none.

internal import OverdriveCore
internal import Synchronization

/// The time limit of a node.
struct GraphLimit: Sendable {
    let time: Duration
    /// Whether a run waits for the closure after the limit.
    let waits: Bool
}

/// One attempt of a node: its closure and the closures that it spawns, which are its parts.
///
/// The attempt ends when all parts have returned. It counts as one in the run's group. If the run does not wait after a
/// time limit, the node ends at the limit. The attempt then keeps the run's memory until the last part returns.
@usableFromInline
final class GraphAttempt: CurrentWork {
    private struct State {
        /// The number of parts that have not returned.
        var parts = 1
        /// The number of parts so far. It is the number of the next part.
        var count = 1
        /// Whether the node's slot has a value.
        var hasValue = false
        var failure: (name: String?, error: any Error)?
        /// Whether a part did not run.
        var isCut = false
        /// Whether the node has failed at its limit.
        var isMarked = false
        /// Whether the node ended at its limit, although parts still run.
        var isLeft = false
        var timer: TaskQueue.Timer?
        /// The Swift tasks of asynchronous parts.
        var tasks: [Int: AsyncTask<Void, Never>] = [:]
    }

    /// A closure of the attempt.
    enum Body: Sendable {
        case direct(@Sendable (GraphAttempt) throws -> Void)
        case suspending(@Sendable (GraphAttempt) async throws -> Void)
    }

    private let run: GraphRun
    private let node: Int
    private let special: GraphNode
    private let state = Locked(State())
    /// The time of the limit by `RunClock`, in nanoseconds.
    private let deadline = Atomic<Int64>(.max)

    init(_ node: Int, _ special: GraphNode, in run: GraphRun) {
        self.run = run
        self.node = node
        self.special = special
    }

    /// Whether the run was cancelled, or the limit has passed.
    ///
    /// The clock answers, because a timer fires late if all workers are busy.
    @usableFromInline
    var isRequested: Bool { run.isRequested || isOver }

    private var isOver: Bool {
        // Relaxed: the deadline publishes no data.
        special.limit != nil && GraphAttempt.nanoseconds(RunClock.now) >= deadline.load(ordering: .relaxed)
    }

    private static func nanoseconds(_ time: Duration) -> Int64 { Int64(time / .nanoseconds(1)) }

    func cancelTasks() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }

    // MARK: - Parts

    /// Submits the node's closure. The run's group counts the attempt.
    func begin() {
        let body: Body =
            switch special.body {
            case .direct(let body): .direct { try body($0.run.reader(for: $0), $0.run.slot(of: $0.node)) }
            case .suspending(let body): .suspending { try await body($0.run.reader(for: $0), $0.run.slot(of: $0.node)) }
            }
        start(GraphPart(self, 0, nil), body)
    }

    /// Adds a closure to the attempt, and submits it.
    func spawn(_ name: String, _ body: Body) {
        let number = state.withLock { state -> Int? in
            guard state.parts > 0 else { return nil }
            state.parts += 1
            defer { state.count += 1 }
            return state.count
        }
        let path = run.layout.name(of: node) + "/"
        guard let number else {
            trap("TaskGraph.Context.spawn: the node has ended (\"\(path.dropLast())\"). Spawn before its closures return.")
        }
        start(GraphPart(self, number, path + (name.isEmpty ? "\(number - 1)" : name)), body)
    }

    private func start(_ part: GraphPart, _ body: Body) {
        switch body {
        case .direct(let body):
            let queue = part.name == nil ? special.queue ?? run.queue : run.queue
            queue.async(qos: special.qos) { [self] in
                guard begin(part) else { return }
                let failure = whileCurrent { call(body) }
                end(part, failure)
            }
        case .suspending(let body):
            let task = AsyncTask(executorPreference: run.queue.taskExecutor) { [self] in
                guard begin(part) else { return }
                var failure: (any Error)?
                do { try await body(self) } catch { failure = error }
                end(part, failure)
            }
            // The task of a part that has returned may remain in the list. A late cancel of it has no effect.
            state.withLock { $0.tasks[part.number] = task }
            // A cancel may have come before the task, or this attempt, was in its list.
            if isRequested { task.cancel() }
        }
    }

    /// Returns the error of a closure that does not suspend.
    private func call(_ body: @Sendable (GraphAttempt) throws -> Void) -> (any Error)? {
        do {
            // A closure that the run leaves behind may never return. Its worker is then replaced by a spare.
            if special.limit?.waits == false { try blocking { try body(self) } } else { try body(self) }
            return nil
        } catch {
            return error
        }
    }

    /// Starts the clock with the node's closure. Returns false if the part must not run; it has then ended.
    private func begin(_ part: GraphPart) -> Bool {
        part.begins()
        guard part.name == nil else {
            if !isRequested, run.mayBegin { return true }
            partEnded(part.number, name: part.name, nil, isCut: true)
            return false
        }
        unsafe run.record?.started(node)
        guard let limit = special.limit else { return true }
        // Relaxed: the deadline publishes no data.
        deadline.store(GraphAttempt.nanoseconds(min(limit.time, .seconds(1 << 31)) + RunClock.now), ordering: .relaxed)
        let timer = run.queue.asyncAfter(limit.time) { [self] in reachLimit() }
        state.withLock { $0.timer = timer }
        return true
    }

    private func end(_ part: GraphPart, _ error: (any Error)?) {
        if let name = part.name {
            unsafe run.record?.spawned(name, by: node, ready: part.ready, started: part.started, failed: error != nil)
        }
        partEnded(part.number, name: part.name, error, isCut: false)
    }

    /// Notes that a part has returned, or did not run. The last part ends the attempt.
    private func partEnded(_ number: Int, name: String?, _ error: (any Error)?, isCut: Bool) {
        let final = state.withLock { state -> State? in
            if name == nil, !isCut {
                state.hasValue = error == nil
                if !state.isLeft { unsafe run.record?.ended(node) }
            }
            if let error, state.failure == nil { state.failure = (name, error) }
            if isCut { state.isCut = true }
            state.tasks[number] = nil
            state.parts -= 1
            return state.parts == 0 ? state : nil
        }
        if let final { end(final) }
    }

    /// Ends a part whose job a shutdown of the scheduler has discarded.
    fileprivate func discard(_ number: Int, name: String?) {
        run.cancel()
        partEnded(number, name: name, nil, isCut: true)
    }

    // MARK: - The end

    private func end(_ final: State) {
        final.timer?.cancel()
        let isOver = isOver
        if final.hasValue, final.isLeft || final.isMarked || final.failure != nil || final.isCut || isOver {
            special.destroy?(run.slot(of: node))
        }
        if final.isLeft { return }
        run.forget(self, of: node)
        let outcome: GraphOutcome? =
            if final.isMarked {
                run.settle(node, as: .failed)
            } else if let limit = special.limit, isOver {
                run.failed(node, TaskGraph.TimeLimitError(limit: limit.time), mayRetry: limit.waits)
            } else if let (name, error) = final.failure {
                run.failed(node, error, in: name)
            } else {
                run.settle(node, as: final.isCut ? .cancelled : .finished)
            }
        if let outcome { run.end(node, outcome) }
        run.group.leave()
    }

    /// Cancels the parts at the limit. Unless a retry may follow, the node has then failed.
    private func reachLimit() {
        guard let limit = special.limit else { return }
        var isFinal = true
        let tasks = state.withLock { state -> [AsyncTask<Void, Never>]? in
            guard state.parts > 0 else { return nil }
            if limit.waits, let retry = special.retry, run.hasAttempts(node, of: retry) { isFinal = false }
            state.isMarked = isFinal
            state.isLeft = !limit.waits
            if state.isLeft { unsafe run.record?.ended(node) }
            run.group.enter()  // The attempt's end may come before the calls below.
            return Array(state.tasks.values)
        }
        guard let tasks else { return }
        defer { run.group.leave() }
        if isFinal { run.note(failure: TaskGraph.TimeLimitError(limit: limit.time), of: node) }
        for task in tasks { task.cancel() }  // After the note: a task's handler for its cancellation may take long.
        guard !limit.waits else { return }
        run.leaveBehind()
        run.forget(self, of: node)
        run.end(node, run.settle(node, as: .failed))
        run.group.leave()
    }
}

/// A closure of an attempt. If a shutdown of the scheduler discards its job, the deinitialiser ends it.
private final class GraphPart: Sendable {
    let number: Int
    /// The path of a spawned node; nil for the closure of the node itself.
    let name: String?
    /// The time of the spawn, and of the start.
    let ready = RunClock.now
    // Only the thread that runs the part writes them.
    nonisolated(unsafe) private(set) var started = Duration.zero
    nonisolated(unsafe) private var hasBegun = false
    private let attempt: GraphAttempt

    init(_ attempt: GraphAttempt, _ number: Int, _ name: String?) {
        self.attempt = attempt
        self.number = number
        self.name = name
    }

    func begins() {
        unsafe started = RunClock.now
        unsafe hasBegun = true
    }

    deinit {
        if unsafe !hasBegun { attempt.discard(number, name: name) }
    }
}
