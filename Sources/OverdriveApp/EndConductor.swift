internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The end, step by step, on the supervisor's thread: events that were taken in are delivered, tasks are stopped in reverse
/// order, queues are drained; each within its budget and all within the whole's.
final class EndConductor {
    private enum Stand: UInt8 {
        /// Its turn has not come, or it boots still.
        case open
        /// Its `stop()` runs.
        case stopping
        /// It is over, as far as the end is concerned.
        case done
    }

    private enum Stage { case events, tasks, queues, over }

    private let lifecycle: Lifecycle
    private let graph: AppGraph
    private let began: Int64
    private let wholeDeadline: Int64
    /// Until when tasks may stop: what is left belongs to the queues, whose closures are to be counted at least.
    private let tasksDeadline: Int64
    private var stage = Stage.events
    private var isCancelling = false
    /// How long closures that run may go on after who ends the program in a hurry, in nanoseconds.
    private static let moment: Int64 = 250_000_000
    private var stands: [Stand]
    /// How many of those that wait for a task are not done.
    private var openDependents: [Int]
    private var openCount: Int
    private var stops: [Int: AsyncTask<Void, Never>] = [:]
    /// When the budgets of those that boot or stop are spent: who has booted after all has another one for stopping.
    private var deadlines: [Int: Int64] = [:]
    private(set) var nextDeadline: Int64
    private var overBudget: [String] = []
    private var isLate = false
    private let progress = Progress()
    private var drainBegun = false

    /// What other threads tell this one, which may have gone on without them.
    private final class Progress: Sendable {
        let eventsAreDrained = Atomic(false)
        /// Those of queues that are not on the app's scheduler.
        let discardedClosures = Atomic(0)
        let closures = Locked<ShutdownReport?>(nil)
    }

    init(of lifecycle: Lifecycle, graph: AppGraph) {
        self.lifecycle = lifecycle
        self.graph = graph
        let options = lifecycle.options
        began = lifecycle.state.withLock { $0.endsSince }
        let budget = max(0, options.endBudget.nanosecondCount)
        wholeDeadline = began + budget
        tasksDeadline = wholeDeadline - min(250_000_000, budget / 8)
        let count = graph.tasks.count
        stands = Array(repeating: .open, count: count)
        openDependents = Array(repeating: 0, count: count)
        openCount = count
        nextDeadline = min(tasksDeadline, began + options.stopBudget.nanosecondCount)
        for index in 0..<count {
            for dependency in graph.dependencies(of: index) { openDependents[dependency] += 1 }
        }
        withdraw()
        lifecycle.events.close { [progress, lifecycle] in
            progress.eventsAreDrained.store(true, ordering: .releasing)
            lifecycle.wake.poke()
        }
    }

    /// Nobody starts any more, and who boots is asked to come to its end.
    private func withdraw() {
        var asked: [AppTask] = []
        var withdrawn: [AppTask] = []
        for (index, task) in graph.tasks.enumerated() {
            if task.move(from: .waiting, to: .withdrawn) {
                withdrawn.append(task)
            } else if task.place == .booting {
                asked.append(task)
                limit(index, to: task, from: began)
            }
        }
        // The program's handlers may be called, which is not for this thread.
        guard !asked.isEmpty || !withdrawn.isEmpty else { return }
        lifecycle.queue.async { [asked, withdrawn] in
            for task in asked { task.askToEnd() }
            for task in withdrawn { task.cancel() }
        }
    }

    /// Cancels tasks, whose handlers are the program's: not on this thread.
    private func cancel(_ indices: [Int]) {
        let tasks = indices.map { graph.tasks[$0] }
        if !tasks.isEmpty { lifecycle.queue.async { for task in tasks { task.cancel() } } }
    }

    private func limit(_ index: Int, to task: AppTask, from start: Int64) {
        let due = start + max(0, (task.stopBudget ?? lifecycle.options.stopBudget).nanosecondCount)
        deadlines[index] = due
        nextDeadline = min(nextDeadline, due)
    }

