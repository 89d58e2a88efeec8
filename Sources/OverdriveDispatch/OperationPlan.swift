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
        var isReady = false
        var hasStarted = false
    }

    private struct Stretch {
        var unfinished = 0
        var ready = ReadyOperations()
        var barrier: (@Sendable () -> Void)?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var stretches = [Stretch()]
    private var firstStretch = 0
    private var nextNumber = 0
    private var running = 0
    /// Starts that are submitted and have not looked for their operation yet.
    private var starts = 0
    private var barrierRuns = false

    var count: Int { entries.count }

    var isEmpty: Bool { entries.isEmpty && stretches.count == 1 }

    var operations: [Operation] {
        entries.values.sorted { $0.number < $1.number }.map(\.operation)
    }

    mutating func add(_ op: Operation) {
        let stretch = firstStretch + stretches.count - 1
        entries[ObjectIdentifier(op)] = Entry(
            operation: op, number: nextNumber, stretch: stretch, priority: .normal)
        nextNumber += 1
        stretches[stretches.count - 1].unfinished += 1
    }

    mutating func add(barrier: @escaping @Sendable () -> Void) {
        stretches[stretches.count - 1].barrier = barrier
        stretches.append(Stretch())
    }

    /// Barriers that have not begun run nothing any more.
    mutating func dropBarriers() {
        for index in stretches.indices where stretches[index].barrier != nil { stretches[index].barrier = {} }
    }

    mutating func isReady(_ op: Operation, priority: Operation.QueuePriority) {
        guard var entry = entries[ObjectIdentifier(op)], !entry.isReady, !entry.hasStarted else { return }
        entry.isReady = true
        entry.priority = priority
        entries[ObjectIdentifier(op)] = entry
        stretches[entry.stretch - firstStretch].ready.insert(op, entry.number, priority)
    }

    mutating func setPriority(of op: Operation, _ priority: Operation.QueuePriority) {
        guard var entry = entries[ObjectIdentifier(op)], entry.isReady, !entry.hasStarted, entry.priority != priority
        else { return }
        let index = entry.stretch - firstStretch
        stretches[index].ready.remove(entry.number, entry.priority)
        stretches[index].ready.insert(op, entry.number, priority)
        entry.priority = priority
        entries[ObjectIdentifier(op)] = entry
    }

    /// The operation has finished, perhaps without having been started.
    mutating func remove(_ op: Operation) {
        guard let entry = entries.removeValue(forKey: ObjectIdentifier(op)) else { return }
        let index = entry.stretch - firstStretch
        stretches[index].unfinished -= 1
        if entry.hasStarted {
            running -= 1
        } else if entry.isReady {
            stretches[index].ready.remove(entry.number, entry.priority)
        }
    }

    // MARK: - Starting

    /// How many more starts are to be submitted.
    mutating func takeStarts(limit: Int) -> Int {
        let new = max(0, min(stretches[0].ready.count, limit - running) - starts)
        starts += new
        return new
    }

    mutating func startIsThere() {
        starts -= 1
    }

    /// The operation that is to run now.
    mutating func takeBest(limit: Int) -> Operation? {
        guard running < limit, let op = stretches[0].ready.takeFirst() else { return nil }
        running += 1
        entries[ObjectIdentifier(op)]?.hasStarted = true
        return op
    }

    /// What the next start should be submitted as.
    var bestQuality: QualityOfService? { stretches[0].ready.first?.givenQuality }

    /// The barrier whose time has come.
    mutating func takeBarrier() -> (@Sendable () -> Void)? {
        guard !barrierRuns, stretches[0].unfinished == 0, let barrier = stretches[0].barrier else { return nil }
        barrierRuns = true
        return barrier
    }

    mutating func barrierIsOver() {
        barrierRuns = false
        stretches.removeFirst()
        firstStretch += 1
    }
}

/// Operations that may start, by priority and then in the order of adding.
struct ReadyOperations {
    private struct Line {
        var entries: [(number: Int, operation: Operation?)] = []
        var front = 0
    }

    private var lines = Array(repeating: Line(), count: 5)
    private(set) var count = 0

    private static func line(_ priority: Operation.QueuePriority) -> Int { 2 - priority.rawValue / 4 }

    mutating func insert(_ op: Operation, _ number: Int, _ priority: Operation.QueuePriority) {
        let line = ReadyOperations.line(priority)
        var place = lines[line].entries.count
        while place > lines[line].front, lines[line].entries[place - 1].number > number { place -= 1 }
        lines[line].entries.insert((number, op), at: place)
        count += 1
    }

    mutating func remove(_ number: Int, _ priority: Operation.QueuePriority) {
        let line = ReadyOperations.line(priority)
        guard
            let place = lines[line].entries[lines[line].front...].firstIndex(where: {
                $0.number == number && $0.operation != nil
            })
        else { return }
        lines[line].entries.remove(at: place)
        count -= 1
    }

    var first: Operation? {
        for line in lines where line.front < line.entries.count { return line.entries[line.front].operation }
        return nil
    }

    mutating func takeFirst() -> Operation? {
        for line in lines.indices where lines[line].front < lines[line].entries.count {
            let front = lines[line].front
            let op = lines[line].entries[front].operation
            lines[line].entries[front].operation = nil
            lines[line].front += 1
            // What was taken is cut off when it is the greater part.
            if lines[line].front > 32, lines[line].front * 2 > lines[line].entries.count {
                lines[line].entries.removeFirst(lines[line].front)
                lines[line].front = 0
            }
            count -= 1
            return op
        }
        return nil
    }
}
