// Owns the functions that add nodes to a graph, and the types through which nodes read each other's results. Programs
// call it while they build a graph. It never runs a node.

public import OverdriveCore

/// A dependency of a node: ``TaskGraph/Node``, ``TaskGraph/OptionalNode``, or an array of either.
public protocol TaskGraphInput: Sendable {
    /// The value that the dependent's closure receives.
    associatedtype Value: Sendable
    /// Records that the node `id` depends on this input.
    func _addEdges(to id: Int32, in graph: TaskGraph)
    /// Reads the value during a run.
    func _read(_ run: TaskGraph.Reader) -> Value
}

extension TaskGraph {
    /// The results of a run, as the bodies of dependents read them.
    @safe public struct Reader {
        @usableFromInline let slots: UnsafeMutableRawPointer
        @usableFromInline let states: UnsafeMutablePointer<GraphNodeState>
        /// The attempt that runs the node; nil for a plain node. It lives longer than the reader.
        @usableFromInline let attempt: Unmanaged<GraphAttempt>?

        @inlinable
        init(slots: UnsafeMutableRawPointer, states: UnsafeMutablePointer<GraphNodeState>, attempt: Unmanaged<GraphAttempt>?) {
            unsafe self.slots = slots
            unsafe self.states = states
            unsafe self.attempt = attempt
        }

        @inlinable
        func value<T>(of node: Node<T>) -> T {
            unsafe (slots + node.offset).assumingMemoryBound(to: T.self).pointee
        }

        @usableFromInline
        func hasValue<T>(_ node: Node<T>) -> Bool {
            unsafe states[Int(node.id)].outcome == .finished
        }
    }
}

/// The memory of one node's result in a run.
@safe @usableFromInline
struct GraphSlot: @unchecked Sendable {
    // Only the thread that runs the node writes through this pointer.
    @usableFromInline let pointer: UnsafeMutableRawPointer

    init(_ pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }

    @inlinable
    func initialize<R>(to value: R) {
        unsafe pointer.initializeMemory(as: R.self, to: value)
    }

    func deinitialize<R>(_ type: R.Type) {
        unsafe pointer.assumingMemoryBound(to: R.self).deinitialize(count: 1)
    }
}

extension TaskGraph.Node: TaskGraphInput {
    @inlinable
    public func _addEdges(to id: Int32, in graph: TaskGraph) { graph.addEdge(from: self, to: id, isNeeded: true) }
    @inlinable
    public func _read(_ run: TaskGraph.Reader) -> T { run.value(of: self) }
}

extension TaskGraph.OptionalNode: TaskGraphInput {
    @inlinable
    public func _addEdges(to id: Int32, in graph: TaskGraph) { graph.addEdge(from: node, to: id, isNeeded: false) }
    @inlinable
    public func _read(_ run: TaskGraph.Reader) -> T? { run.hasValue(node) ? run.value(of: node) : nil }
}

extension Array: TaskGraphInput where Element: TaskGraphInput {
    @inlinable
    public func _addEdges(to id: Int32, in graph: TaskGraph) { for input in self { input._addEdges(to: id, in: graph) } }
    @inlinable
    public func _read(_ run: TaskGraph.Reader) -> [Element.Value] { map { $0._read(run) } }
}

extension TaskGraph {
    /// Adds a node that depends on nothing.
    ///
    ///     let parsed = graph.node("parse") { try parse(source) }
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - condition: The branch on which the node runs, such as `changed.isTrue`.
    ///   - queue: The queue that runs the node; nil for the graph's queue. A queue with `maxConcurrentTaskCount: n`
    ///     runs at most n nodes at a time, and a serial queue runs 1.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - retry: The policy by which the node runs again when it throws.
    ///   - body: The closure. It runs once in each attempt of each run, possibly in several runs at a time.
    /// - Returns: The node, for dependents and for the results.
    /// - Ordering: The node runs at any time of a run.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations.
    @discardableResult
    @inlinable
    public func node<R: Sendable>(
        _ name: String = "", when condition: Condition? = nil, on queue: TaskQueue? = nil, qos: TaskQueue.QoS? = nil,
        retry: RetryPolicy? = nil, _ body: @escaping @Sendable () throws -> R
    ) -> Node<R> {
        add(name, returning: R.self, when: condition, on: queue, qos: qos, retry: retry, body: .direct { _, place in
            place.initialize(to: try body())
        })
    }

