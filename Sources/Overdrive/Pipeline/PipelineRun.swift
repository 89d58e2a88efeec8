// Owns the state and execution of one run of a pipeline. `Pipeline+Run.swift` starts, cancels and awaits runs;
// workers run `PipelineThread` jobs. A run never changes the layout.

internal import OverdriveCore
internal import Synchronization

/// One run of a pipeline: its tokens, the order of items in each stage, and the threads that move tokens.
///
/// A token has one owner: the free list, the source, a thread, a stage's ring, the
/// ready list or a Swift task. `line` holds both lists and the right to the source. A thread that makes work adds
/// a thread, up to `layout.threads`. A thread that finds no work leaves the run. `group` counts threads and Swift
/// tasks; when the group is empty, no thread accesses the run.
@safe @usableFromInline
final class PipelineRun: CurrentWork {
    /// Initialises the slot with the next item. Returns false if the source has ended.
    @usableFromInline typealias Pull = (GraphSlot) throws -> Bool

    private enum Work {
        case none
        /// A token that is ready to move.
        case token(Int32)
        /// The right to the source, and a free token for the next item.
        case source(Int32)
    }

    private struct Line {
        var firstReady: Int32 = -1
        var lastReady: Int32 = -1
        var firstFree: Int32
        /// The number of threads that move tokens or are about to do so.
        var threads: Int
        /// The number of threads that rest: each comes back after a while, if there is work.
        var resting = 0
        /// Whether a thread is reading the source. It is always true if a Swift task reads the source.
        var isSourceBusy: Bool
        var hasSourceEnded = false
        /// The number of items that have passed all stages.
        var finished = 0
        /// Whether the Swift task that reads the source waits for a free token. `reader` is set then.
        var isReaderWaiting = false
        /// Whether a thread is the lead. The lead never pauses to let other threads move the items.
        var hasLead = false

        /// Whether a thread may read the source.
        var isSourceFree: Bool { firstFree >= 0 && !isSourceBusy && !hasSourceEnded }
    }

    struct Failure {
        let item: Int
        let stage: String
        let error: any Error
    }

    let layout: PipelineLayout
    let group = WaitGroup()
    private let token: CancellationToken?
    private let line: Locked<Line>
    /// Whether `line` has a ready token, or an idle source and a free token. It is a hint for threads that are about
    /// to leave.
    private let hasWork = Atomic(true)
    /// The number of tokens freed so far, written under the lock of `line`. It is a hint for threads that pause.
    private let freed = Atomic(0)
    /// The memory of the tokens. Each token is a header followed by its slot.
    nonisolated(unsafe) private let tokens: UnsafeMutableRawPointer
    private let tokenBytes: Int
    private let slotOffset: Int
    /// The rings of all stages that run one item at a time. A ring has an entry for each position, each on a separate
    /// cache line.
    ///
    /// An entry is 0, `PipelineRun.open`, or the number of the waiting token plus 1. Two threads exchange the entry
    /// of position p: the thread that brings p to the stage, and the thread that has run position p - 1. The later
    /// one runs the stage. Edge: an exchange releases the thread's earlier writes, and acquires the other thread's.
    /// The entry of p is free again when p + ringSize arrives, because at most `layout.tokens` items have not passed
    /// the stage.
    nonisolated(unsafe) private let rings: UnsafeMutableRawPointer
    /// The next position of each serial stage, indexed by stage.
    nonisolated(unsafe) private let tickets: UnsafeMutablePointer<Atomic<Int>>
    /// The source. Only the thread with the right to the source calls it.
    nonisolated(unsafe) private let pull: Pull?
    /// The number of items read from the source. Only the thread or task that reads the source writes the number.
    private let drawn = Atomic(0)
    /// The continuation of the Swift task that reads the source, guarded by the lock of `line`. It is resumed once,
    /// by the thread that clears `isReaderWaiting`.
    nonisolated(unsafe) private var reader: CheckedContinuation<Void, Never>?
    private let isCancelled = Atomic(false)
    /// The lowest number of a failed item. Later items skip all stages that they have not begun.
    private let firstFailed = Atomic(Int.max)
    private let failure = Locked<Failure?>(nil)
    /// The Swift task of each token's latest asynchronous stage, with its item and stage. The key -1 is the task that
    /// reads the source.
    private let tasks = Locked<[Int32: (item: Int, stage: Int32, task: AsyncTask<Void, Never>)]>([:])