    /// Goes on as far as it can. True: the app is over.
    func conduct(now: Int64, isCancelling: Bool) -> Bool {
        if isCancelling, !self.isCancelling {
            self.isCancelling = true
            for stop in stops.values { stop.cancel() }
            cancel(graph.tasks.indices.filter { stands[$0] == .open && graph.tasks[$0].place == .booting })
            if drainBegun { hurryDrain() }
        }
        // What became of the closures may be about to be told.
        if now >= wholeDeadline + (stage == .queues ? 40_000_000 : 0) {
            if stage != .queues { runOutOfTime() }
            isLate = true
            stage = .over
        }
        let (changed, exiting) = lifecycle.state.withLock { state -> ([Int], Int?) in
            defer { state.changed = [] }
            return (state.changed, state.exiting)
        }
        if stage == .events { leaveEvents(now) }
        if stage == .tasks {
            if let exiting { finish(exiting) }
            for index in changed { look(at: index) }
            if now >= nextDeadline { giveUp(now) }
            if now >= tasksDeadline { runOutOfTime() }
            if openCount == 0 { beginDrain(now) }
        }
        if stage == .queues, progress.closures.withLock({ $0 != nil }) { stage = .over }
        return stage == .over
    }

    // MARK: - Stage by stage

    /// From the events to the tasks, when the last has been delivered, or there is no more time for it.
    private func leaveEvents(_ now: Int64) {
        let deadline = began + lifecycle.options.stopBudget.nanosecondCount
        guard progress.eventsAreDrained.load(ordering: .acquiring) || now >= deadline || isCancelling else { return }
        stage = .tasks
        lifecycle.events.leave()
        for index in stands.indices { look(at: index) }
    }

    /// The task may have come so far that it can be stopped, or be done.
    private func look(at index: Int) {
        let task = graph.tasks[index]
        switch (stands[index], task.place) {
        case (.stopping, .stopped):
            finish(index)
        case (.open, .up):
            if openDependents[index] == 0 { stop(index) }
        case (.open, .failed), (.open, .withdrawn):
            finish(index)
        default:
            break
        }
    }

    private func stop(_ index: Int) {
        let task = graph.tasks[index]
        guard task.move(from: .up, to: .stopping) else { return }
        stands[index] = .stopping
        let now = monotonicNow()
        task.stopStartedAt.store(now, ordering: .releasing)
        limit(index, to: task, from: now)
        let stop = lifecycle.stop(task)
        stops[index] = stop
        if isCancelling { stop.cancel() }
    }

    /// The task is done; those that it depends on may be stopped.
    private func finish(_ index: Int) {
        guard stands[index] != .done else { return }
        stands[index] = .done
        (stops[index], deadlines[index]) = (nil, nil)
        openCount -= 1
        for dependency in graph.dependencies(of: index) {
            openDependents[dependency] -= 1
            if openDependents[dependency] == 0, stands[dependency] == .open { stop(dependency) }
        }
    }

    /// Tasks whose budgets are spent hold nobody up any more.
    private func giveUp(_ now: Int64) {
        let spent = deadlines.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        for index in spent where stands[index] != .done {
            deadlines[index] = nil
            let task = graph.tasks[index]
            // One that boots has had its budget for coming to its end; one that was up meanwhile has another for stopping.
            if stands[index] == .open, task.place != .booting { continue }
            // If it says that it has booted after all, it is stopped then.
            if task.move(from: .booting, to: .failed) { cancel([index]) }
            stops[index]?.cancel()
            overBudget.append(task.title)
            finish(index)
        }
        nextDeadline = deadlines.values.reduce(tasksDeadline, min)
    }

    /// Whoever is not done is left as it is.
    private func runOutOfTime() {
        isLate = openCount > 0
        for index in stands.indices where stands[index] != .done {
            stops[index]?.cancel()
            overBudget.append(graph.tasks[index].title)
        }
        openCount = 0
    }

