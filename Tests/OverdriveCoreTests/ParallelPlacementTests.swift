import OverdriveCore
import TestSupport
import Testing

@Suite("Parallel loops on several nodes", .timeLimit(.minutes(10)))
struct ParallelPlacementTests {
    private static let names = ["two-nodes-half", "uneven-nodes", "four-nodes-ring", "memory-only-node"]
    private static let machines = names.map { name in
        try? RecordedMachine.unpacked(name) { try Machine(root: $0) }
    }

    private static func machine(_ name: String) throws -> Machine {
        try #require(zip(names, machines).first { $0.0 == name }?.1)
    }

    @Test("each node gets a part as long as its share of the CPUs", arguments: names, lengths)
    func parts(name: String, count: Int) throws {
        let machine = try Self.machine(name)
        let parts = NodeParts(10..<10 + count, machine).parts
        #expect(machine.nodes.count > 1)
        #expect(parts.count == machine.nodes.count)
        var next = 10
        for (part, node) in zip(parts, machine.nodes) {
            #expect(part.lowerBound == next)
            next = part.upperBound
            let share = Double(count) * Double(node.cpuCount) / Double(machine.cpus.count)
            #expect(abs(Double(part.count) - share) <= 1)
        }
        #expect(next == 10 + count)
    }

    @Test("all parts are done, once, whichever node the workers are on", arguments: names)
    func once(name: String) throws {
        let machine = try Self.machine(name)
        for count in [0, 1, 2, 1_000, 100_000] {
            let log = Log<Range<Int>>()
            Parallel.forEachChunk(0..<count, asOn: machine) { log.note($0) }
            var next = 0
            for part in log.all.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                #expect(part.lowerBound == next)
                next = part.upperBound
            }
            #expect(next == count)
        }
    }

    @Test("a grain beyond every part makes one piece of each", arguments: [1_000, Int.max / 2, .max])
    func largeGrain(grain: Int) throws {
        let machine = try Self.machine("two-nodes-half")
        let log = Log<Range<Int>>()
        Parallel.forEachChunk(10..<1_000, grain: grain, asOn: machine) { log.note($0) }
        #expect(log.all.sorted { $0.lowerBound < $1.lowerBound } == NodeParts(10..<1_000, machine).parts)
    }

    @Test("nobody's part is too large to count")
    func large() throws {
        let parts = NodeParts(0..<Int.max, try Self.machine("four-nodes-ring")).parts
        #expect(parts.last?.upperBound == .max)
    }
}
