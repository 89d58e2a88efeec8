// Owns the assignment of loop parts to NUMA nodes. Loops with `Placement.firstTouch` call it. It never binds threads
// to CPUs and never moves memory.

internal import CScheduler
internal import Synchronization

extension Parallel {
    /// The assignment of the parts of a range to NUMA nodes.
    public enum Placement: Sendable {
        /// Any free thread takes the next part.
        case anywhere
        /// Each node gets a contiguous part, the same part in every loop over the same range. So a loop reads memory
        /// that an earlier loop first wrote on the same node. A thread that has finished the part of its node helps
        /// other nodes. On a machine with one node, this case has no effect.
        case firstTouch
    }
}

/// A range divided among NUMA nodes in proportion to their numbers of CPUs.
package struct NodeParts: Sendable {
    /// One part per node, in node order. Together the parts cover the range.
    package let parts: [Range<Int>]
    /// The node of each CPU, indexed by the kernel's CPU number; nil for CPUs that this process may not use.
    let nodeOfCPU: [Int?]

    package init(_ range: Range<Int>, _ machine: Machine) {
        let length = range.upperBound - range.lowerBound
        let all = machine.cpus.count
        var (before, start) = (0, range.lowerBound)
        parts = machine.nodes.map { node in
            before += node.cpuCount
            // (length × before) / all without overflow
            let end = range.lowerBound + length / all * before + length % all * before / all
            defer { start = end }
            return start..<end
        }
        var nodes = [Int?](repeating: nil, count: 1 + (machine.cpus.map(\.id).max() ?? 0))
        for cpu in machine.cpus { nodes[cpu.id] = cpu.node }
        nodeOfCPU = nodes
    }

    /// The node of the calling thread's CPU, or 0 if unknown.
    var here: Int {
        let cpu = Int(od_thread_cpu())
        return nodeOfCPU.indices.contains(cpu) ? nodeOfCPU[cpu] ?? 0 : 0
    }

    /// The machine as it was at the first loop with placement.
    static let machine = Machine.current
}

/// The untaken rest of one node's part.
private final class Remainder: Sendable {
    private let range: Range<Int>
    private let size: Int
    /// The number of taken elements. Each worker may add one more piece beyond the end, which cannot overflow; see
    /// ``Share``.
    private let taken = Atomic<UInt>(0)

    init(_ range: Range<Int>, size: Int) {
        self.range = range
        self.size = Swift.min(size, Share.greatestPart)
    }

    /// Returns the next piece, or nil if all pieces are taken.
    func take() -> Range<Int>? {
        // Relaxed: the counter only distributes pieces; the fork of the loop orders all data that it reads.
        if taken.load(ordering: .relaxed) >= UInt(range.count) { return nil }
        let before = taken.add(UInt(size), ordering: .relaxed).oldValue // Relaxed: the counter only distributes pieces.
        guard before < UInt(range.count) else { return nil }
        let start = range.lowerBound + Int(before)
        return start..<start + Swift.min(size, range.upperBound - start)
    }
}

extension Loop {
    /// Runs `body` on parts of `range`. With `firstTouch`, a thread takes the pieces of its own node first.
    @inlinable
    func run(_ range: Range<Int>, _ placement: Parallel.Placement, _ body: (Range<Int>) -> Void) {
        switch placement {
        case .anywhere: run(range, body)
        case .firstTouch: runPlaced(range, body)
        }
    }

    @usableFromInline
    func runPlaced(_ range: Range<Int>, _ body: (Range<Int>) -> Void) {
        let machine = NodeParts.machine
        if machine.nodes.count == 1 { return run(range, body) }
        runPlaced(NodeParts(range, machine), workers: machine.cpus.count, body)
    }

    /// Runs one iteration per worker. Each iteration takes all pieces of its own node, and then those of the other
    /// nodes.
    func runPlaced(_ placed: NodeParts, workers: Int, _ body: (Range<Int>) -> Void) {
        let remainders = placed.parts.map { part in
            // 8 pieces per worker: short enough for helpers to balance the load, long enough to share few pages.
            Remainder(part, size: Swift.max(grain, part.count / (8 * workers), 1))
        }
        Loop(grain: 1).run(0..<workers) { seats in
            for _ in seats {
                let local = placed.here
                for distance in 0..<remainders.count {
                    let remainder = remainders[(local + distance) % remainders.count]
                    while let piece = remainder.take() { body(piece) }
                }
            }
        }
    }
}

extension Parallel {
    /// Runs ``forEachChunk(_:_:)`` as if on `machine`. Only tests call it.
    package static func forEachChunk(
        _ range: Range<Int>, grain: Int? = nil, asOn machine: Machine, _ body: @Sendable (Range<Int>) -> Void
    ) {
        Loop(grain: grain).runPlaced(NodeParts(range, machine), workers: machine.cpus.count, body)
    }
}
