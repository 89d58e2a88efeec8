// Owns the state and the execution of one run of a frozen graph. `TaskGraph.Frozen` starts and cancels runs, and
// workers call `job`. A run never changes the layout.

internal import OverdriveCore
internal import Synchronization

/// One run of a frozen graph: its dependency counters, its results, and the order of its nodes.
///
/// Storage is reused: `Frozen` keeps finished runs, and `Results` returns its run to that pool. Any number of threads
/// work on a run, each on one node at a time. `group` counts each job of the run, each ``GraphAttempt``, and each node
/// that waits for a retry. When the group is empty, no thread accesses the run.
///
/// A plain node that is ready goes into `ready`. While the list has nodes, one job of the run is waiting in the queue or about to
/// look at the list. A job that takes a node submits the next job if more nodes are left.
@safe @usableFromInline
final class GraphRun: CurrentWork {
    let layout: GraphLayout
    let queue: TaskQueue
    let group = WaitGroup()
    // `waitsFor` and `group` order all accesses to this memory.
    nonisolated(unsafe) private let states: UnsafeMutablePointer<GraphNodeState>
    nonisolated(unsafe) private let slots: UnsafeMutableRawPointer
    private let ended = Atomic(0)
    private let ready = GraphReadyList()
    /// Whether a job that will take a ready node is submitted and has not begun.
    private let isJobWaiting = Atomic(false)
    /// The flags that a thread checks before it runs a node; see ``Flag``. Most runs have none.
    private let flags = Atomic<UInt8>(0)
    private let isCancelled = Atomic(false)
    /// The times of the current run, if it is recorded. It is written when `token` is.
    nonisolated(unsafe) private(set) var record: GraphRecord?
    /// The token of the current run. It is written before the run's first job is submitted, and cleared after the
    /// last job has ended.
    nonisolated(unsafe) private var token: CancellationToken?
    /// The registration of `cancel` with the token.
    nonisolated(unsafe) private var watch: CancellationToken.Handler?
    /// Whether the storage is not reused: the token's call of `cancel` may still be under way, or a closure runs that
    /// the run has left behind.
    private let isSpent = Atomic(false)
    /// The initialisers of the inputs' slots. It is written when `token` is.
    nonisolated(unsafe) private(set) var given: [GraphInput.Write] = []
    /// The attempts that have not ended.
    private let attempts = Locked<[Int: GraphAttempt]>([:])
    /// The nodes that wait for another attempt.
    private let retries = Locked<[Int: WeakRetryWait]>([:])
    /// The nodes that failed. A name is the path of the spawned node that did.
    let failures = Locked<[(node: Int, name: String?, error: any Error)]>([])

    /// The bits of `flags`.
    private enum Flag {
        /// After a stop or a cancel, nodes that have not begun do not begin.
        static var stopped: UInt8 { 1 }
        /// The run has a token.
        static var hasToken: UInt8 { 2 }
        /// The run has a record.
        static var recorded: UInt8 { 4 }
    }

    /// The number of nodes that a worker runs in a row before it reads the clock.
    private static var mostInline: Int { 32 }
    /// The time after which a worker stops running nodes in a row, so that other jobs can run.
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