    /// What the queues hold runs, as long as there is time; the rest is cancelled and counted. On a thread of its own:
    /// this one goes on hearing signals.
    private func beginDrain(_ now: Int64) {
        stage = .queues
        drainBegun = true
        let isExiting = lifecycle.state.withLock { $0.reason == .exitCalled }
        // Closures that were given up do not come back: the rest has a task's budget at most. The scheduler may take
        // 50 ms more than it is given, and this thread's own threads have to be started.
        var budget = wholeDeadline - now - 100_000_000
        if !overBudget.isEmpty { budget = min(budget, lifecycle.options.stopBudget.nanosecondCount) }
        // A closure that is about to return is not stuck: it has a moment for that.
        if isExiting || isCancelling { budget = min(budget, Self.moment) }
        let (lifecycle, deadline) = (lifecycle, Duration.nanoseconds(max(0, budget)))
        nextDeadline = wholeDeadline + 40_000_000
        let queues = lifecycle.state.withLock { $0.drained }
        let problem = startThread(named: "app-drain") { [progress] in
            let end = ContinuousClock.now + deadline
            progress.discardedClosures.store(EndConductor.drain(queues, until: end), ordering: .releasing)
            let report: ShutdownReport = lifecycle.scheduler.shutdown(timeout: max(.zero, end - .now))
            progress.closures.withLock { $0 = report }
            lifecycle.wake.poke()
        }
        if let problem {
            lifecycle.note("the queues were not drained, because no thread could be started: \(problem)")
            stage = .over
        }
    }

    private func hurryDrain() {
        let scheduler = lifecycle.scheduler
        _ = startThread(named: "app-hurry") { let _: ShutdownReport = scheduler.shutdown(timeout: .nanoseconds(Self.moment)) }
    }

    /// Waits for queues that are not on the app's scheduler, and discards what is left on them.
    private static func drain(_ queues: [TaskQueue], until deadline: ContinuousClock.Instant) -> Int {
        let group = WaitGroup()
        for queue in queues {
            group.enter()
            AsyncTask {
                await queue.drained()
                group.leave()
            }
        }
        guard group.wait(deadline: deadline) != .success else { return 0 }
        return queues.reduce(0) { $0 + $1.cancelAll() }
    }

    // MARK: - Over

    /// Leaves the report, tells who waits for it, and ends the process where the app is the process.
    func conclude() {
        let closures = progress.closures.withLock { $0 }
        var code: Int32 = 0
        let isStuck = isLate || !overBudget.isEmpty || (closures?.stuck ?? 0) > 0
        let (failure, reason) = lifecycle.state.withLock { ($0.failure, $0.reason) }
        // The closure that is inside exit() is stuck there, and is meant to be.
        let isOverBudget = isLate || !overBudget.isEmpty
            || (closures?.stuck ?? 0) > (reason == .exitCalled ? 1 : 0)
        if failure != nil { code = 1 } else if isOverBudget { code = 2 }
        let outcome = AppReport.End(
            reason: reason?.sentence ?? "", exitCode: code, overBudget: overBudget, began: began - lifecycle.startedAt,
            ended: monotonicNow() - lifecycle.startedAt, closures: closures,
            discardedClosures: progress.discardedClosures.load(ordering: .acquiring))
        var report = AppReport(of: lifecycle, graph: graph, end: outcome)
        if let folder = lifecycle.options.explanationFolder, let problem = report.write(to: folder) {
            lifecycle.note(problem)
            report = AppReport(of: lifecycle, graph: graph, end: outcome)
        }
        let waiting = lifecycle.state.withLock { [report] state in
            state.report = report
            return state.whenEnded
        }
        lifecycle.living.end()
        if lifecycle.ownsProcess {
            report.say()
            // Who waits inside exit() would go on with it, and have its own code.
            if reason == .exitCalled, isOverBudget { _exit(code) }
        }
        for body in waiting { body(report) }
        guard lifecycle.ownsProcess, reason != .exitCalled else { return }
        // Handlers of exit() may wait for what is stuck.
        if isStuck { _exit(code) }
        exit(code)
    }
}
