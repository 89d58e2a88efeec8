internal import OverdriveCore

/// An input of a frozen graph: its node, and its value in runs that give it none.
struct GraphInput: Sendable {
    /// Initialises a slot of the input's type.
    typealias Write = @Sendable (GraphSlot) -> Void

    let node: Int32
    let byDefault: Write?

    /// The writes of a run, one for each input, in the order of `inputs`.
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
    /// A node whose value each run receives.
    public struct InputNode<T: Sendable>: TaskGraphInput {
        /// The input as a node of the graph, as results, conditions and orders name it.
        public let node: Node<T>
        fileprivate let number: Int

        /// Names the input's value in a run; see `run(with:token:)`.
        ///
        /// - Parameter value: The value that dependents receive.
        /// - Returns: The value with its input.
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public func given(_ value: T) -> Given {
            Given(graph: node.graph, number: number) { $0.initialize(to: value) }
        }

        public func _addEdges(to id: Int32, in graph: TaskGraph) { node._addEdges(to: id, in: graph) }
        public func _read(_ run: Reader) -> T { node._read(run) }
    }

    /// An input's value in a run; see ``InputNode/given(_:)``.
    public struct Given: Sendable {
        let graph: Int
        let number: Int
        let write: GraphInput.Write
    }

    /// Adds an input: a node whose value each run receives.
    ///
    ///     let path = graph.input("path", of: String.self)
    ///     let size = graph.node("size", after: path) { path in try fileSize(path) }
    ///     let build = try graph.freeze()
    ///
    ///     print(try build.run(with: [path.given("main.swift")])[size])    // 1204
    ///
    /// A run without a value for the input traps.
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - type: The type of the value.
    /// - Returns: The input, for dependents and for runs.
    /// - Ordering: Dependents see what the caller of `run` wrote.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations.
    public func input<T: Sendable>(_ name: String = "", of type: T.Type) -> InputNode<T> {
        input(name, byDefault: nil)
    }

    /// Adds an input that has a value in runs that give it none.
    ///
    ///     let level = graph.input("level", default: 2)
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - value: The value in runs that give none.
    /// - Returns: The input, for dependents and for runs.
    /// - Ordering: Dependents see what the caller of `run` wrote.
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