    private static var none: Int32 { -1 }
    /// The entry of the position that the stage runs next, while its token has not arrived.
    private static var open: Int32 { -1 }
    private static var lineBytes: Int { 64 }
    /// The number of tokens that a worker moves before it lets other jobs run, or as the lead reads the clock.
    private static var mostInline: Int { 64 }
    /// The time after which the lead lets other jobs run. A new job for fewer items would keep a second worker awake.
    private static var longestInline: Duration { .milliseconds(1) }
    /// The number of pace measurements after which a pausing thread rests.
    private static var mostPauses: Int { 10 }
    /// The time for which a thread leaves the run if other threads move items as fast as it could.
    private static var rest: Duration { .milliseconds(1) }
    /// The number of times that a thread checks for work before it leaves.
    private static var looks: Int { 400 }

    /// - Parameter pull: The source; nil if a Swift task reads it.
    init(_ layout: PipelineLayout, token: CancellationToken?, pull: Pull?) {
        self.layout = layout
        self.token = token
        unsafe self.pull = pull
        line = Locked(Line(firstFree: 0, threads: pull == nil ? 0 : 1, isSourceBusy: pull == nil))
        let alignment = layout.values.reduce(16) { max($0, $1.alignment) }
        let size = layout.values.reduce(0) { max($0, $1.size) }
        let header = MemoryLayout<PipelineToken>.size
        slotOffset = (header + alignment - 1) / alignment * alignment
        tokenBytes = (slotOffset + size + PipelineRun.lineBytes - 1) / PipelineRun.lineBytes * PipelineRun.lineBytes
        unsafe tokens = .allocate(byteCount: layout.tokens * tokenBytes, alignment: PipelineRun.lineBytes)
        for i in 0..<layout.tokens {
            let token = PipelineToken(next: i + 1 < layout.tokens ? Int32(i + 1) : PipelineRun.none)
            unsafe (tokens + i * tokenBytes).initializeMemory(as: PipelineToken.self, to: token)
        }
        let entries = layout.ringCount * layout.ringSize
        unsafe rings = .allocate(byteCount: max(1, entries) * PipelineRun.lineBytes, alignment: PipelineRun.lineBytes)
        for i in 0..<entries {
            let first = i % layout.ringSize == 0 ? PipelineRun.open : 0
            unsafe (rings + i * PipelineRun.lineBytes).bindMemory(to: Atomic<Int32>.self, capacity: 1).initialize(to: Atomic(first))
        }
        unsafe tickets = .allocate(capacity: max(1, layout.stages.count))
        for i in layout.stages.indices { unsafe (tickets + i).initialize(to: Atomic(0)) }
    }

    deinit {
        // A shutdown of the scheduler may have left items in the pipeline.
        for id in 0..<Int32(layout.tokens) where unsafe header(id).pointee.stage >= 0 { empty(id) }
        unsafe tickets.deinitialize(count: layout.stages.count)
        unsafe tickets.deallocate()
        unsafe rings.deallocate()
        unsafe tokens.deallocate()
    }

    // MARK: - Tokens

    private func header(_ id: Int32) -> UnsafeMutablePointer<PipelineToken> {
        unsafe (tokens + Int(id) * tokenBytes).assumingMemoryBound(to: PipelineToken.self)
    }

    private func slot(_ id: Int32) -> GraphSlot { unsafe GraphSlot(tokens + Int(id) * tokenBytes + slotOffset) }

    /// Destroys the token's value, if it has one.
    private func empty(_ id: Int32) {
        let token = unsafe header(id)
        guard unsafe !token.pointee.isEmpty else { return }
        let stage = unsafe Int(token.pointee.stage) + (token.pointee.step == .isPast ? 1 : 0)
        layout.values[stage].destroy?(slot(id))
        unsafe token.pointee.isEmpty = true
    }

    // MARK: - The lists

    private func popReady(_ line: inout Line) -> Int32? {
        let id = line.firstReady
        guard id >= 0 else { return nil }
        line.firstReady = unsafe header(id).pointee.next
        if line.firstReady < 0 { line.lastReady = PipelineRun.none }
        return id
    }

    private func popFree(_ line: inout Line) -> Int32? {
        let id = line.firstFree
        guard id >= 0 else { return nil }
        line.firstFree = unsafe header(id).pointee.next
        return id
    }

