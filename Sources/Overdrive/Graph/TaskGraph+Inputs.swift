// Owns the inputs of a graph: nodes whose values the caller of a run supplies. Programs call it through `TaskGraph`
// and `Frozen.run(with:)`. It never runs a node.

internal import OverdriveCore

/// An input of a frozen graph: its node and its default value.
struct GraphInput: Sendable {
    /// Initialises a slot with an input's value.
    typealias Write = @Sendable (GraphSlot) -> Void

    let node: Int32
    let byDefault: Write?

    /// Returns the initialisers of a run, one for each input, in the order of `inputs`.
    static func writes(of given: [TaskGraph.Given], in layout: GraphLayout) -> [Write] {
        let inputs = layout.inputs
        var chosen = [Write?](repeating: nil, count: inputs.count)
        for value in given {
            guard value.graph == layout.graph else {
                trap("TaskGraph.run: the input belongs to another graph. Give values only to inputs of the graph that runs.")
            }
            guard chosen[value.number] == nil else {
                trap("TaskGraph.run: 2 values for input \"\(layout.name(of: inputs[value.number]))\". Give it one.")
            }
            chosen[value.number] = value.write
        }
        return zip(inputs, chosen).map { input, write in
            guard let write = write ?? input.byDefault else {
                trap("TaskGraph.run: no value for input \"\(layout.name(of: input))\". Pass it to run(with:).")
            }
            return write
        }
    }
}

extension GraphLayout {
    fileprivate func name(of input: GraphInput) -> String { name(of: Int(input.node)) }
}

extension TaskGraph {
    /// A node whose value the caller supplies for each run.
    public struct InputNode<T: Sendable>: TaskGraphInput {
        /// The input as an ordinary node, for results, conditions and orders.
        public let node: Node<T>
        fileprivate let number: Int

        /// Pairs the input with its value for `run(with:token:)`.
        ///
        /// - Parameter value: The value that dependents receive.
        /// - Returns: The pair, to pass to a run.
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public func given(_ value: T) -> Given {
            Given(graph: node.graph, number: number) { $0.initialize(to: value) }
        }

        public func _addEdges(to id: Int32, in graph: TaskGraph) { node._addEdges(to: id, in: graph) }
        public func _read(_ run: Reader) -> T { node._read(run) }
    }

    /// An input with its value for a run; see ``InputNode/given(_:)``.
    public struct Given: Sendable {
        let graph: Int
        let number: Int
        let write: GraphInput.Write
    }

    /// Adds an input: a node whose value the caller supplies for each run.
    ///
    ///     let path = graph.input("path", of: String.self)
    ///     let size = graph.node("size", after: path) { path in try fileSize(path) }
    ///     let build = try graph.freeze()
    ///
    ///     print(try build.run(with: [path.given("main.swift")])[size])    // 1204
    ///
    /// Traps in a run that supplies no value.
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - type: The type of the value.
    /// - Returns: The input, for dependents and for runs.
    /// - Ordering: Dependents see the earlier writes of the caller of `run`.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations.
    public func input<T: Sendable>(_ name: String = "", of type: T.Type) -> InputNode<T> {
        input(name, byDefault: nil)
    }

    /// Adds an input with a default value.
    ///
    ///     let level = graph.input("level", default: 2)
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - value: The value in runs that supply none.
    /// - Returns: The input, for dependents and for runs.
    /// - Ordering: Dependents see the earlier writes of the caller of `run`.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Three allocations.
    public func input<T: Sendable>(_ name: String = "", default value: T) -> InputNode<T> {
        input(name, byDefault: { $0.initialize(to: value) })
    }

    private func input<T: Sendable>(_ name: String, byDefault: GraphInput.Write?) -> InputNode<T> {
        let number = inputs.count
        let node = add(
            name, returning: T.self, when: nil, on: nil, qos: nil, retry: nil,
            body: .direct { run, place in
                run.given[number](place)
            })
        inputs.append(GraphInput(node: node.id, byDefault: byDefault))
        return InputNode(node: node, number: number)
    }
}

extension TaskGraph.Reader {
    fileprivate var given: [GraphInput.Write] { unsafe states[0].run.given }
}