    /// Resets a finished run for the next one. Returns false if a discarded job left the counters in an unusable
    /// state.
    func reset() -> Bool {
        guard isWhole, !isSpent.load(ordering: .relaxed) else { return false }  // Relaxed: the group orders it.
        destroyResults()
        failures.withLock { $0 = [] }
        unsafe token = nil
        unsafe record = nil
        unsafe given = []
        attempts.withLock { $0 = [:] }
        retries.withLock { $0 = [:] }
        // Relaxed: no thread accesses the run; the pool's lock orders this before the next run.
        ended.store(0, ordering: .relaxed)
        ready.clear()
        isJobWaiting.store(false, ordering: .relaxed)  // A shutdown discards a job without calling it.
        flags.store(0, ordering: .relaxed)
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

    func slot(of node: Int) -> GraphSlot { unsafe GraphSlot(slots + layout.offset(of: node)) }

    var reader: TaskGraph.Reader { unsafe TaskGraph.Reader(slots: slots, states: states, attempt: nil) }

    func reader(for attempt: GraphAttempt) -> TaskGraph.Reader {
        unsafe TaskGraph.Reader(slots: slots, states: states, attempt: .passUnretained(attempt))
    }

    func outcome(of node: Int) -> GraphOutcome { unsafe states[node].outcome }

    /// Whether all nodes have ended, with any outcome.
    var isWhole: Bool { ended.load(ordering: .acquiring) == layout.count }

    /// The error that `run` throws: the first failure or a cancellation; nil if there is none.
    var error: TaskGraphError? {
        let failed = failures.withLock { $0 }
        if let first = failed.first, layout.policy != .goOn {
            return .failed(node: first.name ?? layout.name(of: first.node), error: first.error, others: failed.count - 1)
        }
        guard isRequested || !isWhole else { return nil }
        let unfinished = (0..<layout.count).count { [.cancelled, .pending, .skipped].contains(outcome(of: $0)) }
        return unfinished > 0 ? .cancelled(unfinished: unfinished) : nil
    }

    // MARK: - Cancelling

    @usableFromInline
    var isRequested: Bool {
        // Relaxed: the flag only says that the results are not needed.
        unsafe isCancelled.load(ordering: .relaxed) || token?.isCancelled ?? false
    }

    /// Cancels the run: no further node starts, asynchronous nodes' tasks are cancelled, and waits for a retry end.
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)  // Relaxed: the flag only says that the results are not needed.
        stop()
        for attempt in attempts.withLock({ Array($0.values) }) { attempt.cancelTasks() }
    }

    /// Stops the run: no further node starts, and waits for a retry end.
    private func stop() {
        flags.bitwiseOr(Flag.stopped, ordering: .relaxed)  // Relaxed: `mayBegin` is a hint.
        for waiting in retries.withLock({ Array($0.values) }) { waiting.wait?.end() }
    }

    var mayBegin: Bool {
        flags.load(ordering: .relaxed) & Flag.stopped == 0  // Relaxed: the flag is a hint and publishes no data.
    }

    // MARK: - Running

    /// Starts the run. Ready nodes go into the list; if `here` is true, the calling thread runs nodes until the list is empty.
    func start(here: Bool, token: CancellationToken?, given: [GraphInput.Write], record: GraphRecord?) {
        unsafe self.token = token
        unsafe self.record = record
        let flag = (token == nil ? 0 : Flag.hasToken) | (record == nil ? 0 : Flag.recorded)
        if flag != 0 { flags.bitwiseOr(flag, ordering: .relaxed) }  // Relaxed: the submission of the first job publishes it.
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

    /// Removes the registration with the token. Called once the run has ended.
    func endWatch() {
        guard let watch = unsafe watch else { return }
        if !watch.remove() { isSpent.store(true, ordering: .relaxed) }  // Relaxed: as in `reset`.
        unsafe self.watch = nil
    }

    /// Ends the inputs that are ready. Returns one node that they released, if it may run on this thread; other
    /// released nodes become jobs.
    private func endInputs() -> Int? {
        var own: Int?
        for input in layout.readyInputs {
            guard let outcome = execute(Int(input)) else { continue }  // An input has no retry policy.
            ended.add(1, ordering: .acquiringAndReleasing)
            guard let next = release(Int(input), outcome) else { continue }
            if let own { push(own) }
            own = next
        }
        return own
    }

    /// The function of a job that takes a ready node.
    private static let job: TaskQueue.Function = { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<GraphRun>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.runReady() }
    }

    private func runReady() {
        // In one order with `submitIfNeeded`: a thread that finds this job still waiting has added its nodes before the look.
        _ = isJobWaiting.exchange(false, ordering: .sequentiallyConsistent)
        guard let node = unsafe ready.take(in: states) else { return }
        if !ready.isEmpty { submitIfNeeded() }
        drive(node, most: GraphRun.mostInline)
    }

    /// The function of the job of a node that has its own queue or quality of service.
    ///
    /// Such a node is followed by no other one on that queue's thread.
    private static let specialJob: TaskQueue.Function = { context in
        guard let state = unsafe context?.assumingMemoryBound(to: GraphNodeState.self) else { return }
        unsafe state.pointee.run.drive(Int(state.pointee.index), most: 1)
    }

    private func push(_ node: Int) {
        if layout.isPlain(node) { return add(first: node, last: node) }
        let special = layout.special(node)
        if let special, special.needsAttempt { return begin(node, special) }
        unsafe (special?.queue ?? queue).async(
            group: group, qos: special?.qos, function: GraphRun.specialJob, context: UnsafeMutableRawPointer(states + node))
    }

    /// Submits ready nodes: plain ones together. The first of the plain ones is taken first.
    private func push(_ nodes: some Collection<Int>) {
        var chain = GraphReadyChain()
        for node in nodes { push(node, by: &chain) }
        add(chain)
    }

    private func push(_ node: Int, by chain: inout GraphReadyChain) {
        if layout.isPlain(node) { unsafe chain.append(node, in: states) } else { push(node) }
    }

    private func add(_ chain: GraphReadyChain) {
        if let first = chain.first { add(first: first, last: chain.last) }
    }

    private func add(first: Int, last: Int) {
        unsafe ready.add(first: first, last: last, in: states)
        submitIfNeeded()
    }

    /// Submits a job unless one is waiting.
    private func submitIfNeeded() {
        if isJobWaiting.load(ordering: .sequentiallyConsistent) || isJobWaiting.exchange(true, ordering: .sequentiallyConsistent) { return }
        unsafe queue.async(
            group: group, qos: nil, function: GraphRun.job, context: Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs a node, then a node that it has released or else the newest ready node, and so on.
    ///
    /// After every `most` nodes the thread reads the clock. It submits the next node and returns when its time is
    /// used up. If `most` is 1, it runs only one node.
    private func drive(_ first: Int, most: Int) {
        // This inlines `whileCurrent`, which is generic: each call would look up type metadata.
        var work = CurrentWorkReference(self)
        unsafe withUnsafeMutablePointer(to: &work) { work in
            let outer = unsafe CurrentWorkPlace.enter(work)
            defer { unsafe CurrentWorkPlace.leave(to: outer) }
            ended.add(follow(first, most: most), ordering: .acquiringAndReleasing)
        }
    }

    /// Runs a chain of nodes; see `drive`. Returns the number of nodes that have ended.
    private func follow(_ first: Int, most: Int) -> Int {
        var node = first
        var (count, steps) = (0, 0)  // The nodes that have ended, and the bodies that were called.
        var look = most
        var end: Duration?  // Set at the first look at the clock.
        while true {
            var released: Int?
            // If a retry will end the node, it has released nothing.
            steps += 1
            if let outcome = execute(node) {
                count += 1
                released = release(node, outcome)
            }
            guard let next = unsafe released ?? (most > 1 ? ready.take(in: states) : nil) else { return count }
            if steps >= look {
                guard most > 1, end.map({ RunClock.now < $0 }) ?? true else {
                    push(next)
                    return count
                }
                if end == nil { end = RunClock.now + GraphRun.longestInline }
                look += most
            }
            node = next
        }
    }

    /// Ends a node after its attempt.
    func end(_ node: Int, _ outcome: GraphOutcome) {
        ended.add(1, ordering: .acquiringAndReleasing)
        if let next = release(node, outcome) { push(next) }
    }

    /// Returns the outcome of a node that must not run; nil if the node may run.
    @inline(__always)
    private func verdict(on node: Int, _ flags: UInt8) -> GraphOutcome? {
        // Relaxed: `waitsFor` orders this load. Its last decrement happened before this thread came here.
        let verdict = unsafe states[node].verdict.load(ordering: .relaxed)
        if verdict != 0 {
            unsafe states[node].verdict.store(0, ordering: .relaxed)
            return verdict & GraphNodeState.doomed != 0 ? .skipped : .notTaken
        }
        return flags == 0 || mayBeginUnlessCancelled() ? nil : .cancelled
    }

    @inline(never)
    private func mayBeginUnlessCancelled() -> Bool {
        // Relaxed: a repeated cancel does no harm.
        if unsafe token?.isCancelled == true, !isCancelled.load(ordering: .relaxed) { cancel() }
        return mayBegin
    }

    /// Runs the body of a node. Returns its outcome; nil if a retry will follow.
    private func execute(_ node: Int) -> GraphOutcome? {
        // All dependencies have ended, so the counter can be reset for the next run.
        unsafe states[node].waitsFor.store(layout.joins(of: node), ordering: .relaxed)
        let flags = flags.load(ordering: .relaxed)  // Relaxed: see `mayBegin`.
        if let verdict = verdict(on: node, flags) { return verdict }
        if flags & Flag.recorded != 0 { return executeRecorded(node) }
        do {
            try unsafe layout.steps[node].call(reader, slot(of: node))
            unsafe states[node].attempts = 0
            return .finished
        } catch {
            return ended(node, by: error)
        }
    }

    /// Runs the body of a node, and records its times.
    @inline(never)
    private func executeRecorded(_ node: Int) -> GraphOutcome? {
        unsafe record?.started(node)
        do {
            try unsafe layout.steps[node].call(reader, slot(of: node))
            unsafe record?.ended(node)
            unsafe states[node].attempts = 0
            return .finished
        } catch {
            // Before `failed`: another thread may begin the next attempt at once.
            unsafe record?.ended(node)
            return ended(node, by: error)
        }
    }

    @inline(never)
    private func ended(_ node: Int, by error: any Error) -> GraphOutcome? { failed(node, error) }

    /// Whether another attempt may follow the one that runs.
    func hasAttempts(_ node: Int, of retry: RetryPolicy) -> Bool {
        unsafe Int(states[node].attempts) < min(retry.attempts - 1, Int(UInt16.max) - 1)
    }

    /// Handles a failed attempt. Returns the outcome; nil if another attempt will follow.
    func failed(_ node: Int, _ error: any Error, in name: String? = nil, mayRetry: Bool = true) -> GraphOutcome? {
        if mayRetry, let retry = layout.special(node)?.retry, hasAttempts(node, of: retry), mayBegin, !error.isCancellation,
            retry.isWorthwhile(error)
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
            if !mayBegin { again.end() }  // A stop may have come before the wait was in the list.
            return nil
        }
        // The error is the node's response to the cancel.
        if isRequested, error.isCancellation { return settle(node, as: .cancelled) }
        note(failure: error, of: node, in: name)
        return settle(node, as: .failed)
    }

    /// Notes the failure of a node. No further attempt follows.
    func note(failure error: any Error, of node: Int, in name: String? = nil) {
        failures.withLock { $0.append((node, name, error)) }
        if layout.policy == .stop { stop() }
    }

    /// Clears the count of attempts for the next run. Returns the outcome.
    func settle(_ node: Int, as outcome: GraphOutcome) -> GraphOutcome {
        unsafe states[node].attempts = 0
        return outcome
    }

    private func begin(_ node: Int, _ special: GraphNode) {
        unsafe states[node].waitsFor.store(layout.joins(of: node), ordering: .relaxed)
        // A node that does not run ends in a separate job. Otherwise a long chain of skipped nodes would recurse on
        // one stack. Relaxed: see `mayBegin`.
        if let verdict = verdict(on: node, flags.load(ordering: .relaxed)) {
            return queue.async(group: group) { [self] in end(node, verdict) }
        }
        let attempt = GraphAttempt(node, special, in: self)
        group.enter()
        attempts.withLock { $0[node] = attempt }
        attempt.begin()
    }

    /// Notes that an attempt has ended, or was left behind.
    func forget(_ attempt: GraphAttempt, of node: Int) {
        attempts.withLock { if $0[node] === attempt { $0[node] = nil } }
    }

    /// Notes that a closure still runs, which keeps the storage.
    func leaveBehind() { isSpent.store(true, ordering: .relaxed) }  // Relaxed: as in `reset`.

    /// Submits `node` again after its wait for another attempt.
    fileprivate func endRetryWait(of node: Int) {
        retries.withLock { _ = $0.removeValue(forKey: node) }
        push(node)
    }

    /// Updates the dependents of an ended node. Returns one ready dependent that may run on this thread; other ready
    /// ones become jobs.
    private func release(_ node: Int, _ outcome: GraphOutcome) -> Int? {
        unsafe states[node].outcome = outcome
        var next: Int?
        var chain = GraphReadyChain()
        for unsafe edge in unsafe layout.successors(of: node) where tell(edge, after: node, outcome) {
            if next == nil, layout.isPlain(edge.node) { next = edge.node } else { push(edge.node, by: &chain) }
        }
        add(chain)
        return next
    }

    /// Updates one dependent. Returns whether it is ready.
    private func tell(_ edge: GraphEdge, after node: Int, _ outcome: GraphOutcome) -> Bool {
        if outcome != .finished || edge.kind.isBranch {
            let verdict = verdict(of: edge.kind, after: node, outcome)
            // Relaxed: the decrement below, or the submission of the dependent, publishes the flag.
            if verdict != 0 { unsafe states[edge.node].verdict.bitwiseOr(verdict, ordering: .relaxed) }
        }
        // A single dependency is not counted.
        if layout.joins(of: edge.node) == 1 { return true }
        return unsafe states[edge.node].waitsFor.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
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

/// A weak reference to the wait for another attempt. The timer holds the strong reference.
private struct WeakRetryWait: Sendable {
    weak let wait: RetryWait?
}

/// A node's wait for another attempt, which keeps the run's group from becoming empty. The timer, a stop or a cancel
/// ends the wait. A shutdown discards the timer's closure and thereby releases the wait.
private final class RetryWait: Sendable {
    private let run: GraphRun
    private let node: Int
    private let isOver = Atomic(false)

    init(_ node: Int, of run: GraphRun) {
        self.run = run
        self.node = node
        run.group.enter()
    }

    /// Ends the wait. Only the first call has an effect.
    func end() {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        run.endRetryWait(of: node)
        run.group.leave()
    }

    deinit {
        if !isOver.load(ordering: .acquiring) { run.group.leave() }
    }
}