    private func canDraw(_ line: Line) -> Bool { line.isSourceFree && !isStopped }

    private func hint(_ line: Line) {
        // Relaxed: a thread that leaves checks again under the lock.
        hasWork.store(line.firstReady >= 0 || line.isSourceFree, ordering: .relaxed)
    }

    /// Counts another thread if the run may have one. The caller starts the thread after the lock.
    private func countsThread(_ line: inout Line) -> Bool {
        // A source may block, so the thread that reads it is not counted.
        // Work always has a thread, also while all others rest. If that thread reads the source, one comes after a rest.
        guard line.threads == 0 || line.threads + line.resting < layout.threads + (line.isSourceBusy ? 1 : 0) else { return false }
        line.threads += 1
        return true
    }

    /// Frees the token unless `id` is negative. Returns whether the caller must wake the reader after the lock.
    private func free(_ id: Int32, in line: inout Line) -> Bool {
        guard id >= 0 else { return false }
        let token = unsafe header(id)
        if unsafe token.pointee.hasFinished { line.finished += 1 }
        unsafe token.pointee.hasFinished = false
        unsafe token.pointee.stage = -1
        freed.store(freed.load(ordering: .relaxed) + 1, ordering: .relaxed)  // Relaxed: a hint.
        unsafe token.pointee.next = line.firstFree
        line.firstFree = id
        defer { line.isReaderWaiting = false }
        return line.isReaderWaiting
    }

    /// Resumes the reader. Only the thread that cleared `isReaderWaiting` calls it.
    private func wakeReader() {
        let waiting = line.withLock { _ in unsafe reader }
        waiting?.resume()
    }

    /// Frees a token, and returns the next work of the calling thread.
    private func take(freeing id: Int32, _ isLead: inout Bool) -> Work {
        let (work, wakes) = line.withLock { line -> (Work, Bool) in
            let wakes = free(id, in: &line)
            defer { hint(line) }
            claimsLead(&line, &isLead)
            if let ready = popReady(&line) { return (.token(ready), wakes) }
            guard canDraw(line), let free = popFree(&line) else { return (.none, wakes) }
            line.isSourceBusy = true
            return (.source(free), wakes)
        }
        if wakes { wakeReader() }
        return work
    }

    /// Frees a token while the calling thread continues with another one.
    private func free(_ id: Int32) {
        let (wakes, adds) = line.withLock { line in
            let wakes = free(id, in: &line)
            hint(line)
            return (wakes, canDraw(line) && countsThread(&line))
        }
        if wakes { wakeReader() }
        if adds { addThread() }
    }

    /// Appends the token to the ready list, from which any thread may take it.
    private func push(_ id: Int32) {
        let adds = line.withLock { line in
            unsafe header(id).pointee.next = PipelineRun.none
            if line.lastReady >= 0 {
                unsafe header(line.lastReady).pointee.next = id
            } else {
                line.firstReady = id
            }
            line.lastReady = id
            hint(line)
            return countsThread(&line)
        }
        if adds { addThread() }
    }

    // MARK: - The source

    /// Reads the next item into the token. Returns false if the source has ended; the caller then frees the token.
    private func draw(into id: Int32) -> Bool {
        var isItem = false
        do {
            isItem = unsafe try pull?(slot(id)) ?? false
        } catch {
            record(error, of: drawn.load(ordering: .relaxed), in: "source")
        }
        if isItem { begin(id) }
        let adds = line.withLock { line in
            line.isSourceBusy = false
            if !isItem { line.hasSourceEnded = true }
            hint(line)
            return canDraw(line) && countsThread(&line)
        }
        if adds { addThread() }
        return isItem
    }

    /// Assigns the next item number to the token, whose slot holds the item.
    private func begin(_ id: Int32) {
        let token = unsafe header(id)
        let item = drawn.load(ordering: .relaxed)  // Relaxed: the right to the source orders it.
        unsafe token.pointee.item = item
        unsafe token.pointee.stage = 0
        unsafe token.pointee.step = .arrives
        unsafe token.pointee.isEmpty = false
        drawn.store(item + 1, ordering: .relaxed)
    }

