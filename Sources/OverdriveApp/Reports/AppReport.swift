// Owns the report of a boot and an end. `Lifecycle` makes it; programs read it. It never changes afterwards.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Describes the boot and shutdown of an app: dependencies, critical path, times and counts.
///
///     print(report)                       // 12 tasks, booted in 8.31 ms, ended in 0.52 ms (SIGTERM came), exit code 0
///     print(report.table)
///     report.write(to: "/tmp/boot")       // boot.txt, boot.svg, boot.json
///
/// Times are relative to the start of the boot.
public struct AppReport: Sendable {
    /// The outcome of a task.
    public enum Outcome: String, Sendable {
        /// The task waits for its dependencies or for a worker.
        case waiting
        /// The task's body runs.
        case booting
        /// The task has booted.
        case up
        /// The task failed or was cancelled during its boot.
        case failed
        /// The task was never started, because the boot had failed or the shutdown had begun.
        case notStarted = "not started"
        /// The task is being stopped, or was when its budget was spent.
        case stopping
        /// The task has been stopped.
        case stopped
    }

    /// The report on one task.
    public struct Entry: Sendable {
        /// The task's name, or its type.
        public let task: String
        /// The provider that listed the task.
        public let provider: String
        /// The task's dependencies: indices into ``AppReport/tasks``.
        public let dependencies: [Int]
        /// The task's outcome.
        public let outcome: Outcome
        /// The time when the last dependency had booted. From then on the task waited for a worker.
        public let ready: Duration
        /// The times when the body began, and when the task had booted or failed; nil for not yet.
        public let started: Duration?, ended: Duration?
        /// The times when `stop()` began and ended; nil for not yet.
        public let stopStarted: Duration?, stopEnded: Duration?
        /// Whether the task is on the critical path of the boot.
        public let isCritical: Bool
    }

    /// The tasks, in the order of their providers.
    public let tasks: [Entry]
    /// The failure of the boot, or of a task after the boot; nil for none.
    public let failure: AppError?
    /// The duration of the boot; nil if it has not finished.
    public let bootTime: Duration?
    /// The reason for the shutdown; nil if it has not begun.
    public let endReason: String?
    /// The duration of the shutdown; nil if it has not finished.
    public let endTime: Duration?
    /// The exit code: 0 in order, 1 failure of the boot or a task, 2 budget exceeded; nil if the app runs.
    public let exitCode: Int32?
    /// The tasks that exceeded their budgets in the shutdown, in that order.
    public let overBudget: [String]
    /// The outcome of closures on the app's scheduler; nil if there was no time to shut it down.
    public let closures: ShutdownReport?
    /// The number of discarded closures of queues that were passed to ``AppTasks/drainAtEnd(_:)``.
    public let discardedClosures: Int
    /// The numbers of events that were accepted, delivered to all listeners, refused, and dropped.
    public let events: (accepted: Int, delivered: Int, refused: Int, dropped: Int)
    /// Other facts, one sentence each.
    public let notes: [String]

    /// The outcome of the shutdown.
    struct End {
        var reason: String
        var exitCode: Int32
        var overBudget: [String]
        var began: Int64
        var ended: Int64
        var closures: ShutdownReport?
        var discardedClosures: Int
    }

    /// Creates the report of an app that could not be made.
    init(stillborn error: AppError) {
        tasks = []
        failure = error
        (bootTime, endReason, endTime, exitCode) = (nil, EndReason.bootFailed.sentence, .zero, 1)
        (overBudget, closures, discardedClosures, events, notes) = ([], nil, 0, (0, 0, 0, 0), [])
    }

