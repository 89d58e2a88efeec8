// Owns the order in which an operation queue starts operations. OperationQueue calls it under its lock. It never
// starts an operation.

internal import Foundation

/// The operations of a queue and the order in which they may start. It has no lock.
///
/// Barriers divide the operations into stretches. Only operations of the first stretch may start. When the stretch is
/// empty, its barrier runs, and the next stretch becomes the first.
struct OperationPlan {
    private struct Entry {
        let operation: Operation
        let number: Int
        let stretch: Int
        var priority: Operation.QueuePriority
        /// The position among operations of equal priority: the number, or a later number if the priority has
        /// changed.
        var position: Int
        /// The stamp in the stretch's ready operations; nil if the operation is not ready.
        var stamp: Int?
        var hasStarted = false
    }

    private struct Stretch {
        var unfinished = 0
        var ready = ReadyOperations()
        var barrier: (@Sendable () -> Void)?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    /// The stretches by number, from `firstStretch` to `lastStretch`.
    private var stretches = [0: Stretch()]
    private var firstStretch = 0
    private var lastStretch = 0
    private var nextNumber = 0
    private var running = 0
    /// The number of submitted starts that have not yet taken an operation.
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

    /// Replaces the barriers that have not begun by empty ones.
    mutating func dropBarriers() {
        for number in firstStretch..<lastStretch { stretches[number]?.barrier = {} }
    }

    mutating func isReady(_ op: Operation, priority: Operation.QueuePriority) {
        guard var entry = entries[ObjectIdentifier(op)], entry.stamp == nil, !entry.hasStarted else { return }
        entry.priority = priority
        entry.stamp = stretches[entry.stretch]?.ready.insert(op, entry.position, priority)
        entries[ObjectIdentifier(op)] = entry
    }

    /// Returns an operation from ``takeBest(limit:)`` that cannot start yet.
    mutating func isNotReady(_ op: Operation) {
        guard entries[ObjectIdentifier(op)]?.hasStarted == true else { return }
        running -= 1
        entries[ObjectIdentifier(op)]?.hasStarted = false
        entries[ObjectIdentifier(op)]?.stamp = nil
    }

    /// Moves the operation behind the others of its new priority, ready or not.
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

    /// Removes a finished operation, which may not have been started.
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

    /// Returns the number of starts to submit, and counts them.
    mutating func takeStarts(limit: Int) -> Int {
        let new = max(0, min(stretches[firstStretch]?.ready.count ?? 0, limit - running) - starts)
        starts += new
        return new
    }

    mutating func startIsThere() {
        starts -= 1
    }

    /// Takes the operation to run now; nil if there is none.
    mutating func takeBest(limit: Int) -> Operation? {
        guard running < limit, let op = stretches[firstStretch]?.ready.takeFirst() else { return nil }
        running += 1
        entries[ObjectIdentifier(op)]?.hasStarted = true
        return op
    }

    /// The quality of service for the next start.
    var bestQuality: QualityOfService? { stretches[firstStretch]?.ready.first?.givenQuality }

    /// Takes the barrier that may run now; nil if there is none.
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

/// The ready operations by priority and then by position, in a binary heap.
///
/// A removed operation remains in the heap until it reaches the top, but its stamp leaves `live`. The top is always
/// live.
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

    /// Adds an operation. Returns its stamp, for ``remove(_:)``.
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
        // This bounds the number of removed operations in the heap by the number of live ones plus 32.
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
