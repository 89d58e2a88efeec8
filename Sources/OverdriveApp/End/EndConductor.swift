// Owns the sequence of the shutdown. The supervisor's thread calls it; other threads only set `Progress`. It never
// calls the program's code on this thread.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Runs the shutdown step by step on the supervisor's thread. Accepted events are delivered, tasks are stopped in
/// reverse order, and queues are drained. Each step has a budget.
final class EndConductor {
    private enum Stand: UInt8 {
        /// The task still boots, or its turn to stop has not come.
        case open
        /// Its `stop()` runs.
        case stopping
        /// The shutdown does not wait for the task any longer.
        case done
    }

    private enum Stage { case events, tasks, queues, over }

    private let lifecycle: Lifecycle
    private let graph: AppGraph
    private let began: Int64
    private let wholeDeadline: Int64
    /// The deadline for stopping tasks. The remaining time is for draining the queues, at least for counting their
    /// closures.
    private let tasksDeadline: Int64
    private var stage = Stage.events
    private var isCancelling = false
    /// The time in nanoseconds for running closures after exit() or a second signal.
    private static let moment: Int64 = 250_000_000
    private var stands: [Stand]
    /// The number of dependents of each task that are not done.
    private var openDependents: [Int]
    private var openCount: Int
    private var stops: [Int: AsyncTask<Void, Never>] = [:]
    /// The deadlines of tasks that boot or stop. A task that boots late gets a new deadline for its stop.
    private var deadlines: [Int: Int64] = [:]
    private(set) var nextDeadline: Int64
    private var overBudget: [String] = []
    private var isLate = false
    private let progress = Progress()
    private var drainBegun = false

    /// Results of other threads, which may outlive the shutdown.
    private final class Progress: Sendable {
        let eventsAreDrained = Atomic(false)
        /// The number of discarded closures of queues that are not on the app's scheduler.
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

    /// Prevents further starts, and asks booting tasks to end.
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
        // These calls may run the program's handlers, so they run on a worker.
        guard !asked.isEmpty || !withdrawn.isEmpty else { return }
        lifecycle.queue.async { [asked, withdrawn] in
            for task in asked { task.askToEnd() }
            for task in withdrawn { task.cancel() }
        }
    }

    /// Cancels tasks on a worker, because the program's handlers may run.
    private func cancel(_ indices: [Int]) {
        let tasks = indices.map { graph.tasks[$0] }
        if !tasks.isEmpty { lifecycle.queue.async { for task in tasks { task.cancel() } } }
    }

    private func limit(_ index: Int, to task: AppTask, from start: Int64) {
        let due = start + max(0, (task.stopBudget ?? lifecycle.options.stopBudget).nanosecondCount)
        deadlines[index] = due
        nextDeadline = min(nextDeadline, due)
    }

    /// Continues the shutdown as far as possible. Returns true when it has finished.
    func conduct(now: Int64, isCancelling: Bool) -> Bool {
        if isCancelling, !self.isCancelling {
            self.isCancelling = true
            for stop in stops.values { stop.cancel() }
            cancel(graph.tasks.indices.filter { stands[$0] == .open && graph.tasks[$0].place == .booting })
            if drainBegun { hurryDrain() }
        }
        // The drain may report its result up to 40 ms after the deadline.
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

    /// Moves from events to tasks after the last delivery, or when the time for events is spent.
    private func leaveEvents(_ now: Int64) {
        let deadline = began + lifecycle.options.stopBudget.nanosecondCount
        guard progress.eventsAreDrained.load(ordering: .acquiring) || now >= deadline || isCancelling else { return }
        stage = .tasks
        lifecycle.events.leave()
        for index in stands.indices { look(at: index) }
    }

    /// Checks whether the task can be stopped or is done.
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

    /// Marks the task as done. Its dependencies may be stopped then.
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

    /// Gives up tasks whose budgets are spent, so that no task waits for them.
    private func giveUp(_ now: Int64) {
        let spent = deadlines.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        for index in spent where stands[index] != .done {
            deadlines[index] = nil
            let task = graph.tasks[index]
            // A booting task has used its budget for ending early. A task that has booted in the meantime has a new
            // budget for its stop.
            if stands[index] == .open, task.place != .booting { continue }
            // If the task still boots later, `stopLate` stops it.
            if task.move(from: .booting, to: .failed) { cancel([index]) }
            stops[index]?.cancel()
            overBudget.append(task.title)
            finish(index)
        }
        nextDeadline = deadlines.values.reduce(tasksDeadline, min)
    }

    /// Gives up all tasks that are not done.
    private func runOutOfTime() {
        isLate = openCount > 0
        for index in stands.indices where stands[index] != .done {
            stops[index]?.cancel()
            overBudget.append(graph.tasks[index].title)
        }
        openCount = 0
    }

    /// Drains the queues until the deadline, then cancels and counts the remaining closures. A separate thread does
    /// this, so that this thread still handles signals.
    private func beginDrain(_ now: Int64) {
        stage = .queues
        drainBegun = true
        let isExiting = lifecycle.state.withLock { $0.reason == .exitCalled }
        // Given-up closures will not return, so the drain gets at most the budget of a task. The reserve covers the
        // scheduler's 50 ms and the start of threads.
        var budget = wholeDeadline - now - 100_000_000
        if !overBudget.isEmpty { budget = min(budget, lifecycle.options.stopBudget.nanosecondCount) }
        // A closure that is about to return should not count as stuck.
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

    /// Waits for queues that are not on the app's scheduler, and discards what remains.
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

    /// Publishes the report, resumes the waiters, and exits if the app owns the process.
    func conclude() {
        let closures = progress.closures.withLock { $0 }
        var code: Int32 = 0
        let isStuck = isLate || !overBudget.isEmpty || (closures?.stuck ?? 0) > 0
        let (failure, reason) = lifecycle.state.withLock { ($0.failure, $0.reason) }
        // The closure that called exit() counts as stuck, but is expected.
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
            // A waiter inside exit() would continue and use its own exit code.
            if reason == .exitCalled, isOverBudget { _exit(code) }
        }
        for body in waiting { body(report) }
        guard lifecycle.ownsProcess, reason != .exitCalled else { return }
        // Handlers of exit() may wait for a stuck closure.
        if isStuck { _exit(code) }
        exit(code)
    }
}
