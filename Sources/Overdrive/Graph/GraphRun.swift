internal import OverdriveCore
internal import Synchronization

/// One run of a frozen graph: its counters, its results, and how nodes follow each other.
///
/// A run's storage is reused: `Frozen` keeps runs that have ended, `Results` gives its run back. A run is driven by any number of
/// threads at a time, each of which runs one node after another. How it ends: each job of the run counts on `group`, and so does
/// a node that waits for a retry or an asynchronous body; when the group is empty, no thread touches the run.
@safe @usableFromInline
final class GraphRun: CurrentWork {
    let layout: GraphLayout
    let queue: TaskQueue
    let group = WaitGroup()
    // `waitsFor` and `group` order all accesses to these words.
    nonisolated(unsafe) private let states: UnsafeMutablePointer<GraphNodeState>
    nonisolated(unsafe) private let slots: UnsafeMutableRawPointer
    private let ended = Atomic(0)
    /// Nodes that have not begun do not begin.
    private let isStopped = Atomic(false)
    private let isCancelled = Atomic(false)
    /// Written before the run's first job is submitted, and after its last one has ended.
    nonisolated(unsafe) private var token: CancellationToken?
    /// The number of the token's call of `cancel`.
    nonisolated(unsafe) private var watch: Int?
    /// The token's call of `cancel` was made, and may be under way: another run must not meet it.
    nonisolated(unsafe) private var isSpent = false
    /// How each input's slot is initialised. Written as `token` is.
    nonisolated(unsafe) private(set) var given: [GraphInput.Write] = []
    /// Swift tasks of asynchronous nodes that run.
    private let suspended = Locked<[Int: AsyncTask<Void, Never>]>([:])
    /// Nodes that wait for another attempt.
    private let retries = Locked<[Int: WeakRetryWait]>([:])
    let failures = Locked<[(node: Int, error: any Error)]>([])

    /// A worker runs this many nodes one after another between looks at the clock.
    private static var mostInline: Int { 32 }
    /// A worker that has run nodes for so long gives way to other jobs.
    private static var longestInline: Duration { .microseconds(200) }

    init(_ layout: GraphLayout, on queue: TaskQueue) {
        self.layout = layout
        self.queue = queue
        unsafe states = .allocate(capacity: layout.count)
        unsafe slots = .allocate(byteCount: max(1, layout.slotBytes), alignment: GraphLayout.slotAlignment)
        for i in 0..<layout.count {
            unsafe (states + i).initialize(to: GraphNodeState(run: self, index: Int32(i), waitsFor: layout.joins(of: i)))
        }
    }

    deinit {
        destroyResults()
        unsafe states.deinitialize(count: layout.count)
        unsafe states.deallocate()
        unsafe slots.deallocate()
    }

    /// Readies an ended run for another one. False: a discarded job left counters as no run may find them.
    func reset() -> Bool {
        guard isWhole, unsafe !isSpent else { return false }
        destroyResults()
        failures.withLock { $0 = [] }
        unsafe token = nil
        unsafe given = []
        suspended.withLock { $0 = [:] }
        retries.withLock { $0 = [:] }
        // Relaxed: no thread is in the run; the pool's lock orders this before the next one.
        ended.store(0, ordering: .relaxed)
        isStopped.store(false, ordering: .relaxed)
        isCancelled.store(false, ordering: .relaxed)
        return true
    }

    private func destroyResults() {
        for (node, destroy) in layout.owners where unsafe states[Int(node)].outcome == .finished {
            destroy(slot(of: Int(node)))
        }
        for i in 0..<layout.count {
            unsafe states[i].outcome = .pending
            unsafe states[i].attempts = 0
        }
    }

    // MARK: - Results

    private func slot(of node: Int) -> GraphSlot { unsafe GraphSlot(slots + layout.offset(of: node)) }

    var reader: TaskGraph.Reader { unsafe TaskGraph.Reader(slots: slots, states: states) }

    func outcome(of node: Int) -> GraphOutcome { unsafe states[node].outcome }

    /// Whether each node has ended in some way.
    var isWhole: Bool { ended.load(ordering: .acquiring) == layout.count }

