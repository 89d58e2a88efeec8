internal import Synchronization

/// Nodes of one run that are ready and that no thread has taken, newest first.
///
/// Any thread adds and takes nodes. The list allocates nothing: each node's state has room for the number of the next node.
@safe struct GraphReadyList: ~Copyable {
    /// The low half is the first node's number plus 1, or 0. The high half counts the changes, so that a thread whose first
    /// node was taken and added again sees that the list has changed.
    private let word = Atomic<UInt64>(0)

    private static func first(_ word: UInt64) -> Int { Int(word & 0xffff_ffff) - 1 }

    private static func word(after word: UInt64, first: Int) -> UInt64 { (word >> 32 &+ 1) << 32 | UInt64(first + 1) }

    /// Whether the list is empty. This load and ``add(first:last:in:)`` are in one order with the flag of the run's waiting job.
    var isEmpty: Bool { GraphReadyList.first(word.load(ordering: .sequentiallyConsistent)) < 0 }

    /// Adds nodes of a ``GraphReadyChain``.
    func add(first: Int, last: Int, in states: UnsafeMutablePointer<GraphNodeState>) {
        var found = word.load(ordering: .relaxed)
        while true {
            // Relaxed: the exchange releases it.
            unsafe states[last].nextReady.store(Int32(GraphReadyList.first(found)), ordering: .relaxed)
            // Edge: hands over what the nodes' dependencies have written, which this thread has acquired.
            let (isDone, other) = word.weakCompareExchange(
                expected: found, desired: GraphReadyList.word(after: found, first: first),
                successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
            if isDone { return }
            found = other
        }
    }

    /// Takes the newest node, if there is one.
    func take(in states: UnsafeMutablePointer<GraphNodeState>) -> Int? {
        // In the order of `isEmpty`, too.
        var found = word.load(ordering: .sequentiallyConsistent)
        while true {
            let first = GraphReadyList.first(found)
            guard first >= 0 else { return nil }
            // Another thread may take the node meanwhile: then the exchange fails.
            let next = unsafe Int(states[first].nextReady.load(ordering: .relaxed))
            // Edge: acquires what the node's dependencies have written.
            let (isDone, other) = word.weakCompareExchange(
                expected: found, desired: GraphReadyList.word(after: found, first: next),
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if isDone { return first }
            found = other
        }
    }

    /// Empties the list. No other thread is in the run.
    func clear() { word.store(0, ordering: .relaxed) }  // Relaxed: the pool's lock orders this before the next run.
}

/// Ready nodes that one thread collects before it adds them to a run's list at once.
struct GraphReadyChain {
    private(set) var first: Int?
    private(set) var last = -1

    mutating func append(_ node: Int, in states: UnsafeMutablePointer<GraphNodeState>) {
        // Relaxed: `GraphReadyList.add` releases it.
        if first == nil { first = node } else { unsafe states[last].nextReady.store(Int32(node), ordering: .relaxed) }
        last = node
    }
}
