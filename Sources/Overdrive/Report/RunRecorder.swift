// Owns the recording of times: of a frozen graph's run, and of a set of tasks. Programs make recorders and read their
// reports. A run without a recorder reads no clock.

internal import OverdriveCore
internal import Synchronization

/// Records the times of a run of a frozen graph, or of tasks that depend on each other.
///
///     let recorder = RunRecorder()
///     let results = try frozen.run(recording: recorder)
///     print(recorder.report.table)
///
/// Of tasks:
///
///     let recorder = RunRecorder(of: [launch])
///     queue.add(task: launch)
///     launch.waitUntilFinished()
///     print(recorder.report.criticalPath.map(\.name))
///
/// - Threading: Any thread. Each recorded run needs a recorder; the last run that ends replaces the report.
/// - Cost: Two reads of the clock and 32 bytes for each node that runs. A run that is not recorded costs nothing.
public final class RunRecorder: Sendable {
    private let name: String
    private let last = Locked<RunReport?>(nil)
    private let tasks: TaskRecord?

    /// Creates a recorder for runs of frozen graphs.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public init() {
        name = "graph"
        tasks = nil
    }

    /// Creates a recorder of tasks and of all tasks that they depend on.
    ///
    /// - Parameters:
    ///   - tasks: The tasks. They have their dependencies, and none has started.
    ///   - name: The name of the report.
    /// - Ordering: The times of a report begin at this call.
    /// - Threading: Any thread. Dependencies that are added later are not recorded.
    /// - Cost: An observer for each task.
    public init(of tasks: [AnyTask], name: String = "tasks") {
        self.name = name
        self.tasks = TaskRecord(of: tasks)
    }

    /// The report on the last run that has ended, or on the tasks as they are now.
    ///
    /// - Ordering: Of a graph, the report has all nodes of the run. Of tasks, it has those that have ended.
    /// - Threading: Any thread.
    /// - Cost: Of a graph, a copy of a reference. Of tasks, linear in tasks and dependencies.
    public var report: RunReport {
        if let tasks { return tasks.report(name) }
        return last.withLock { $0 } ?? RunReport(name: name, nodes: [], edges: [], elapsed: .zero)
    }

    func keep(_ report: RunReport) { last.withLock { $0 = report } }
}

/// The times of one run of a frozen graph.
///
/// The thread that runs a node writes its times; at a time limit the timer does, under the attempt's lock. The run's group orders the writes before the report.
@safe final class GraphRecord: Sendable {
    private struct Times {
        var started: Duration?
        var ended: Duration?
    }

    private struct Spawned {
        let parent: Int
        let node: RunReport.Node
    }

    private let count: Int
    nonisolated(unsafe) private let times: UnsafeMutablePointer<Times>
    private let spawned = Locked<[Spawned]>([])
    private let began = RunClock.now

    init(count: Int) {
        self.count = count
        unsafe times = .allocate(capacity: max(1, count))
        unsafe times.initialize(repeating: Times(), count: count)
    }

    deinit {
        unsafe times.deallocate()
    }

    private var time: Duration { RunClock.now - began }

    /// Notes the start of an attempt. Only that of the first one counts.
    func started(_ node: Int) {
        if unsafe times[node].started == nil { unsafe times[node].started = time }
    }

    func ended(_ node: Int) { unsafe times[node].ended = time }

    /// Adds a node that another one has spawned, and that has returned.
    func spawned(_ name: String, by parent: Int, ready: Duration, started: Duration, failed: Bool) {
        let node = RunReport.Node(
            name: name, outcome: failed ? .failed : .finished, ready: ready - began, started: started - began, ended: time)
        spawned.withLock { $0.append(Spawned(parent: parent, node: node)) }
    }