    /// Adds a node that receives the result of another one.
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - a: The dependency, or an array of dependencies whose results come as an array.
    ///   - condition: The branch on which the node runs, such as `changed.isTrue`.
    ///   - queue: The queue that runs the node; nil for the graph's queue.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - retry: The policy by which the node runs again when it throws.
    ///   - body: The closure, which receives the result.
    /// - Returns: The node, for dependents and for the results.
    /// - Ordering: The node runs after its dependencies, and sees their writes.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations, and 4 bytes a dependency.
    @discardableResult
    @inlinable
    public func node<A: TaskGraphInput, R: Sendable>(
        _ name: String = "", after a: A, when condition: Condition? = nil, on queue: TaskQueue? = nil,
        qos: TaskQueue.QoS? = nil, retry: RetryPolicy? = nil, _ body: @escaping @Sendable (A.Value) throws -> R
    ) -> Node<R> {
        let node = add(
            name, returning: R.self, when: condition, on: queue, qos: qos, retry: retry,
            body: .direct { run, place in place.initialize(to: try body(a._read(run))) })
        a._addEdges(to: node.id, in: self)
        return node
    }

    /// Adds a node that receives the results of two others.
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - a: The first dependency.
    ///   - b: The second dependency.
    ///   - condition: The branch on which the node runs, such as `changed.isTrue`.
    ///   - queue: The queue that runs the node; nil for the graph's queue.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - retry: The policy by which the node runs again when it throws.
    ///   - body: The closure, which receives both results.
    /// - Returns: The node, for dependents and for the results.
    /// - Ordering: The node runs after its dependencies, and sees their writes.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations, and 4 bytes a dependency.
    @discardableResult
    @inlinable
    public func node<A: TaskGraphInput, B: TaskGraphInput, R: Sendable>(
        _ name: String = "", after a: A, _ b: B, when condition: Condition? = nil, on queue: TaskQueue? = nil,
        qos: TaskQueue.QoS? = nil, retry: RetryPolicy? = nil, _ body: @escaping @Sendable (A.Value, B.Value) throws -> R
    ) -> Node<R> {
        let node = add(
            name, returning: R.self, when: condition, on: queue, qos: qos, retry: retry,
            body: .direct { run, place in
                place.initialize(to: try body(a._read(run), b._read(run)))
            })
        a._addEdges(to: node.id, in: self)
        b._addEdges(to: node.id, in: self)
        return node
    }

    /// Adds a node that receives the results of any number of others.
    ///
    ///     let app = graph.node("link", after: main, library, objects) { main, library, objects in … }
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - inputs: The dependencies, of any result types.
    ///   - condition: The branch on which the node runs, such as `changed.isTrue`.
    ///   - queue: The queue that runs the node; nil for the graph's queue.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - retry: The policy by which the node runs again when it throws.
    ///   - body: The closure, which receives the results in the order of `inputs`.
    /// - Returns: The node, for dependents and for the results.
    /// - Ordering: The node runs after its dependencies, and sees their writes.
    /// - Threading: The thread that builds the graph.
    /// - Cost: Two allocations, and 4 bytes a dependency.
    @discardableResult
    @inlinable
    public func node<each A: TaskGraphInput, R: Sendable>(
        _ name: String = "", after inputs: repeat each A, when condition: Condition? = nil, on queue: TaskQueue? = nil,
        qos: TaskQueue.QoS? = nil, retry: RetryPolicy? = nil,
        _ body: @escaping @Sendable (repeat (each A).Value) throws -> R
    ) -> Node<R> {
        let node = add(
            name, returning: R.self, when: condition, on: queue, qos: qos, retry: retry,
            body: .direct { run, place in
                place.initialize(to: try body(repeat (each inputs)._read(run)))
            })
        repeat (each inputs)._addEdges(to: node.id, in: self)
        return node
    }

    /// Adds a node with an asynchronous closure, which suspends instead of blocking a worker.
    ///
    ///     let page = graph.node("fetch", after: address) { try await fetch($0) }
    ///
    /// - Parameters:
    ///   - name: The node's name in errors and drawings.
    ///   - inputs: The dependencies, of any result types.
    ///   - condition: The branch on which the node runs, such as `changed.isTrue`.
    ///   - retry: The policy by which the node runs again when it throws.
    ///   - body: The closure, which receives the results in the order of `inputs`. It runs as a Swift task on the
    ///     graph's scheduler. A cancelled run cancels the task.
    /// - Returns: The node, for dependents and for the results.
    /// - Ordering: The node runs after its dependencies, and sees their writes.
    /// - Threading: The thread that builds the graph.
    /// - Cost: A Swift task for each run.
    @discardableResult
    public func node<each A: TaskGraphInput, R: Sendable>(
        _ name: String = "", after inputs: repeat each A, when condition: Condition? = nil, retry: RetryPolicy? = nil,
        _ body: @escaping @Sendable (repeat (each A).Value) async throws -> R
    ) -> Node<R> {
        let node = add(
            name, returning: R.self, when: condition, on: nil, qos: nil, retry: retry,
            body: .suspending { run, place in
                place.initialize(to: try await body(repeat (each inputs)._read(run)))
            })
        repeat (each inputs)._addEdges(to: node.id, in: self)
        return node
    }
}
