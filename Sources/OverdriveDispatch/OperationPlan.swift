internal import Foundation

/// Which operations a queue has, and in what order they may start: the bookkeeping, without a lock.
///
/// Barriers part the operations into stretches. Only what is in the first stretch may start; when that is empty its
/// barrier runs, and the next stretch is the first.
struct OperationPlan {
    private struct Entry {
        let operation: Operation
        let number: Int
        let stretch: Int
        var priority: Operation.QueuePriority
        /// Where it stands among those of its priority: its number, or a later one if its priority has changed.
        var position: Int
        /// In the stretch's ready operations; nil: not ready.
        var stamp: Int?
        var hasStarted = false
    }

    private struct Stretch {
        var unfinished = 0
        var ready = ReadyOperations()
        var barrier: (@Sendable () -> Void)?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    /// By their numbers, from the first to the last.
    private var stretches = [0: Stretch()]
    private var firstStretch = 0
    private var lastStretch = 0
    private var nextNumber = 0
    private var running = 0
    /// Starts that are submitted and have not looked for their operation yet.
    private var starts = 0
    private var barrierRuns = false

    var count: Int { entries.count }

    var isEmpty: Bool { entries.isEmpty && firstStretch == lastStretch }

    var operations: [Operation] {
        entries.values.sorted { $0.number < $1.number }.map(\.operation)
    }

    mutating func add(_ op: Operation, priority: Operation.QueuePriority) {
        entries[ObjectIdentifier(op)] = Entry(
            operation: op, number: nextNumber, stretch: lastStretch, priority: priority, position: nextNumber)
        nextNumber += 1
        stretches[lastStretch]?.unfinished += 1
    }

    mutating func add(barrier: @escaping @Sendable () -> Void) {
        stretches[lastStretch]?.barrier = barrier
        lastStretch += 1
        stretches[lastStretch] = Stretch()
    }

    /// Barriers that have not begun run nothing any more.
    mutating func dropBarriers() {
        for number in firstStretch..<lastStretch { stretches[number]?.barrier = {} }
    }

    mutating func isReady(_ op: Operation, priority: Operation.QueuePriority) {
        guard var entry = entries[ObjectIdentifier(op)], entry.stamp == nil, !entry.hasStarted else { return }
        entry.priority = priority
        entry.stamp = stretches[entry.stretch]?.ready.insert(op, entry.position, priority)
        entries[ObjectIdentifier(op)] = entry
    }

    /// An operation that ``takeBest(limit:)`` gave out cannot start yet.
    mutating func isNotReady(_ op: Operation) {
        guard entries[ObjectIdentifier(op)]?.hasStarted == true else { return }
        running -= 1
        entries[ObjectIdentifier(op)]?.hasStarted = false
        entries[ObjectIdentifier(op)]?.stamp = nil
    }

    /// The operation goes behind the others of its new priority, ready or not.
    mutating func setPriority(of op: Operation, _ priority: Operation.QueuePriority) {
        guard var entry = entries[ObjectIdentifier(op)], !entry.hasStarted, entry.priority != priority else { return }
        entry.priority = priority
        entry.position = nextNumber
        nextNumber += 1
        if let stamp = entry.stamp {
            stretches[entry.stretch]?.ready.remove(stamp)
            entry.stamp = stretches[entry.stretch]?.ready.insert(op, entry.position, priority)
        }
        entries[ObjectIdentifier(op)] = entry
    }

    /// The operation has finished, perhaps without having been started.
    mutating func remove(_ op: Operation) {
        guard let entry = entries.removeValue(forKey: ObjectIdentifier(op)) else { return }
        stretches[entry.stretch]?.unfinished -= 1
        if entry.hasStarted {
            running -= 1
        } else if let stamp = entry.stamp {
            stretches[entry.stretch]?.ready.remove(stamp)
        }
    }

    // MARK: - Starting

    /// How many more starts are to be submitted.
    mutating func takeStarts(limit: Int) -> Int {
        let new = max(0, min(stretches[firstStretch]?.ready.count ?? 0, limit - running) - starts)
        starts += new
        return new
    }

    mutating func startIsThere() {
        starts -= 1
    }

    /// The operation that is to run now.
    mutating func takeBest(limit: Int) -> Operation? {
        guard running < limit, let op = stretches[firstStretch]?.ready.takeFirst() else { return nil }
        running += 1
        entries[ObjectIdentifier(op)]?.hasStarted = true
        return op
    }

    /// What the next start should be submitted as.
    var bestQuality: QualityOfService? { stretches[firstStretch]?.ready.first?.givenQuality }

    /// The barrier whose time has come.
    mutating func takeBarrier() -> (@Sendable () -> Void)? {
        guard !barrierRuns, let first = stretches[firstStretch], first.unfinished == 0, let barrier = first.barrier
        else { return nil }
        barrierRuns = true
        return barrier
    }

    mutating func barrierIsOver() {
        barrierRuns = false
        stretches[firstStretch] = nil
        firstStretch += 1
    }
}

/// Operations that may start, by priority and then by position: a binary heap.
///
/// A removed operation stays in the heap, without its stamp among the live ones, until it comes to the top. The top is
/// always live.
struct ReadyOperations {
    private struct Entry {
        let operation: Operation
        let position: Int
        let priority: Operation.QueuePriority
        let stamp: Int

        func isBefore(_ other: Entry) -> Bool {
            priority == other.priority ? position < other.position : priority.rawValue > other.priority.rawValue
        }
    }

    private var heap: [Entry] = []
    private var live: Set<Int> = []
    private var nextStamp = 0

    var count: Int { live.count }

    var first: Operation? { heap.first?.operation }

    /// Returns the stamp by which ``remove(_:)`` knows the operation.
    mutating func insert(_ op: Operation, _ position: Int, _ priority: Operation.QueuePriority) -> Int {
        nextStamp += 1
        live.insert(nextStamp)
        heap.append(Entry(operation: op, position: position, priority: priority, stamp: nextStamp))
        rise(from: heap.count - 1)
        return nextStamp
    }

    mutating func remove(_ stamp: Int) {
        guard live.remove(stamp) != nil else { return }
        dropDead()
        // Removed operations are at most as many as live ones, and 32.
        guard heap.count > 2 * live.count + 32 else { return }
        heap.removeAll { !live.contains($0.stamp) }
        for place in heap.indices.reversed() { sink(from: place) }
    }

    mutating func takeFirst() -> Operation? {
        guard let first = heap.first else { return nil }
        live.remove(first.stamp)
        dropDead()
        return first.operation
    }

    private mutating func dropDead() {
        while let first = heap.first, !live.contains(first.stamp) {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            if !heap.isEmpty { sink(from: 0) }
        }
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            var best = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].isBefore(heap[best]) {
                best = child
            }
            guard best != place else { return }
            heap.swapAt(place, best)
            place = best
        }
    }
}
