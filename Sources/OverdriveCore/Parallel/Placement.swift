internal import CScheduler
internal import Synchronization

extension Parallel {
    /// Whether parts of a range belong to NUMA nodes.
    public enum Placement: Sendable {
        /// A free thread takes the next part.
        case anywhere
        /// Each node gets a contiguous part, the same one in every loop over the same range. So memory that one loop
        /// wrote first is near its readers in the next loop. A thread that has finished its node's part helps with
        /// others. On a machine with one node this changes nothing.
        case firstTouch
    }
}

/// A range cut among NUMA nodes, in proportion to their CPUs.
package struct NodeParts: Sendable {
    /// The nodes' parts, in their order; together they are the range.
    package let parts: [Range<Int>]
    /// The node of each CPU, by the kernel's number; nil for those that are not ours.
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

    /// The node that the calling thread is on; the first where that is not known.
    var here: Int {
        let cpu = Int(od_thread_cpu())
        return nodeOfCPU.indices.contains(cpu) ? nodeOfCPU[cpu] ?? 0 : 0
    }

    /// As it was at the first loop that asked.
    static let machine = Machine.current
}

/// What is left of one node's part.
private final class Remainder: Sendable {
    private let range: Range<Int>
    private let size: Int
    /// How much of it is taken. Each worker may take once more than there is: that is no overflow, as in ``Share``.
    private let taken = Atomic<UInt>(0)

    init(_ range: Range<Int>, size: Int) {
        self.range = range
        self.size = Swift.min(size, Share.greatestPart)
    }

    /// The next piece, or nil when all are taken.
    func take() -> Range<Int>? {
        // Relaxed: it hands out numbers; what the loop reads was written before it was forked.
        if taken.load(ordering: .relaxed) >= UInt(range.count) { return nil }
        let before = taken.add(UInt(size), ordering: .relaxed).oldValue // Relaxed: as above.
        guard before < UInt(range.count) else { return nil }
        let start = range.lowerBound + Int(before)
        return start..<start + Swift.min(size, range.upperBound - start)
    }
}

extension Loop {
    /// As ``run(_:chunk:_:)``, and each node's part is first of all for those who are there.
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

    /// One seat for each worker: whoever takes one goes through its own node's part, then through the others'.
    func runPlaced(_ placed: NodeParts, workers: Int, _ body: (Range<Int>) -> Void) {
        let remainders = placed.parts.map { part in
            // Pieces short enough for helpers to even things out, and long enough to share no page in vain.
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
    /// ``forEachChunk(_:_:)`` as it would run on `machine`, for tests.
    package static func forEachChunk(
        _ range: Range<Int>, grain: Int? = nil, asOn machine: Machine, _ body: @Sendable (Range<Int>) -> Void
    ) {
        Loop(grain: grain).runPlaced(NodeParts(range, machine), workers: machine.cpus.count, body)
    }
}
