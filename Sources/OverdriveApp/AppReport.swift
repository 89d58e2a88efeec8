internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// How an app booted and ended: who waited for whom, the critical path, the times, and what was counted.
///
///     print(report)                       // 12 tasks, booted in 8.31 ms, ended in 0.52 ms (SIGTERM came), exit code 0
///     print(report.table)
///     report.write(to: "/tmp/boot")       // boot.txt, boot.svg, boot.json
///
/// Times count from the moment at which the boot began.
public struct AppReport: Sendable {
    /// The outcome of a task.
    public enum Outcome: String, Sendable {
        /// It waits for its dependencies, or for a worker.
        case waiting
        /// Its body runs.
        case booting
        /// It has booted.
        case up
        /// It failed, or was cancelled while it booted.
        case failed
        /// It was never started, because the boot had failed or the end had begun.
        case notStarted = "not started"
        /// It is being stopped, or was when its time was over.
        case stopping
        /// It has been stopped.
        case stopped
    }

    /// One task.
    public struct Entry: Sendable {
        /// Its name, or its type.
        public let task: String
        /// The provider that listed it.
        public let provider: String
        /// The task's dependencies: indices into ``AppReport/tasks``.
        public let dependencies: [Int]
        /// The task's outcome.
        public let outcome: Outcome
        /// When the last of its dependencies had booted: from then on it waited for a worker.
        public let ready: Duration
        /// When its body began and when it had booted or failed; nil: it has not.
        public let started: Duration?, ended: Duration?
        /// When its `stop()` began and ended; nil: it has not.
        public let stopStarted: Duration?, stopEnded: Duration?
        /// Whether the boot took as long as it did because of it.
        public let isCritical: Bool
    }

    /// The tasks, in the order of their providers.
    public let tasks: [Entry]
    /// Why the boot failed, or which task did later; nil: none.
    public let failure: AppError?
    /// How long the boot took; nil: it is not over, or was never.
    public let bootTime: Duration?
    /// Why the app ends; nil: it does not yet.
    public let endReason: String?
    /// How long the end took; nil: it is not over.
    public let endTime: Duration?
    /// The exit code: 0 orderly, 1 boot or a task failed, 2 over budget; nil: the app runs.
    public let exitCode: Int32?
    /// The tasks that have spent their budgets at the end, in that order.
    public let overBudget: [String]
    /// The outcome of the closures on the app's scheduler; nil: it has not been shut down, or the time ran out.
    public let closures: ShutdownReport?
    /// Closures of queues given to ``AppTasks/drainAtEnd(_:)`` that were discarded.
    public let discardedClosures: Int
    /// Events that were accepted, that every listening task heard of, that were refused, and dropped.
    public let events: (accepted: Int, delivered: Int, refused: Int, dropped: Int)
    /// Other facts, one sentence each.
    public let notes: [String]

    /// What the end has come to.
    struct End {
        var reason: String
        var exitCode: Int32
        var overBudget: [String]
        var began: Int64
        var ended: Int64
        var closures: ShutdownReport?
        var discardedClosures: Int
    }

    /// Of an app that never came to be.
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
        let critical = AppReport.criticalPath(graph, ends)
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

    /// From the task that ended last, the dependency that ended last, and so on.
    private static func criticalPath(_ graph: AppGraph, _ ends: [Duration?]) -> Set<Int> {
        var path: Set<Int> = []
        func latest(_ indices: some Sequence<Int>) -> Int? {
            indices.filter { ends[$0] != nil }.max { ends[$0]! < ends[$1]! }
        }
        var next = latest(graph.tasks.indices)
        while let index = next, path.insert(index).inserted { next = latest(graph.dependencies(of: index)) }
        return path
    }

    /// The critical path, from its first task to its last.
    public var criticalPath: [Entry] {
        tasks.filter(\.isCritical).sorted { ($0.ended ?? .zero) < ($1.ended ?? .zero) }
    }

    /// Whether everything went as it should.
    public var isOrderly: Bool { failure == nil && (exitCode ?? 0) == 0 }

    /// One sentence for each thing that went wrong.
    public var problems: [String] {
        var problems = failure.map { ["\($0)"] } ?? []
        if !overBudget.isEmpty {
            problems.append(
                "\(overBudget.count == 1 ? "a task has" : "\(overBudget.count) tasks have") not ended within "
                    + "the budget: \(overBudget.prefix(8).joined(separator: ", "))\(overBudget.count > 8 ? ", …" : "")")
        }
        // The one that is inside exit() is no problem.
        let expected = endReason == EndReason.exitCalled.sentence ? 1 : 0
        if let closures, closures.cancelled > 0 || closures.stuck > expected {
            problems.append(
                "of the accepted closures, \(closures.cancelled) never ran and \(closures.stuck) still run")
        }
        if discardedClosures > 0 { problems.append("\(discardedClosures) closures of other queues were discarded") }
        return problems + notes
    }

    /// Says what went wrong on the standard error stream, one line for each.
    func say() {
        for problem in problems {
            let line = Array("overdrive: \(problem)\n".utf8)
            // A closed stream: there is nobody to tell.
            _ = unsafe line.withUnsafeBytes { unsafe systemWrite(STDERR_FILENO, $0) }
        }
    }
}