    init(of lifecycle: Lifecycle, graph: AppGraph, end: End?) {
        let state = lifecycle.state.withLock {
            (failure: $0.failure, reason: $0.reason, bootedAt: $0.bootedAt, notes: $0.notes)
        }
        func time(_ stamp: borrowing Atomic<Int64>) -> Duration? {
            let stamp = stamp.load(ordering: .acquiring)
            return stamp == 0 ? nil : .nanoseconds(stamp - lifecycle.startedAt)
        }
        let ends = graph.tasks.map { time($0.startedAt) == nil ? nil : time($0.endedAt) }
        let critical = Set(RunTimeline.criticalPath(ends) { graph.dependencies(of: $0) })
        tasks = graph.tasks.indices.map { index in
            let task = graph.tasks[index]
            let dependencies = Array(graph.dependencies(of: index))
            return Entry(
                task: task.name ?? "\(type(of: task))", provider: graph.provider(of: index), dependencies: dependencies,
                outcome: AppReport.outcome(of: task.place),
                ready: dependencies.compactMap { ends[$0] }.max() ?? .zero,
                started: time(task.startedAt), ended: ends[index],
                stopStarted: time(task.stopStartedAt), stopEnded: time(task.stopEndedAt),
                isCritical: critical.contains(index))
        }
        failure = state.failure
        bootTime = state.bootedAt == 0 ? nil : .nanoseconds(state.bootedAt - lifecycle.startedAt)
        endReason = state.reason?.sentence
        endTime = end.map { .nanoseconds($0.ended - $0.began) }
        exitCode = end?.exitCode
        overBudget = end?.overBudget ?? []
        closures = end?.closures
        discardedClosures = end?.discardedClosures ?? 0
        let counts = lifecycle.events.counts
        events = (counts.accepted, counts.delivered, counts.refused, counts.dropped)
        notes = state.notes + (counts.firstRefusal.map { [$0] } ?? [])
            + counts.visitErrors.map { "a closure of forEach(_:) that had waited threw: \($0)" }
            + (end != nil && lifecycle.events.undelivered > 0
                ? ["\(lifecycle.events.undelivered) events or visits that had been accepted were "
                    + (state.bootedAt == 0
                        ? "received by no task: the app ended before its boot had"
                        : "not received by every task: they were still waiting when the tasks were stopped")] : [])
    }

    private static func outcome(of place: AppTask.Place) -> Outcome {
        switch place {
        case .waiting: .waiting
        case .booting: .booting
        case .up: .up
        case .failed: .failed
        case .withdrawn: .notStarted
        case .stopping: .stopping
        case .stopped: .stopped
        }
    }

    /// The tasks of the critical path, from the first to the last.
    public var criticalPath: [Entry] {
        tasks.filter(\.isCritical).sorted { ($0.ended ?? .zero) < ($1.ended ?? .zero) }
    }

    /// Whether there was no failure and the exit code is 0 or not known yet.
    public var isOrderly: Bool { failure == nil && (exitCode ?? 0) == 0 }

    /// One sentence for each problem.
    public var problems: [String] {
        var problems = failure.map { ["\($0)"] } ?? []
        if !overBudget.isEmpty {
            problems.append(
                "\(overBudget.count == 1 ? "a task has" : "\(overBudget.count) tasks have") not ended within "
                    + "the budget: \(overBudget.prefix(8).joined(separator: ", "))\(overBudget.count > 8 ? ", …" : "")")
        }
        // The closure that called exit() counts as stuck, but is no problem.
        let expected = endReason == EndReason.exitCalled.sentence ? 1 : 0
        if let closures, closures.cancelled > 0 || closures.stuck > expected {
            problems.append(
                "of the accepted closures, \(closures.cancelled) never ran and \(closures.stuck) still run")
        }
        if discardedClosures > 0 { problems.append("\(discardedClosures) closures of other queues were discarded") }
        return problems + notes
    }

    /// Prints one line for each problem to the standard error stream.
    func say() {
        for problem in problems {
            let line = Array("overdrive: \(problem)\n".utf8)
            // Errors are ignored: if the stream is closed, there is no place to report them.
            _ = unsafe line.withUnsafeBytes { unsafe systemWrite(STDERR_FILENO, $0) }
        }
    }
}