    /// Returns the report, after the run has ended.
    func report(of run: GraphRun, _ name: String) -> RunReport {
        let elapsed = time
        var nodes = (0..<count).map { node in
            RunReport.Node(
                name: run.layout.name(of: node), outcome: RunReport.Outcome(run.outcome(of: node)), started: unsafe times[node].started,
                ended: unsafe times[node].ended)
        }
        var edges = run.layout.drawnEdges
        for child in spawned.withLock({ $0 }) {
            edges.append(DrawnEdge(from: child.parent, to: nodes.count, kind: .order))
            // The dependents of the node wait for the nodes that it spawned, too.
            for unsafe edge in unsafe run.layout.successors(of: child.parent) {
                edges.append(DrawnEdge(from: nodes.count, to: edge.node, kind: .order))
            }
            nodes.append(child.node)
        }
        return RunReport(name: name, nodes: nodes, edges: edges, elapsed: elapsed)
    }
}

extension RunReport.Outcome {
    fileprivate init(_ outcome: GraphOutcome) {
        self =
            switch outcome {
            case .finished: .finished
            case .failed: .failed
            case .skipped: .skipped
            case .notTaken: .notTaken
            case .cancelled, .pending: .cancelled
            }
    }

    fileprivate init(_ task: AnyTask) {
        self = !task.isFinished ? .unfinished : task.failure.map { $0.isCancellation ? .cancelled : .failed } ?? .finished
    }
}

/// A clock whose times are durations from one instant.
enum RunClock {
    private static let first = ContinuousClock.now
    /// This is not inlined, because each copy of a clock's instant looks up type metadata.
    static var now: Duration {
        @inline(never) get { first.duration(to: .now) }
    }
}

/// The times of a set of tasks.
private final class TaskRecord: Sendable {
    private struct Times {
        var started: Duration?
        var ended: Duration?
    }

    private let tasks: [AnyTask]
    private let edges: [DrawnEdge]
    private let times: Locked<[Times]>
    private let began = RunClock.now

    init(of given: [AnyTask]) {
        var (tasks, edges): ([AnyTask], [DrawnEdge]) = ([], [])
        var numbers: [ObjectIdentifier: Int] = [:]
        func number(of task: AnyTask) -> Int {
            if let number = numbers[ObjectIdentifier(task)] { return number }
            numbers[ObjectIdentifier(task)] = tasks.count
            tasks.append(task)
            return tasks.count - 1
        }
        for task in given { _ = number(of: task) }
        var next = 0
        while next < tasks.count {
            for dependency in tasks[next].dependencies {
                edges.append(DrawnEdge(from: number(of: dependency), to: next, kind: .needed))
            }
            next += 1
        }
        self.tasks = tasks
        self.edges = edges
        times = Locked(Array(repeating: Times(), count: tasks.count))
        for (number, task) in tasks.enumerated() { task.add(observer: TaskTimes(record: self, number: number)) }
    }

    func started(_ number: Int) {
        let time = RunClock.now - began
        times.withLock { if $0[number].started == nil { $0[number].started = time } }
    }

    func ended(_ number: Int) {
        let time = RunClock.now - began
        times.withLock { $0[number].ended = time }
    }

    func report(_ name: String) -> RunReport {
        let times = times.withLock { $0 }
        let nodes = tasks.indices.map { i in
            RunReport.Node(
                name: tasks[i].name ?? "\(type(of: tasks[i]))", outcome: RunReport.Outcome(tasks[i]), started: times[i].started,
                ended: times[i].started == nil ? nil : times[i].ended)
        }
        return RunReport(name: name, nodes: nodes, edges: edges, elapsed: times.lazy.compactMap(\.ended).max() ?? .zero)
    }
}

/// Tells a record of a task's start and end.
private struct TaskTimes: TaskObserver {
    // A task that never finishes would keep the record, and the record all tasks.
    weak let record: TaskRecord?
    let number: Int

    func taskDidStartExecution<T>(_ task: Task<T>) { record?.started(number) }
    func taskWillFinishExecution<T>(_ task: Task<T>) { record?.ended(number) }
}
