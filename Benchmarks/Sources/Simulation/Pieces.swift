/// A part of a job that may be divided: a subtree of fib, or a range of a loop's leaves.
struct Piece {
    var first = 0
    var size = 0
}

extension Job {
    /// The whole.
    var root: Piece {
        switch self {
        case .fib(let n, _): Piece(first: 0, size: n)
        case .loop(let leaves, _, _): Piece(first: 0, size: leaves)
        case .flood: Piece()
        }
    }

    /// The two children of a piece, or nil when it is not divided.
    func children(of piece: Piece) -> (here: Piece, forked: Piece)? {
        switch self {
        case .fib(_, let block):
            if piece.size < block { return nil }
            return (Piece(first: 0, size: piece.size - 1), Piece(first: 0, size: piece.size - 2))
        case .loop:
            if piece.size < 2 { return nil }
            let half = piece.size / 2
            return (Piece(first: piece.first, size: half), Piece(first: piece.first + half, size: piece.size - half))
        case .flood:
            return nil
        }
    }

    /// What a piece that is not divided takes.
    func cost(of piece: Piece, _ costs: Costs) -> Double {
        switch self {
        case .fib: costs.fork * Job.forks(piece.size)
        case .loop(let leaves, let nanoseconds, let imbalanced):
            nanoseconds * (imbalanced && piece.first >= leaves - leaves / 100 ? 50 : 1)
        case .flood(_, let nanoseconds): nanoseconds
        }
    }

    /// What one worker takes for everything.
    func work(_ costs: Costs) -> Double {
        switch self {
        case .fib(let n, _): costs.fork * Job.forks(n)
        case .loop(let leaves, let nanoseconds, let imbalanced):
            nanoseconds * Double(leaves + (imbalanced ? 49 * (leaves / 100) : 0)) + costs.fork * Double(leaves - 1)
        case .flood(let closures, let nanoseconds):
            (nanoseconds + costs.run + costs.claim / 32) * Double(closures)
        }
    }

    /// The n of the fib that has so many forks.
    static func fib(ofForks count: Double) -> Int {
        var n = 0
        while forks(n) < count { n += 1 }
        return n
    }

    /// fib(n + 1) - 1.
    private static func forks(_ n: Int) -> Double {
        var (a, b) = (1.0, 1.0)
        for _ in 0..<max(n, 0) { (a, b) = (b, a + b) }
        return a - 1
    }
}

/// A repeatable source of random numbers (splitmix64).
struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// Events in the order of their time; ones of the same time in the order they were planned.
struct EventQueue {
    private struct Event {
        let time: Double
        let number, worker: Int

        func isBefore(_ other: Event) -> Bool { time < other.time || (time == other.time && number < other.number) }
    }

    private var heap: [Event] = []
    private var planned = 0

    mutating func plan(_ worker: Int, at time: Double) {
        heap.append(Event(time: time, number: planned, worker: worker))
        planned += 1
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (time: Double, worker: Int)? {
        guard let top = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least]) { least = child }
            if least == parent { return (top.time, top.worker) }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
