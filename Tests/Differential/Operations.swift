import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Operations with priorities, early and late dependencies, cancels, progress, completion blocks, barriers and Swift tasks.
///
/// Left out, because docs/differences.md lists it: removed dependencies, rings, barriers on empty or suspended queues,
/// operations with a quality of service, waiting for the own queue.
func operations(_ dice: inout Dice) -> [String] {
    let trace = Trace()
    let queues = (0..<(1 + dice.below(2))).map { _ in OperationQueue() }
    let isSerial = dice.chance(60)
    let gate = DispatchSemaphore(value: 0)
    let isHeldByGate = isSerial && dice.chance(50)
    for queue in queues {
        if isSerial { queue.maxConcurrentOperationCount = 1 } else if dice.chance(50) { queue.maxConcurrentOperationCount = 1 + dice.below(4) }
        queue.progress.totalUnitCount = 100
        if isHeldByGate {
            let began = DispatchSemaphore(value: 0)
            queue.addOperation {
                began.signal()
                gate.wait()
            }
            began.wait()
        } else {
            queue.isSuspended = true
        }
    }
    let count = 2 + dice.below(9)
    let (completions, asides) = (Count(), DispatchGroup())
    var all: [Operation] = []
    var mains: [Bool] = []
    for number in 0..<count {
        let (rest, leaves) = (pause(&dice), dice.chance(15))
        let op: Operation
        if dice.chance(20) {
            op = LateOperation { end in
                trace.run("o\(number)", rest)
                DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(200), execute: end)
            }
        } else {
            op = BlockOperation {
                trace.run("o\(number)", rest)
                guard leaves else { return }
                asides.enter()
                Task {
                    await Task.yield()
                    trace.run("t\(number)\(isInOperation() ? "-inside" : "")")
                    asides.leave()
                }
            }
            if leaves { trace.mustFollow("o\(number)", "t\(number)-never") }
        }
        op.queuePriority = dice.pick([.normal, .normal, .veryLow, .low, .high, .veryHigh])
        op.completionBlock = { completions.add() }
        mains.append(op is BlockOperation)
        all.append(op)
    }
    // A dependency has a lower place in a random permutation: there are no rings.
    var places = Array(0..<count)
    for place in places.indices.reversed() { places.swapAt(place, dice.below(place + 1)) }
    var dependencies: [(Int, Int)] = []
    for _ in 0..<dice.below(count * 2) {
        let (one, other) = (dice.below(count), dice.below(count))
        if places[one] > places[other] { dependencies.append((one, other)) }
    }
    let late = dice.below(dependencies.count + 1)
    for (one, other) in dependencies.dropLast(late) { all[one].addDependency(all[other]) }
    for (number, op) in all.enumerated() { queues[number % queues.count].addOperation(op) }
    for (one, other) in dependencies.suffix(late) { all[one].addDependency(all[other]) }
    var cancelled: Set<Int> = []
    for number in 0..<count where dice.chance(12) {
        all[number].cancel()
        cancelled.insert(number)
    }
    for number in 0..<count where dice.chance(15) { all[number].queuePriority = dice.pick([.veryLow, .normal, .veryHigh]) }
    for (one, other) in dependencies where !cancelled.contains(one) && !cancelled.contains(other) {
        trace.mustFollow("o\(other)", "o\(one)")
    }
    let ready = all.map { $0.isReady ? "r" : "-" }.joined()
    if isHeldByGate, dice.chance(30) {
        for (number, queue) in queues.enumerated() {
            for (place, _) in all.enumerated() where place % queues.count == number { trace.mustFollow("o\(place)", "barrier\(number)") }
            queue.addBarrierBlock { trace.run("barrier\(number)") }
        }
    }
    let counts = queues.map { $0.operations.count }
    for queue in queues { if isHeldByGate { gate.signal() } else { queue.isSuspended = false } }
    for queue in queues { queue.waitUntilAllOperationsAreFinished() }
    for op in all { op.waitUntilFinished() }
    asides.wait()
    var lines = trace.lines
    lines.append("ready \(ready) counts \(counts) then \(queues.map { _ in 0 })")
    lines.append("completions \(until { completions.value == count } ? count : completions.value)")
    lines.append("finished \(all.allSatisfy(\.isFinished)) cancelled \(all.map { $0.isCancelled ? "c" : "-" }.joined())")
    lines.append("dependencies \(all.map { $0.dependencies.count })")
    let hadBarrier = trace.order.contains { $0.hasPrefix("barrier") }
    if !hadBarrier {
        let expected = queues.indices.map { queue in
            all.indices.filter { $0 % queues.count == queue && mains[$0] && !cancelled.contains($0) }.count + (isHeldByGate ? 1 : 0)
        }
        _ = until { queues.map { Int($0.progress.completedUnitCount) } == expected }
        lines.append("progress \(queues.map(\.progress.completedUnitCount))")
    }
    // One queue that runs one at a time has one order.
    if isSerial, queues.count == 1 { lines.append("order \(trace.order.filter { !$0.hasPrefix("t") })") }
    return lines
}

/// Not in a closure that an asynchronous context could be told of.
private func isInOperation() -> Bool { OperationQueue.current != nil && OperationQueue.current !== OperationQueue.main }

/// Finishes later, by announcements.
final class LateOperation: Operation, @unchecked Sendable {
    private let lock = NSLock()
    private var state = 0
    private let work: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(_ work: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.work = work }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { lock.withLock { state == 1 } }
    override var isFinished: Bool { lock.withLock { state == 2 } }

    private func become(_ new: Int) {
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lock.withLock { state = new }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }

    override func start() {
        if isCancelled { return become(2) }
        become(1)
        work { self.become(2) }
    }
}
