// Owns the context through which a running node adds further nodes to its run. Programs call it. It never changes the
// frozen graph.

extension TaskGraph {
    /// The dependency through which a node receives its ``Context``; see ``TaskGraph/context``.
    public struct ContextInput: TaskGraphInput {
        public func _addEdges(to id: Int32, in graph: TaskGraph) { graph.nodes[Int(id)].spawns = true }

        public func _read(_ run: Reader) -> Context {
            guard let attempt = unsafe run.attempt else { trap("TaskGraph.context: only a node can take it. Pass it to node(after:).") }
            return unsafe Context(attempt: attempt.takeUnretainedValue())
        }
    }

    /// A dependency that gives a node's closure a ``Context``, with which it adds nodes to the run.
    ///
    ///     let sizes = graph.node("sizes", after: graph.context) { context in
    ///         for path in paths { context.spawn(path) { try check(path) } }
    ///     }
    public var context: ContextInput { ContextInput() }

    /// Adds nodes to a run, from the closure of a node of the run.
    ///
    /// Spawned nodes belong to the node that adds them. That node ends when its closure and all spawned closures have
    /// returned. If a spawned node fails, the node fails too, with the path of the spawned one, such as "sizes/main.c".
    /// The frozen graph never changes.
    ///
    /// - Threading: Any thread, also in a spawned closure, until the node has ended.
    public struct Context: Sendable {
        let attempt: GraphAttempt

        /// Adds a closure to the run.
        ///
        ///     context.spawn("main.c") { try check("main.c") }
        ///
        /// The closure does not run if the run has been cancelled or stopped, or the node's time limit has passed.
        /// Traps if the node has ended.
        ///
        /// - Parameters:
        ///   - name: The name in errors and reports, after the path of the node.
        ///   - body: The closure. It runs once for each attempt that adds it.
        /// - Ordering: The closure sees the caller's earlier writes. Dependents of the node see the closure's writes.
        /// - Threading: Any thread.
        /// - Cost: A submission and 3 allocations.
        public func spawn(_ name: String = "", _ body: @escaping @Sendable () throws -> Void) {
            attempt.spawn(name, .direct { _ in try body() })
        }

        /// Adds an asynchronous closure to the run, which suspends instead of blocking a worker.
        ///
        ///     context.spawn("page") { _ = try await fetch(url) }
        ///
        /// - Parameters:
        ///   - name: The name in errors and reports, after the path of the node.
        ///   - body: The closure. It runs as a Swift task on the graph's scheduler. A cancelled run cancels the task.
        /// - Ordering: The order of the other form.
        /// - Threading: Any thread.
        /// - Cost: A Swift task and 3 allocations.
        public func spawn(_ name: String = "", _ body: @escaping @Sendable () async throws -> Void) {
            attempt.spawn(name, .suspending { _ in try await body() })
        }
    }
}