    /// Reads the source in a Swift task, until `next` returns.
    @usableFromInline
    func read(_ next: @escaping @Sendable (PipelineRun) async throws -> Void) {
        group.enter()
        let task = AsyncTask(executorPreference: layout.queue.taskExecutor) { [self] in
            var hasEnded = true
            do {
                try await next(self)
                hasEnded = !isStopped
            } catch {
                if !isRequested { record(error, of: drawn.load(ordering: .relaxed), in: "source") }
            }
            line.withLock { $0.hasSourceEnded = hasEnded }
            group.leave()
        }
        tasks.withLock { $0[-1] = (Int.max, 0, task) }
        if isStopped { task.cancel() }
    }

    /// Waits for a free token. Returns nil if the run accepts no further item.
    @usableFromInline
    func freeToken() async -> Int32? {
        while !isStopped {
            if let id = line.withLock({ popFree(&$0) }) { return id }
            await withCheckedContinuation { reader in
                let waits = line.withLock { line in
                    guard !isStopped, line.firstFree < 0 else { return false }
                    unsafe self.reader = reader  // A thread that frees a token, or a stop, resumes it.
                    line.isReaderWaiting = true
                    return true
                }
                if !waits { reader.resume() }
            }
        }
        return nil
    }

    /// Puts an item into a free token and makes the token ready.
    @usableFromInline
    func give(_ id: Int32, _ write: (GraphSlot) -> Void) {
        write(slot(id))
        begin(id)
        push(id)
    }

    // MARK: - Ending

    /// The answer for ``Cancellation``. A failure does not count as a cancel, because items before the failed one
    /// must finish.
    @usableFromInline
    var isRequested: Bool {
        isCancelled.load(ordering: .relaxed) || token?.isCancelled ?? false  // Relaxed: a hint.
    }

    /// Whether the source must not be read further.
    private var isStopped: Bool {
        // Relaxed: a hint. The order of an ordered stage makes the value visible to later items in that stage.
        firstFailed.load(ordering: .relaxed) != .max || isRequested
    }

    /// Whether the item must skip its remaining stages.
    private func isSkipped(_ item: Int) -> Bool {
        // Relaxed: a hint; see `isStopped`.
        item > firstFailed.load(ordering: .relaxed) || isRequested
    }

    /// Records an error unless an earlier item has failed. Later items skip all stages that they have not begun.
    private func record(_ error: any Error, of item: Int, in stage: String) {
        let isFirst = failure.withLock { failure in
            if let failure, failure.item <= item { return false }
            failure = Failure(item: item, stage: stage, error: error)
            firstFailed.store(item, ordering: .relaxed)  // Relaxed: a hint; see `isStopped`.
            return true
        }
        if isFirst { stop(after: item) }
    }

