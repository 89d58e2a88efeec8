public import OverdriveCore

extension TaskGraph {
    /// A graph that runs, as often as the program asks.
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

        /// How many nodes the graph has.
        public var count: Int { layout.count }

        /// Runs all nodes and waits for them. The calling thread takes part.
        ///
        ///     let results = try build.run()
        ///     print(results[size])    // 42
        ///
        /// - Parameter token: Cancels the run: nodes that have not begun do not begin, and in others
        ///   `Cancellation.isRequested` turns true. Tasks of asynchronous nodes are cancelled, and waits for a retry end.
        /// - Returns: The results.
        /// - Throws: ``TaskGraphError/failed(node:error:others:)`` or ``TaskGraphError/cancelled(unfinished:)``, after all nodes
        ///   that had begun have returned.
        /// - Ordering: The caller sees what all nodes wrote.
        /// - Threading: Any thread; in an `async` function call the other form.
        /// - Cost: No allocation for a plain node, and a locked instruction for each dependency. A node that is released
        ///   first runs at once on the thread that released it; others cost a submission each. A first run, and each run
        ///   beyond those whose results were given back, allocates 24 bytes and the result's size for each node.
        @available(*, noasync, message: "write await run() inside an async function, not at the top level of a file")
        public func run(token: CancellationToken? = nil) throws(TaskGraphError) -> Results {
            try run(with: [], token: token)
        }

        /// Runs all nodes with values for the graph's inputs, and waits for them.
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
        ///   - given: The inputs' values; see ``TaskGraph/InputNode/given(_:)``.
        ///   - token: Cancels the run, as in `run(token:)`.
        /// - Returns: The results.
        /// - Throws: As `run(token:)`.
        /// - Ordering: Nodes see what the caller wrote before; the caller sees what all nodes wrote.
        /// - Threading: Any thread; in an `async` function call the other form.
        /// - Cost: As `run(token:)`, and 2 allocations.
        @available(*, noasync, message: "write await run(with:) inside an async function, not at the top level of a file")
        public func run(with given: [Given], token: CancellationToken? = nil) throws(TaskGraphError) -> Results {
            let writes = GraphInput.writes(of: given, in: layout)
            let run = pool.take() ?? GraphRun(layout, on: queue)
            run.start(here: true, token: token, given: writes)
            run.group.wait()
            return try results(of: run)
        }

        /// Runs all nodes without blocking the caller's thread.
        ///
        ///     let results = try await build.run()
        ///
        /// - Parameter token: Cancels the run, as the cancellation of the calling task does.
        /// - Returns: The results.
        /// - Throws: As the blocking form.
        /// - Ordering: The caller sees what all nodes wrote.
        /// - Threading: Any task.
        /// - Cost: As the blocking form; and the first nodes are submitted, since the caller does not take part.
        public func run(token: CancellationToken? = nil) async throws(TaskGraphError) -> Results {
            try await run(with: [], token: token)
        }

        /// Runs all nodes with values for the graph's inputs, without blocking the caller's thread.
        ///
        ///     let results = try await frozen.run(with: [number.given(4)])
        ///
        /// - Parameters:
        ///   - given: The inputs' values; see ``TaskGraph/InputNode/given(_:)``.
        ///   - token: Cancels the run, as the cancellation of the calling task does.
        /// - Returns: The results.
        /// - Throws: As the blocking form, and traps as it does.
        /// - Ordering: Nodes see what the caller wrote before; the caller sees what all nodes wrote.
        /// - Threading: Any task.
        /// - Cost: As `run(token:)`, and 2 allocations.
        public func run(with given: [Given], token: CancellationToken? = nil) async throws(TaskGraphError) -> Results {
            let writes = GraphInput.writes(of: given, in: layout)
            let run = pool.take() ?? GraphRun(layout, on: queue)
            await withTaskCancellationHandler {
                run.start(here: false, token: token, given: writes)
                await run.group.wait()
            } onCancel: {
                run.cancel()
            }
            return try results(of: run)
        }

        private func results(of run: GraphRun) throws(TaskGraphError) -> Results {
            run.endWatch()
            if let error = run.error {
                pool.give(run)
                throw error
            }
            return Results(run, pool)
        }
    }

    /// The results of one run. They are given up with the last reference to this.
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

        /// The result of a node.
        ///
        /// Traps if the node did not finish, which only ``FailurePolicy/goOn`` and branches allow: ask ``outcome(of:)`` there.
        public subscript<T>(node: Node<T>) -> T {
            check(node)
            guard run.reader.hasValue(node) else {
                trap("TaskGraph.Results: node \"\(run.layout.name(of: Int(node.id)))\" did not finish. Use outcome(of:).")
            }
            return run.reader.value(of: node)
        }

        /// How a node ended.
        ///
        /// - Parameter node: A node of the graph that ran.
        /// - Returns: The node's value or error, or why it did not run.
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

    /// How a node ended in a run.
    public enum Outcome<T: Sendable>: Sendable {
        /// It returned a value.
        case value(T)
        /// It threw, and was not tried again.
        case failed(any Error)
        /// It did not run: a node that it needs failed.
        case skipped
        /// It did not run: it is on a branch that was not taken.
        case notTaken
    }
}

/// Runs that have ended, for later ones.
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
