// Owns the public types of a frozen graph and its results. Programs call it. It never changes the layout.

public import OverdriveCore

extension TaskGraph {
    /// A graph that can be run any number of times.
    ///
    /// - Threading: Any thread. Several runs may be under way at a time; each has its own results.
    public final class Frozen: Sendable {
        let layout: GraphLayout
        private let queue: TaskQueue
        private let pool = RunPool()
        /// The label of the graph's closures.
        public let name: String

        init(_ layout: GraphLayout, name: String, scheduler: Scheduler) {
            self.layout = layout
            self.name = name
            queue = .concurrent(label: name, scheduler: scheduler)
        }

        /// The number of nodes in the graph.
        public var count: Int { layout.count }

        /// Runs all nodes and waits for them. The calling thread runs nodes too.
        ///
        ///     let results = try build.run()
        ///     print(results[size])    // 42
        ///
        /// - Parameter token: A token that cancels the run. No further node begins, and `Cancellation.isRequested`
        ///   becomes true in running nodes. Tasks of asynchronous nodes are cancelled, and waits for a retry end.
        /// - Returns: The results.
        /// - Throws: ``TaskGraphError/failed(node:error:others:)`` or ``TaskGraphError/cancelled(unfinished:)``,
        ///   after all started nodes have returned.
        /// - Ordering: The caller sees the writes of all nodes.
        /// - Threading: Any thread; in an `async` function call the other form.
        /// - Cost: No allocation for a plain node, and a locked instruction for each dependency. A node that is released
        ///   first runs at once on the thread that released it; another one costs two locked instructions. A first run, and
        ///   each run beyond those whose results were given back, allocates 24 bytes and the result's size for each node.
        @available(*, noasync, message: "write await run() inside an async function, not at the top level of a file")
        public func run(token: CancellationToken? = nil) throws(TaskGraphError) -> Results {
            try run(with: [], token: token)
        }

        /// Runs all nodes with values for the graph's inputs and waits for them.
        ///
        ///     let graph = TaskGraph()
        ///     let number = graph.input("number", of: Int.self)
        ///     let square = graph.node("square", after: number) { $0 * $0 }
        ///     let frozen = try graph.freeze()
        ///     print(try frozen.run(with: [number.given(4)])[square])    // 16
        ///
        /// Traps if an input has neither a value nor a default, has 2 values, or belongs to another graph.
        ///
        /// - Parameters:
        ///   - given: The values of the inputs; see ``TaskGraph/InputNode/given(_:)``.
        ///   - token: A token that cancels the run, as in `run(token:)`.
        /// - Returns: The results.
        /// - Throws: The errors of `run(token:)`.
        /// - Ordering: Nodes see the caller's earlier writes; the caller sees the writes of all nodes.
        /// - Threading: Any thread; in an `async` function call the other form.
        /// - Cost: The cost of `run(token:)`, and 2 allocations.
        @available(*, noasync, message: "write await run(with:) inside an async function, not at the top level of a file")
        public func run(with given: [Given], token: CancellationToken? = nil) throws(TaskGraphError) -> Results {
            try runBlocking(given, token, nil)
        }

        /// Runs all nodes, records their times and waits for them.
        ///
        ///     let recorder = RunRecorder()
        ///     let results = try frozen.run(recording: recorder)
        ///     print(recorder.report.table)
        ///
        /// The recorder has the times also if the run throws.
        ///
        /// - Parameters:
        ///   - recorder: The recorder, whose report is replaced when the run ends.
        ///   - given: The values of the inputs, as in `run(with:token:)`.
        ///   - token: A token that cancels the run, as in `run(token:)`.
        /// - Returns: The results.
        /// - Throws: The errors of `run(token:)`.
        /// - Ordering: The order of `run(with:token:)`.
        /// - Threading: Any thread; in an `async` function call the other form.
        /// - Cost: The cost of `run(with:token:)`, 2 reads of the clock for each node, and the report: about 1 µs a node, and a spawned
        ///   node for each dependent of its node.
        @available(*, noasync, message: "write await run(recording:) inside an async function, not at the top level of a file")
        public func run(
            recording recorder: RunRecorder, with given: [Given] = [], token: CancellationToken? = nil
        ) throws(TaskGraphError) -> Results {
            try runBlocking(given, token, recorder)
        }

        private func runBlocking(
            _ given: [Given], _ token: CancellationToken?, _ recorder: RunRecorder?
        ) throws(TaskGraphError) -> Results {
            let writes = GraphInput.writes(of: given, in: layout)
            let run = pool.take() ?? GraphRun(layout, on: queue)
            run.start(here: true, token: token, given: writes, record: makeRecord(for: recorder))
            run.group.wait()
            return try results(of: run, for: recorder)
        }

        /// Runs all nodes without blocking the caller's thread.
        ///
        ///     let results = try await build.run()
        ///
        /// - Parameter token: A token that cancels the run. Cancelling the calling task cancels the run too.
        /// - Returns: The results.
        /// - Throws: The errors of the blocking form.
        /// - Ordering: The caller sees the writes of all nodes.
        /// - Threading: Any task.
        /// - Cost: The cost of the blocking form, and a submission for each first node, because the caller runs no
        ///   nodes.
        public func run(token: CancellationToken? = nil) async throws(TaskGraphError) -> Results {
            try await run(with: [], token: token)
        }