    /// Cancels the run. Items skip all stages that they have not begun.
    @usableFromInline
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)  // Relaxed: a hint; see `isStopped`.
        stop(after: -1)
    }

    private func stop(after item: Int) {
        let wakes = line.withLock { line in
            defer { line.isReaderWaiting = false }
            return line.isReaderWaiting
        }
        if wakes { wakeReader() }
        for (number, _, task) in tasks.withLock({ Array($0.values) }) where number > item { task.cancel() }
    }

    // MARK: - Threads

    /// Starts the run. If `here` is true, the calling thread moves tokens, and returns when it finds none.
    @usableFromInline
    func start(here: Bool) {
        if here { return drive(most: .max) }
        addThread()
    }

    /// Returns the number of items, or throws the run's error. Called after all threads have left.
    func outcome() throws(PipelineError) -> Int {
        if let failure = failure.withLock({ $0 }) {
            throw .failed(stage: failure.stage, item: failure.item, error: failure.error)
        }
        let (finished, hasEnded) = line.withLock { ($0.finished, $0.hasSourceEnded) }
        guard hasEnded, finished == drawn.load(ordering: .relaxed) else { throw .cancelled(finished: finished) }
        return finished
    }

    /// Starts a thread, which `line` already counts.
    private func addThread() {
        let thread = PipelineThread(self)
        layout.queue.async(group: group) { thread.run() }
    }

    fileprivate func driveOnWorker() { drive(most: PipelineRun.mostInline) }

    /// The reason why a thread stops moving tokens.
    private enum Stop {
        /// There is no work. The thread is no longer counted.
        case isIdle
        /// Other jobs should run. A new job continues.
        case isLong
        /// Other threads move items as fast as this one could.
        case isFast
    }

    /// Moves tokens until there is no work, or until `most` tokens have moved. In the latter case a new job
    /// continues.
    private func drive(most: Int) {
        let stop = whileCurrent { () -> Stop in
            var (left, isLead, freed) = (most, false, PipelineRun.none)
            var pace = PipelinePace(self.freed.load(ordering: .relaxed))
            // A thread that is added first checks the pace, unless it becomes the lead.
            if !line.withLock({ claimsLead(&$0, &isLead) }), standsBack(&pace) { return .isFast }
            var stop = Stop.isLong
            let end = RunClock.now + PipelineRun.longestInline
            while left > 0 || isLead && RunClock.now < end {
                if left <= 0 { left = most }
                let work = take(freeing: freed, &isLead)
                freed = PipelineRun.none
                switch work {
                case .none:
                    if leaves(isLead) { return .isIdle }
                case .source(let id):
                    freed = draw(into: id) ? move(id, &left) : id
                case .token(let id):
                    freed = move(id, &left)
                }
                if !isLead {
                    if freed >= 0 { free(freed) }
                    freed = PipelineRun.none
                    if standsBack(&pace) {
                        stop = .isFast
                        break
                    }
                }
            }
            if freed >= 0 { free(freed) }
            if isLead { line.withLock { $0.hasLead = false } }
            return stop
        }
        switch stop {
        case .isIdle: return
        case .isLong: addThread()
        case .isFast: rest()
        }
    }

    /// Takes the calling thread out of the run for a while, unless it is the only one.
    ///
    /// The run does not wait for a resting thread. A thread that comes back to a finished run finds no work.
    private func rest() {
        let isAlone = line.withLock { line in
            if line.threads == 1 { return true }
            line.threads -= 1
            line.resting += 1
            return false
        }
        if isAlone { return addThread() }
        layout.queue.asyncAfter(PipelineRun.rest) { [self] in
            let adds = line.withLock { line in
                line.resting -= 1
                // If there is work, a thread that the group counts has not left yet. So the group is not empty here.
                guard line.firstReady >= 0 || canDraw(line), countsThread(&line) else { return false }
                group.enter()
                return true
            }
            guard adds else { return }
            addThread()
            group.leave()
        }
    }

    /// Makes the calling thread the lead if there is none. Returns whether the thread is the lead.
    @discardableResult
    private func claimsLead(_ line: inout Line, _ isLead: inout Bool) -> Bool {
        if !line.hasLead {
            line.hasLead = true
            isLead = true
        }
        return isLead
    }

    /// Waits while other threads move items as fast as a further thread could. Returns true if the wait was too long.
    ///
    /// Short items move faster on one thread: a second thread would only cause misses on the cache lines of the lists
    /// and rings.
    private func standsBack(_ pace: inout PipelinePace) -> Bool {
        for _ in 0..<PipelineRun.mostPauses {
            while !pace.isOver {
                if !pace.isFast { return false }
            }
            pace.look(freed.load(ordering: .relaxed))  // Relaxed: a hint.
            if !pace.isFast { return false }
        }
        return true
    }

    /// Checks for work for a while. Returns true if there is none; the thread is then no longer counted.
    private func leaves(_ isLead: Bool) -> Bool {
        for _ in 0..<PipelineRun.looks {
            if hasWork.load(ordering: .relaxed) { break }  // Relaxed: the thread checks again under the lock.
        }
        return line.withLock { line in
            if line.firstReady >= 0 || canDraw(line) { return false }
            line.threads -= 1
            if isLead { line.hasLead = false }
            return true
        }
    }

    // MARK: - Stages

    /// Moves a token through its stages. Returns a token that has passed all stages; -1 if the token waits in a ring
    /// or a Swift task.
    private func move(_ first: Int32, _ left: inout Int) -> Int32 {
        var id = first
        left -= 1
        while true {
            let token = unsafe header(id)
            let stage = unsafe Int(token.pointee.stage)
            if stage == layout.stages.count {
                finish(id)
                return id
            }
            let ring = layout.rings[stage]
            if unsafe token.pointee.step == .arrives, ring >= 0, !isAdmitted(id, to: stage) { return PipelineRun.none }
            if unsafe token.pointee.step != .isPast, !run(id, in: stage) { return PipelineRun.none }
            unsafe token.pointee.step = .arrives
            unsafe token.pointee.stage += 1
            guard ring >= 0, let next = unsafe admitNext(after: token.pointee.position, in: ring) else { continue }
            unsafe header(next).pointee.step = .isAdmitted
            guard stage + 1 == layout.stages.count, left > 0 else {
                push(next)
                continue
            }
            finish(id)
            free(id)
            id = next
            left -= 1
        }
    }

    /// Destroys the last stage's result. A deinitialiser may run the program's code, so no lock is held.
    private func finish(_ id: Int32) {
        let token = unsafe header(id)
        guard unsafe !token.pointee.isEmpty else { return }
        empty(id)
        unsafe token.pointee.hasFinished = true
    }

    private func entry(_ position: Int, in ring: Int) -> UnsafeMutablePointer<Atomic<Int32>> {
        unsafe (rings + (ring + position & (layout.ringSize - 1)) * PipelineRun.lineBytes).assumingMemoryBound(to: Atomic<Int32>.self)
    }

    /// Returns whether the stage runs the token now. If not, the token waits in the ring for the thread that runs the
    /// position before.
    private func isAdmitted(_ id: Int32, to stage: Int) -> Bool {
        let token = unsafe header(id)
        // A serial stage assigns positions in the order of arrival.
        let position = if layout.stages[stage].mode == .ordered {
            unsafe token.pointee.item
        } else {
            unsafe tickets[stage].wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
        }
        unsafe token.pointee.position = position
        let entry = unsafe entry(position, in: layout.rings[stage])
        guard unsafe entry.pointee.exchange(id + 1, ordering: .acquiringAndReleasing) == PipelineRun.open else { return false }
        // Relaxed: position + ringSize arrives only after this position has passed.
        unsafe entry.pointee.store(0, ordering: .relaxed)
        return true
    }

    /// Opens the next position. Returns the token that waited for it, if any.
    private func admitNext(after position: Int, in ring: Int) -> Int32? {
        let entry = unsafe entry(position + 1, in: ring)
        let found = unsafe entry.pointee.exchange(PipelineRun.open, ordering: .acquiringAndReleasing)
        guard found != 0 else { return nil }
        unsafe entry.pointee.store(0, ordering: .relaxed)  // Relaxed: see `isAdmitted`.
        return found - 1
    }

    /// Runs the stage's closure, unless the item is not needed. Returns false if a Swift task runs the closure.
    private func run(_ id: Int32, in stage: Int) -> Bool {
        let token = unsafe header(id)
        if unsafe token.pointee.isEmpty { return true }
        if isSkipped(unsafe token.pointee.item) {
            empty(id)
            return true
        }
        switch layout.stages[stage].body {
        case .direct(let body):
            do { try body(slot(id)) } catch { failed(id, error) }
            return true
        case .suspending(let body):
            suspend(id, body)
            return false
        }
    }

    private func failed(_ id: Int32, _ error: any Error) {
        let token = unsafe header(id)
        unsafe token.pointee.isEmpty = true
        // After a cancel, any error counts as the response to it, because a library may throw an error of any type.
        if !isRequested { unsafe record(error, of: token.pointee.item, in: layout.stages[Int(token.pointee.stage)].name) }
    }

    private func suspend(_ id: Int32, _ body: @escaping PipelineStage.Suspending) {
        let (item, stage) = unsafe (header(id).pointee.item, header(id).pointee.stage)
        group.enter()
        let task = AsyncTask(executorPreference: layout.queue.taskExecutor) { [self] in
            do { try await body(slot(id)) } catch { failed(id, error) }
            unsafe header(id).pointee.step = .isPast
            push(id)
            group.leave()
        }
        // The latest task of a token remains in the list until the run ends. A late cancel of it has no effect.
        tasks.withLock { tasks in
            // The token has already reached a later stage.
            if let last = tasks[id], (last.item, last.stage) > (item, stage) { return }
            tasks[id] = (item, stage, task)
        }
        if isSkipped(item) { task.cancel() }  // A stop may have come before the task was in the list.
    }
}

/// A job that moves tokens. If a shutdown of the scheduler discards the job, the deinitialiser cancels the run.
private final class PipelineThread: Sendable {
    private let pipeline: PipelineRun
    private let hasRun = Atomic(false)

    init(_ pipeline: PipelineRun) {
        self.pipeline = pipeline
    }

    func run() {
        hasRun.store(true, ordering: .relaxed)  // Relaxed: the release of the last reference orders it.
        pipeline.driveOnWorker()
    }

    deinit {
        if !hasRun.load(ordering: .relaxed) { pipeline.cancel() }
    }
}
