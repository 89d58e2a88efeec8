// Owns the report on a recorded run: the times of its nodes, and what follows from them. `RunRecorder` makes it. It
// never changes.

/// Describes a recorded run of a graph or of tasks: times, critical path, slack and parallelism.
///
///     let recorder = RunRecorder()
///     _ = try frozen.run(recording: recorder)
///     print(recorder.report.table)
///
/// Times are relative to the start of the run.
public struct RunReport: Sendable {
    /// The outcome of a node or a task.
    public enum Outcome: String, Sendable {
        /// The node finished.
        case finished
        /// The node threw an error or exceeded its time limit.
        case failed
        /// The node did not run, because a node that it needs failed.
        case skipped
        /// The node did not run, because it is on a branch that was not taken.
        case notTaken = "not taken"
        /// The node was cancelled, or did not run because the run was.
        case cancelled
        /// The task has not finished.
        case unfinished
    }

    /// The report on one node or task.
    public struct Entry: Sendable {
        /// The node's path, or the task's name or type.
        public let name: String
        /// The dependencies: indices into ``RunReport/entries``.
        public let dependencies: [Int]
        /// The outcome.
        public let outcome: Outcome
        /// The time when the last dependency had ended. From then on the node waited for a worker.
        public let ready: Duration
        /// The times when the closure began and ended, over all attempts; nil for not.
        public let started: Duration?, ended: Duration?
        /// The time by which the node could have ended later without delaying the run; nil if it did not run.
        public let slack: Duration?
        /// Whether the node is on the critical path.
        public let isCritical: Bool

        /// The time from the start to the end; zero if the node did not run.
        public var time: Duration {
            guard let started, let ended else { return .zero }
            return ended - started
        }
    }

    /// A node as a recorder knows it.
    struct Node {
        let name: String
        let outcome: Outcome
        /// The time from which the node could start, if it is not the end of a dependency.
        var ready: Duration?
        let started: Duration?, ended: Duration?
    }

    /// The label of the graph, or the name of the recorder.
    public let name: String
    /// The nodes, in the order in which they were added; then nodes that other nodes spawned.
    public let entries: [Entry]
    /// The time from the start of the run to its last end.
    public let elapsed: Duration
    /// The entries of the critical path, from the first to the last: the node that ended last, its dependency that
    /// ended last, and so on.
    public let criticalPath: [Entry]
    private let drawing: [DrawnEdge]
    private let criticalNumbers: [Int]

    init(name: String, nodes: [Node], edges: [DrawnEdge], elapsed: Duration) {
        let count = nodes.count
        var dependencies = [[Int]](repeating: [], count: count)
        for edge in edges where dependencies[edge.to].last != edge.from { dependencies[edge.to].append(edge.from) }
        let ends = nodes.map { $0.started == nil ? nil : $0.ended }
        let critical = RunTimeline.criticalPath(ends) { dependencies[$0] }
        let isCritical = Set(critical)
        let ready = nodes.indices.map { i in nodes[i].ready ?? dependencies[i].lazy.compactMap { ends[$0] }.max() ?? .zero }
        let rows = GraphRows(count: count, edges: edges)
        // The latest end that delays nothing: from the latest ends of the dependents, each less its wait and its time.
        var latest = [Duration](repeating: ends.lazy.compactMap(\.self).max() ?? .zero, count: count)
        for node in rows.order.reversed() {
            for next in rows.successors(of: node) {
                latest[node] = min(latest[node], ends[next].map { latest[next] - ($0 - ready[next]) } ?? latest[next])
            }
        }
        entries = nodes.indices.map { i in
            Entry(
                name: nodes[i].name, dependencies: dependencies[i], outcome: nodes[i].outcome, ready: ready[i], started: nodes[i].started,
                ended: nodes[i].ended, slack: ends[i].map { max(.zero, latest[i] - $0) }, isCritical: isCritical.contains(i))
        }
        criticalNumbers = critical.reversed()
        criticalPath = criticalNumbers.map { [entries] in entries[$0] }
        drawing = edges
        self.name = name
        self.elapsed = elapsed
    }

    /// The sum of all entries' times.
    public var work: Duration { entries.reduce(.zero) { $0 + $1.time } }

    /// The mean number of nodes that ran at a time.
    public var averageParallelism: Double { elapsed > .zero ? work / elapsed : 0 }

    /// Returns the mean number of nodes that ran in each of equally long slices of the run.
    ///
    ///     print(report.parallelism(slices: 4))    // [1.0, 2.0, 1.8, 0.4]
    ///
    /// - Parameter slices: The number of slices, at least 1.
    /// - Returns: A number for each slice.
    /// - Ordering: None: a report never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in entries and slices.
    public func parallelism(slices: Int) -> [Double] {
        guard slices > 0 else { trap("RunReport.parallelism: too few slices (\(slices)). Ask for at least 1.") }
        return RunTimeline.parallelism(entries.lazy.map { ($0.started, $0.ended) }, until: elapsed, slices: slices)
    }

    /// Draws the run in the DOT language, with times and a red critical path.
    ///
    ///     print(report.dot())    // digraph "build" { …
    ///
    /// - Returns: The text of a DOT file.
    /// - Ordering: None: a report never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in entries and dependencies.
    public func dot() -> String { graph.dot() }

    /// Draws the run in the Mermaid language, with times and a red critical path.
    ///
    ///     print(report.mermaid())    // flowchart LR …
    ///
    /// - Returns: The text of a Mermaid block, without its fence.
    /// - Ordering: None: a report never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in entries and dependencies.
    public func mermaid() -> String { graph.mermaid() }

    /// Draws the run as an SVG picture of the dependencies, with a red critical path.
    ///
    ///     try report.svg().write(toFile: "run.svg", atomically: true, encoding: .utf8)
    ///
    /// With more than 300 entries, those of one column and one path share a box.
    ///
    /// - Returns: The text of an SVG file.
    /// - Ordering: None: a report never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in entries and dependencies.
    public func svg() -> String { graph.svg(title: "\(name): \(summary)") }

    /// Draws the run as an SVG picture over time, with a bar for each entry and a red critical path.
    ///
    ///     try report.timeline().write(toFile: "times.svg", atomically: true, encoding: .utf8)
    ///
    /// A curve above the bars shows how many entries ran at once. With more than 200 entries, the picture shows the 200
    /// slowest ones and the critical path.
    ///
    /// - Returns: The text of an SVG file.
    /// - Ordering: None: a report never changes.
    /// - Threading: Any thread.
    /// - Cost: Linear in entries and dependencies.
    public func timeline() -> String {
        RunTimeline(title: "\(name): \(summary)", bars: entries.map { entry in
            RunTimeline.Bar(
                name: entry.name, dependencies: entry.dependencies, ready: entry.ready, started: entry.started, ended: entry.ended,
                isCritical: entry.isCritical, isFailed: entry.outcome == .failed, note: entry.outcome.rawValue)
        }).svg()
    }

    private var summary: String { "\(entries.count) nodes, \(ReportText.time(elapsed))" }

    private var graph: GraphDrawing {
        let next = zip(criticalNumbers, criticalNumbers.dropFirst() + criticalNumbers.suffix(1))
        return GraphDrawing(
            name: name, names: entries.map(\.name), edges: drawing,
            note: { entries[$0].started == nil ? "" : ": \(ReportText.time(entries[$0].time))" },
            critical: Dictionary(uniqueKeysWithValues: next.map { ($0, $1) }))
    }
}
