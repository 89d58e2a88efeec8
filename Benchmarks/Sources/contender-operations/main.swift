internal import BenchmarkKit
internal import Foundation

// OperationQueue: operations in blocks. It has no fork and join: nothing of it waits without blocking.
Harness.limitToCPUs(Harness.workers)

enum Queues: SerialQueues, LimitedQueues, BarrierQueues, PausableQueues {
    static func makeQueue(limit: Int) -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = limit
        return queue
    }

    static func makeQueue() -> OperationQueue { makeQueue(limit: Harness.workers) }
    static func makeSerialQueue() -> OperationQueue { makeQueue(limit: 1) }

    /// As many at a time as its own default allows, because operations that block hold their place.
    static func makeQueueForBlocking() -> OperationQueue { makeQueue(limit: OperationQueue.defaultMaxConcurrentOperationCount) }

    /// A queue is waited for as a whole.
    static func makeGroup(for queue: OperationQueue) -> OperationQueue { queue }

    static func submit(to queue: OperationQueue, _ body: consuming @escaping @Sendable () -> Void) { queue.addOperation(body) }

    static func submit(to queue: OperationQueue, in group: OperationQueue, _ body: consuming @escaping @Sendable () -> Void) {
        queue.addOperation(body)
    }

    static func submitAlone(to queue: OperationQueue, in group: OperationQueue, _ body: consuming @escaping @Sendable () -> Void) {
        queue.addBarrierBlock(body)
    }

    static func wait(for group: OperationQueue) { group.waitUntilAllOperationsAreFinished() }
    static func suspend(_ queue: OperationQueue) { queue.isSuspended = true }
    static func resume(_ queue: OperationQueue) { queue.isSuspended = false }
}

/// Operations in a row, each depending on the one before.
func dependencyChain() {
    let (queue, n, ran) = (Queues.makeQueue(), Harness.value("n", 1000), AtomicCount())
    Harness.measure {
        ran.set(0)
        var operations: [Operation] = []
        for i in 0..<n {
            let operation = BlockOperation { if ran.value == i { ran.add() } }
            if let last = operations.last { operation.addDependency(last) }
            operations.append(operation)
        }
        queue.addOperations(operations, waitUntilFinished: true)
        return UInt64(ran.value)
    }
}

/// A binary tree of operations, each after both its children.
func dependencyTree() {
    let (queue, n) = (Queues.makeQueue(), Harness.value("n", 1023))
    let nodes = TreeNode.tree(of: n)
    Harness.measure(prepare: { TreeNode.clear(nodes) }) {
        let operations = nodes.map { node in BlockOperation { node.run() } }
        for i in 1..<n { operations[(i - 1) / 2].addDependency(operations[i]) }
        queue.addOperations(operations, waitUntilFinished: true)
        return nodes[0].count
    }
}

/// A square of operations, each after its upper and left neighbours.
func wavefront() {
    let (queue, side, steps) = (Queues.makeQueue(), Harness.value("side", 32), UInt64(Harness.value("steps", 100)))
    let cells = SharedBuffer<UInt64>(side * side, 0)
    Harness.measure(prepare: { cells.clear() }) {
        let operations = (0..<side * side).map { at in
            BlockOperation { cells.fillCell(at, side, steps) }
        }
        for at in operations.indices {
            if at % side > 0 { operations[at].addDependency(operations[at - 1]) }
            if at >= side { operations[at].addDependency(operations[at - side]) }
        }
        queue.addOperations(operations, waitUntilFinished: true)
        return cells[side * side - 1]
    }
}

/// One operation is added and waited for.
func handoff() {
    let (queue, ran) = (Queues.makeQueue(), AtomicCount())
    Harness.measureTrips { queue.addOperations([BlockOperation { ran.add() }], waitUntilFinished: true) }
    Harness.check(UInt64(ran.value - Harness.warmUpTrips))
}

/// Operations, each with a block that is told of its end.
func finishedTasks() {
    let (queue, n, ran, told) = (Queues.makeQueue(), Harness.value("n", 10_000), AtomicCount(), AtomicCount())
    Harness.measure {
        ran.set(0)
        told.set(0)
        for _ in 0..<n {
            let operation = BlockOperation { ran.add() }
            operation.completionBlock = { told.add() }
            queue.addOperation(operation)
        }
        queue.waitUntilAllOperationsAreFinished()
        // The blocks run after the wait's end, on threads of their own.
        while told.value < n { sched_yield() }
        return UInt64(ran.value)
    }
}

Harness.main(
    Closures<Queues>.entries + Closures<Queues>.serialEntries + Closures<Queues>.limitedEntries + Closures<Queues>.barrierEntries
        + Closures<Queues>.pausableEntries + Closures<Queues>.retryEntries
        + [("dag-chain", dependencyChain), ("dag-tree", dependencyTree), ("wavefront", wavefront), ("tasks", finishedTasks), ("handoff-operation", handoff)])