        /// Runs all nodes with values for the graph's inputs, without blocking the caller's thread.
        ///
        ///     let results = try await frozen.run(with: [number.given(4)])
        ///
        /// - Parameters:
        ///   - given: The values of the inputs; see ``TaskGraph/InputNode/given(_:)``.
        ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
        /// - Returns: The results.
        /// - Throws: The errors of the blocking form. The call traps if the blocking form would.
        /// - Ordering: Nodes see the caller's earlier writes; the caller sees the writes of all nodes.
        /// - Threading: Any task.
        /// - Cost: The cost of `run(token:)`, and 2 allocations.
        public func run(with given: [Given], token: CancellationToken? = nil) async throws(TaskGraphError) -> Results {
            try await runSuspending(given, token, nil)
        }

        /// Runs all nodes and records their times, without blocking the caller's thread.
        ///
        ///     let recorder = RunRecorder()
        ///     let results = try await frozen.run(recording: recorder)
        ///     print(recorder.report.criticalPath.map(\.name))
        ///
        /// - Parameters:
        ///   - recorder: The recorder, whose report is replaced when the run ends.
        ///   - given: The values of the inputs, as in `run(with:token:)`.
        ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
        /// - Returns: The results.
        /// - Throws: The errors of the blocking form.
        /// - Ordering: The order of `run(with:token:)`.
        /// - Threading: Any task.
        /// - Cost: The cost of the blocking form.
        public func run(
            recording recorder: RunRecorder, with given: [Given] = [], token: CancellationToken? = nil
        ) async throws(TaskGraphError) -> Results {
            try await runSuspending(given, token, recorder)
        }

        private func runSuspending(
            _ given: [Given], _ token: CancellationToken?, _ recorder: RunRecorder?
        ) async throws(TaskGraphError) -> Results {
            let writes = GraphInput.writes(of: given, in: layout)
            let run = pool.take() ?? GraphRun(layout, on: queue)
            await withTaskCancellationHandler {
                run.start(here: false, token: token, given: writes, record: makeRecord(for: recorder))
                await run.group.wait()
            } onCancel: {
                run.cancel()
            }
            return try results(of: run, for: recorder)
        }

        private func makeRecord(for recorder: RunRecorder?) -> GraphRecord? {
            recorder == nil ? nil : GraphRecord(count: count)
        }

        private func results(of run: GraphRun, for recorder: RunRecorder?) throws(TaskGraphError) -> Results {
            run.endWatch()
            if let recorder, let record = unsafe run.record { recorder.keep(record.report(of: run, name)) }
            if let error = run.error {
                pool.give(run)
                throw error
            }
            return Results(run, pool)
        }
    }

    /// The results of one run. The last reference to this object keeps the results alive.
    public final class Results: Sendable {
        private let run: GraphRun
        private let pool: RunPool

        init(_ run: GraphRun, _ pool: RunPool) {
            self.run = run
            self.pool = pool
        }

        deinit {
            pool.give(run)
        }

        /// Returns the result of a node.
        ///
        /// Traps if the node did not finish, which is possible only with ``FailurePolicy/goOn`` and branches. Use
        /// ``outcome(of:)`` in these cases.
        public subscript<T>(node: Node<T>) -> T {
            check(node)
            guard run.reader.hasValue(node) else {
                trap("TaskGraph.Results: node \"\(run.layout.name(of: Int(node.id)))\" did not finish. Use outcome(of:).")
            }
            return run.reader.value(of: node)
        }

        /// Returns the outcome of a node.
        ///
        /// - Parameter node: A node of the graph that ran.
        /// - Returns: The node's value or error, or the reason why the node did not run.
        /// - Ordering: None: the run has ended.
        /// - Threading: Any thread.
        /// - Cost: A copy of the result.
        public func outcome<T>(of node: Node<T>) -> Outcome<T> {
            check(node)
            switch run.outcome(of: Int(node.id)) {
            case .finished: return .value(run.reader.value(of: node))
            case .failed:
                let error = run.failures.withLock { $0.first { $0.node == Int(node.id) }?.error }
                return .failed(error ?? CancellationError())
            case .notTaken: return .notTaken
            case .skipped, .cancelled, .pending: return .skipped
            }
        }

        private func check<T>(_ node: Node<T>) {
            guard node.graph == run.layout.graph else {
                trap("TaskGraph.Results: the node belongs to another graph. Use the results of that graph's run.")
            }
        }
    }

    /// The outcome of a node in a run.
    public enum Outcome<T: Sendable>: Sendable {
        /// The node returned a value.
        case value(T)
        /// The node threw an error, and no retry followed.
        case failed(any Error)
        /// The node did not run, because a node that it needs failed or the run was cancelled.
        case skipped
        /// The node did not run, because it is on a branch that was not taken.
        case notTaken
    }
}

/// Finished runs of a graph, whose storage later runs reuse.
final class RunPool: Sendable {
    private let runs = Locked<[GraphRun]>([])

    func take() -> GraphRun? {
        runs.withLock { $0.popLast() }
    }

    func give(_ run: GraphRun) {
        guard run.reset() else { return }
        runs.withLock { $0.append(run) }
    }
}