    /// What `run` throws: the first failure, or that the run was cancelled.
    var error: TaskGraphError? {
        let failed = failures.withLock { $0 }
        if let first = failed.first, layout.policy != .goOn {
            return .failed(node: layout.name(of: first.node), error: first.error, others: failed.count - 1)
        }
        guard isRequested || !isWhole else { return nil }
        let unfinished = (0..<layout.count).count { [.cancelled, .pending, .skipped].contains(outcome(of: $0)) }
        return unfinished > 0 ? .cancelled(unfinished: unfinished) : nil
    }

    // MARK: - Cancelling

    @usableFromInline
    var isRequested: Bool {
        // Relaxed: it only says that results are not needed.
        unsafe isCancelled.load(ordering: .relaxed) || token?.isCancelled ?? false
    }

    /// Starts no further node, cancels the tasks of asynchronous nodes, and ends waits for a retry.
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)  // Relaxed: as above.
        stop()
        for task in suspended.withLock({ Array($0.values) }) { task.cancel() }
    }

    /// Starts no further node, and ends waits for a retry.
    private func stop() {
        isStopped.store(true, ordering: .relaxed)  // Relaxed: `mayBegin` is a hint.
        for waiting in retries.withLock({ Array($0.values) }) { waiting.wait?.end() }
    }

    private var mayBegin: Bool {
        if isStopped.load(ordering: .relaxed) { return false }  // Relaxed: a hint, no data goes with it.
        return true
    }

    // MARK: - Running

    /// Starts the run: all ready nodes but one become jobs, and the calling thread runs the last one if `here`.
    func start(here: Bool, token: CancellationToken?, given: [GraphInput.Write]) {
        unsafe self.token = token
        unsafe self.given = given
        if let token, layout.mayWait { unsafe watch = token.onCancel { [self] in cancel() } }
        group.enter()
        defer { group.leave() }
        let released = endInputs()
        let roots = layout.roots
        guard here, let own = released ?? roots.last.map({ Int($0) }), layout.isPlain(own) else {
            if let released { push(released) }
            return push(roots.lazy.map { Int($0) })
        }
        push((released == nil ? roots.dropLast() : roots[...]).lazy.map { Int($0) })
        drive(own, most: .max)
    }

    /// Ends the watch on the token. Called once the run has ended.
    func endWatch() {
        guard let token = unsafe token, let watch = unsafe watch else { return }
        unsafe isSpent = !token.withdraw(watch)
        unsafe self.watch = nil
    }

    /// Ends the inputs that are ready. Returns a node that they have released, if it may run here; others become jobs.
    private func endInputs() -> Int? {
        var own: Int?
        for input in layout.readyInputs {
            guard let outcome = execute(Int(input)) else { continue }  // an input has no retry
            ended.add(1, ordering: .acquiringAndReleasing)
            guard let next = release(Int(input), outcome) else { continue }
            if let own { push(own) }
            own = next
        }
        return own
    }

    /// The function of a node's job.
    private static let job: TaskQueue.Function = { context in
        guard let state = unsafe context?.assumingMemoryBound(to: GraphNodeState.self) else { return }
        let run = unsafe state.pointee.run
        run.drive(unsafe Int(state.pointee.index), most: run.mostOf(unsafe Int(state.pointee.index)))
    }

    /// A node that has its own queue or quality of service is followed by no other one on that queue's thread.
    private func mostOf(_ node: Int) -> Int { layout.isPlain(node) ? GraphRun.mostInline : 1 }

    private func push(_ node: Int) {
        if layout.isPlain(node) {
            return unsafe queue.async(
                group: group, qos: nil, function: GraphRun.job, context: UnsafeMutableRawPointer(states + node))
        }
        let special = layout.special(node)
        if case .suspending(let body)? = special?.body { return begin(node, suspending: body) }
        unsafe (special?.queue ?? queue).async(
            group: group, qos: special?.qos, function: GraphRun.job, context: UnsafeMutableRawPointer(states + node))
    }

    /// Submits released nodes: plain ones together.
    private func push(_ nodes: some Collection<Int>) {
        if nodes.count < 3 { return nodes.forEach { push($0) } }
        queue.asyncJobs(group: group) { batch in
            for node in nodes where layout.isPlain(node) {
                unsafe batch.async(function: GraphRun.job, context: UnsafeMutableRawPointer(states + node))
            }
        }
        for node in nodes where !layout.isPlain(node) { push(node) }
    }

    /// Runs a node, then one that it has released, and so on. Others that it has released become jobs.
    ///
    /// Every `most` nodes the thread looks at the clock. It gives way to other jobs once its time is over. With a `most` of 1 it
    /// runs no second node.
    private func drive(_ first: Int, most: Int) {
        // `whileCurrent` is generic: each call of it would look up types.
        var work = CurrentWorkReference(self)
        unsafe withUnsafeMutablePointer(to: &work) { work in
            let outer = unsafe CurrentWorkPlace.enter(work)
            defer { unsafe CurrentWorkPlace.leave(to: outer) }
            ended.add(follow(first, most: most), ordering: .acquiringAndReleasing)
        }
    }

    /// Returns how many nodes have ended.
    private func follow(_ first: Int, most: Int) -> Int {
        var node = first
        var count = 0
        var look = most
        var end: Duration?  // known from the first look on
        while true {
            guard let outcome = execute(node) else { return count }  // a retry will end it
            count += 1
            guard let next = release(node, outcome) else { return count }
            if count >= look {
                guard most > 1, end.map({ GraphRun.now() < $0 }) ?? true else {
                    push(next)
                    return count
                }
                if end == nil { end = GraphRun.now() + GraphRun.longestInline }
                look += most
            }
            node = next
        }
    }

    private static let first = ContinuousClock.now
    /// A function by itself: the clock's type is looked up whenever an instant is copied.
    @inline(never) private static func now() -> Duration { first.duration(to: .now) }

    /// Ends a node that an asynchronous body has finished.
    private func end(_ node: Int, _ outcome: GraphOutcome) {
        ended.add(1, ordering: .acquiringAndReleasing)
        if let next = release(node, outcome) { push(next) }
    }

    /// How a node ends that is not to run; nil if it is.
    private func verdict(on node: Int) -> GraphOutcome? {
        // Relaxed: ordered by `waitsFor`, whose last decrement brought us here.
        let verdict = unsafe states[node].verdict.load(ordering: .relaxed)
        if verdict != 0 {
            unsafe states[node].verdict.store(0, ordering: .relaxed)
            return verdict & GraphNodeState.doomed != 0 ? .skipped : .notTaken
        }
        if unsafe token?.isCancelled == true, !isCancelled.load(ordering: .relaxed) { cancel() }  // Relaxed: once is enough.
        return mayBegin ? nil : .cancelled
    }

    /// Runs a node's closure. Returns how it ended; nil if it is to be tried again later.
    private func execute(_ node: Int) -> GraphOutcome? {
        // All dependencies have ended: the counter is the next run's from here on.
        unsafe states[node].waitsFor.store(layout.joins(of: node), ordering: .relaxed)
        if let verdict = verdict(on: node) { return verdict }
        do {
            try unsafe layout.steps[node].call(reader, slot(of: node))
            unsafe states[node].attempts = 0
            return .finished
        } catch {
            return failed(node, error)
        }
    }

    /// Records a failed attempt. Returns `.failed`; nil if another attempt is under way.
    private func failed(_ node: Int, _ error: any Error) -> GraphOutcome? {
        if let retry = layout.special(node)?.retry, unsafe Int(states[node].attempts) < min(retry.times, Int(UInt16.max) - 1), mayBegin,
            !error.isCancellation, retry.isWorthwhile(error)
        {
            unsafe states[node].attempts += 1
            let wait = retry.wait(afterFailures: unsafe Int(states[node].attempts))
            guard wait > .zero else {
                push(node)
                return nil
            }
            let again = RetryWait(node, of: self)
            retries.withLock { $0[node] = WeakRetryWait(wait: again) }
            queue.asyncAfter(wait) { again.end() }
            if !mayBegin { again.end() }  // a stop that came before the wait was noted
            return nil
        }
        unsafe states[node].attempts = 0
        // The node answers the cancel.
        if isRequested, error.isCancellation { return .cancelled }
        failures.withLock { $0.append((node, error)) }
        if layout.policy == .stop { stop() }
        return .failed
    }

    private func begin(_ node: Int, suspending body: @escaping GraphNode.Suspending) {
        unsafe states[node].waitsFor.store(layout.joins(of: node), ordering: .relaxed)
        // A node that does not run ends in a job: a chain of these would otherwise end on one stack.
        if let verdict = verdict(on: node) {
            return queue.async(group: group) { [self] in end(node, verdict) }
        }
        group.enter()
        let task = AsyncTask(executorPreference: queue.taskExecutor) { [self] in
            defer { group.leave() }
            do {
                try await body(reader, slot(of: node))
                unsafe states[node].attempts = 0
                end(node, .finished)
            } catch {
                if let outcome = failed(node, error) { end(node, outcome) }
            }
        }
        // The last attempt's task stays until the run is given back: a late cancel of it changes nothing.
        suspended.withLock { $0[node] = task }
        if isRequested { task.cancel() }  // a cancel that came before the task was noted
    }

    /// The wait of `node` for another attempt is over.
    fileprivate func endRetryWait(of node: Int) {
        retries.withLock { _ = $0.removeValue(forKey: node) }
        push(node)
    }

    /// Tells the dependents of an ended node. Returns one that is ready, if it may run here; other ready ones become jobs.
    private func release(_ node: Int, _ outcome: GraphOutcome) -> Int? {
        unsafe states[node].outcome = outcome
        let successors = unsafe layout.successors(of: node)
        var next: Int?
        var other: Int?
        for at in successors.indices {
            let edge = unsafe successors[at]
            guard tell(edge, after: node, outcome) else { continue }
            if next == nil, layout.isPlain(edge.node) {
                next = edge.node
            } else if let other {
                unsafe pushAll(node, outcome, successors, from: at + 1, other, edge.node)
                return next
            } else {
                other = edge.node
            }
        }
        if let other { push(other) }
        return next
    }

    /// Tells one dependent. Returns whether it is ready.
    private func tell(_ edge: GraphEdge, after node: Int, _ outcome: GraphOutcome) -> Bool {
        if outcome != .finished || edge.kind.isBranch {
            let verdict = verdict(of: edge.kind, after: node, outcome)
            // Release by the decrement below, or by the job of the dependent.
            if verdict != 0 { unsafe states[edge.node].verdict.bitwiseOr(verdict, ordering: .relaxed) }
        }
        // No other thread counts for the only dependency.
        if layout.joins(of: edge.node) == 1 { return true }
        return unsafe states[edge.node].waitsFor.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// Tells the dependents from the `from`-th on. These and two others become jobs in one batch when they are ready.
    ///
    /// However many there are, this needs the batch's memory only.
    private func pushAll(
        _ node: Int, _ outcome: GraphOutcome, _ successors: UnsafeBufferPointer<GraphEdge>, from: Int, _ first: Int, _ second: Int
    ) {
        queue.asyncJobs(group: group) { batch in
            func add(_ node: Int) {
                guard layout.isPlain(node) else { return push(node) }
                unsafe batch.async(function: GraphRun.job, context: UnsafeMutableRawPointer(states + node))
            }
            add(first)
            add(second)
            for at in from..<successors.count {
                let edge = unsafe successors[at]
                if tell(edge, after: node, outcome) { add(edge.node) }
            }
        }
    }

    private func verdict(of kind: GraphEdge.Kind, after node: Int, _ outcome: GraphOutcome) -> UInt8 {
        switch (outcome, kind) {
        case (.finished, .needed), (.finished, .order), (.notTaken, .order): 0
        case (.finished, .whenTrue), (.finished, .whenFalse):
            unsafe (slots + layout.offset(of: node)).load(as: Bool.self) == (kind == .whenTrue) ? 0 : GraphNodeState.notTaken
        case (.notTaken, _): GraphNodeState.notTaken
        case (_, .order): layout.policy == .goOn ? 0 : GraphNodeState.doomed
        default: GraphNodeState.doomed
        }
    }
}

/// A wait for another attempt, as the run knows it: the timer keeps it.
private struct WeakRetryWait: Sendable {
    weak let wait: RetryWait?
}

/// A node that waits for another attempt. The run waits until this ends: by its timer, by a stop or a cancel, or by a
/// shutdown, which discards the timer's closure and with it this.
private final class RetryWait: Sendable {
    private let run: GraphRun
    private let node: Int
    private let isOver = Atomic(false)

    init(_ node: Int, of run: GraphRun) {
        self.run = run
        self.node = node
        run.group.enter()
    }

    /// Ends the wait, once.
    func end() {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        run.endRetryWait(of: node)
        run.group.leave()
    }

    deinit {
        if !isOver.load(ordering: .acquiring) { run.group.leave() }
    }
}
