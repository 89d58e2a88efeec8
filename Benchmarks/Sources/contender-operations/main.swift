internal import BenchmarkKit
internal import CWorkloads
internal import Foundation

// OperationQueue: operations in blocks. It has no fork and join: nothing of it waits without blocking.
Harness.limitToCPUs(Harness.workers)

func makeQueue(width: Int? = nil) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width ?? Harness.workers
    return queue
}

func spawnOutside() {
    let queue = makeQueue()
    let (n, submitters) = (Harness.value("n", 10_000), Harness.value("submitters", 1))
    Harness.measure {
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters { queue.addOperation {} }
        }
        queue.waitUntilAllOperationsAreFinished()
        return 0
    }
    let ran = AtomicCount()
    JoinableThread.each(of: submitters) {
        for _ in 0..<n / submitters { queue.addOperation { ran.add() } }
    }
    queue.waitUntilAllOperationsAreFinished()
    Harness.check(UInt64(ran.value))
}

func spawnCaptures() {
    let (queue, ballast, n) = (makeQueue(), Ballast(), Harness.value("n", 10_000))
    func submit(stride: Int) {
        for number in 0..<n {
            queue.addOperation {
                if number % stride == 0 { ballast.add() }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
    }
    Harness.measure {
        submit(stride: n)
        return 0
    }
    let before = ballast.count
    submit(stride: 1)
    Harness.check(UInt64(ballast.count - before))
}

func spawnInside() {
    let (queue, n) = (makeQueue(), Harness.value("n", 10_000))
    Harness.measure {
        queue.addOperation {
            for _ in 0..<n { queue.addOperation {} }
        }
        queue.waitUntilAllOperationsAreFinished()
        return 0
    }
    let ran = AtomicCount()
    queue.addOperation {
        for _ in 0..<n { queue.addOperation { ran.add() } }
    }
    queue.waitUntilAllOperationsAreFinished()
    Harness.check(UInt64(ran.value))
}

func wake() {
    let queue = makeQueue()
    Harness.measureTrips {
        queue.addOperation {}
        queue.waitUntilAllOperationsAreFinished()
    }
}

func chain() {
    let (queue, n, gate, ran) = (makeQueue(), Harness.value("n", 1000), Gate(), AtomicCount())
    @Sendable func link(_ left: Int) {
        ran.add()
        if left == 1 { return gate.open() }
        queue.addOperation { link(left - 1) }
    }
    Harness.measure {
        ran.set(0)
        queue.addOperation { link(n) }
        gate.pass()
        return UInt64(ran.value)
    }
}

func serialQueue() {
    let (queue, n, count) = (makeQueue(width: 1), Harness.value("n", 10_000), SharedBuffer(1, 0))
    Harness.measure {
        count[0] = 0
        for _ in 0..<n { queue.addOperation { count[0] += 1 } }
        queue.waitUntilAllOperationsAreFinished()
        return UInt64(count[0])
    }
}

func barrier() {
    let (queue, n) = (makeQueue(), Harness.value("n", 2000))
    let (count, readers, broken) = (SharedBuffer(1, 0), AtomicCount(), AtomicCount())
    Harness.measure {
        count[0] = 0
        for i in 0..<n {
            if i % 10 == 9 {
                queue.addBarrierBlock {
                    if readers.value != 0 { broken.add() }
                    count[0] += 1
                }
            } else {
                queue.addOperation {
                    readers.add()
                    wl_nothing(UInt64(count[0]))
                    _ = readers.takeOne()
                }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        return broken.value == 0 ? UInt64(count[0]) : 0
    }
}

/// Operations in a row, each depending on the one before.
func dependencyChain() {
    let (queue, n, ran) = (makeQueue(), Harness.value("n", 1000), AtomicCount())
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
    let (queue, n, ran) = (makeQueue(), Harness.value("n", 1023), AtomicCount())
    Harness.measure {
        ran.set(0)
        let operations = (0..<n).map { _ in BlockOperation { ran.add() } }
        for i in 1..<n { operations[(i - 1) / 2].addDependency(operations[i]) }
        queue.addOperations(operations, waitUntilFinished: true)
        return UInt64(ran.value)
    }
}

/// A square of operations, each after its upper and left neighbours.
func wavefront() {
    let (queue, side, steps) = (makeQueue(), Harness.value("side", 32), UInt64(Harness.value("steps", 100)))
    let cells = SharedBuffer<UInt64>(side * side, 0)
    Harness.measure {
        let operations = (0..<side * side).map { at in
            BlockOperation {
                let up = at >= side ? cells[at - side] : 1
                let left = at % side > 0 ? cells[at - 1] : 1
                cells[at] = wl_spin(up &+ left, steps)
            }
        }
        for at in operations.indices {
            if at % side > 0 { operations[at].addDependency(operations[at - 1]) }
            if at >= side { operations[at].addDependency(operations[at - side]) }
        }
        queue.addOperations(operations, waitUntilFinished: true)
        return cells[side * side - 1]
    }
}

/// Each piece of work fails twice and succeeds then; an operation runs once, so each attempt is a new one.
func retry() {
    let (queue, n, done) = (makeQueue(), Harness.value("n", 1000), AtomicCount())
    @Sendable func attempt(_ failuresLeft: Int) {
        if failuresLeft == 0 { return done.add() }
        queue.addOperation { attempt(failuresLeft - 1) }
    }
    Harness.measure {
        done.set(0)
        for _ in 0..<n { queue.addOperation { attempt(2) } }
        queue.waitUntilAllOperationsAreFinished()
        return UInt64(done.value)
    }
}

func blocked() {
    // As many at a time as its own default allows, because operations that block hold their place.
    let (queue, ran) = (makeQueue(width: OperationQueue.defaultMaxConcurrentOperationCount), AtomicCount())
    let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
    Harness.measure {
        ran.set(0)
        for _ in 0..<n {
            queue.addOperation {
                Harness.sleep(microseconds: pause)
                ran.add()
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        return UInt64(ran.value)
    }
}

func memory() {
    let (queue, n, ran) = (makeQueue(), Harness.value("n", 100_000), AtomicCount())
    queue.addOperation { ran.add() }
    queue.waitUntilAllOperationsAreFinished()
    queue.isSuspended = true
    let before = Harness.residentBytes
    for _ in 0..<n { queue.addOperation { ran.add() } }
    let bytes = Harness.residentBytes - before
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    Harness.sample(bytes, UInt64(ran.value - 1))
}

Harness.main([
    ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
    ("wake", wake), ("chain", chain), ("serial-queue", serialQueue), ("barrier", barrier),
    ("dag-chain", dependencyChain), ("dag-tree", dependencyTree), ("wavefront", wavefront),
    ("retry", retry), ("blocked", blocked), ("memory", memory),
])
