// Owns the time limits of nodes and the error of a node that exceeds one. Programs call it while they build a graph.

extension TaskGraph {
    /// Limits the time of each attempt of a node.
    ///
    ///     let answer = graph.node("ask", after: address) { try await fetch($0) }
    ///     graph.limit(answer, to: .seconds(5))
    ///
    /// At the limit the node fails with a ``TimeLimitError``, and `Cancellation.isRequested` becomes true in its closure.
    /// The Swift task of an asynchronous closure is cancelled. The time includes the nodes that the closure spawns.
    ///
    /// A closure that does not look at its cancellation delays the run. With `waits: false` a run leaves it behind: the
    /// node ends at the limit, and no retry follows. The run's memory stays until the closure returns. Such a closure
    /// runs like the body of `blocking`, so that a spare worker replaces its worker. An asynchronous closure must suspend: no
    /// spare replaces its worker. If the node has a serial or limited queue, the closure keeps its permit of that queue until the closure returns.
    ///
    /// - Parameters:
    ///   - node: The node.
    ///   - time: The limit, from the start of the closure. A later call replaces it.
    ///   - waits: Whether a run waits for the closure after the limit.
    /// - Ordering: Dependents see the writes of the closure, unless it was left behind.
    /// - Threading: The thread that builds the graph.
    /// - Cost: A timer and 3 allocations in each run, and a submission, because the node is not a plain one.
    public func limit<T>(_ node: Node<T>, to time: Duration, waits: Bool = true) {
        check("limit(_:to:waits:)", node.graph)
        guard time > .zero else { trap("TaskGraph.limit(_:to:waits:): not positive (\(time)). Choose a longer time.") }
        nodes[Int(node.id)].limit = GraphLimit(time: time, waits: waits)
    }

    /// The error of a node that exceeded its time limit; see ``limit(_:to:waits:)``.
    public struct TimeLimitError: Error, CustomStringConvertible {
        /// The limit.
        public let limit: Duration

        public var description: String { "time limit exceeded (\(ReportText.time(limit)))" }
    }
}
