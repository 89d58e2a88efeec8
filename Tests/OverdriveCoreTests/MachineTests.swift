import OverdriveCore
import TestSupport
import Testing

@Suite("A machine")
struct MachineTests {
    private static func machine(_ name: String) throws -> Machine {
        try RecordedMachine.unpacked(name) { try Machine(root: $0) }
    }

    @Test("CPUs and nodes are those of the files, with what is known of them")
    func shape() throws {
        let machine = try Self.machine("memory-only-node")
        #expect(!machine.isLive)
        #expect(machine.maySpin)
        #expect(machine.coreCount == 8)
        #expect(machine.cpus.count == 8)
        #expect(machine.cpus.map(\.id) == Array(0..<8) && machine.cpus.map(\.core) == Array(0..<8))
        for told in [machine.cpus.map(\.node), machine.cpus.map(\.package), machine.cpus.map(\.cacheGroup)] as [[Int?]] {
            #expect(told == [0, 0, 0, 0, 1, 1, 1, 1])
        }
        #expect(machine.cpus.allSatisfy { $0.thread == 0 })
        let node = try #require(machine.nodes.dropFirst(2).first)
        #expect(node.id == 4)
        #expect(node.cpuCount == 0 && node.coreCount == 0 && node.isWhole)
        #expect(node.memoryBytes == 16 << 30)
        #expect(machine.nodes.map(\.cpuCount) == [4, 4, 0, 0])
        #expect(machine.nodes.first?.distances.last == 80)
        #expect(machine.nodes.last?.distances.last == 10)
        #expect(machine.workerCount == 8)
        #expect(machine.explanation == "affinity 8 -> 8 workers")
        #expect(machine.explanation(forRequested: 0) == machine.explanation(forRequested: 1))
    }

    @Test("what the files do not say is nil")
    func unknown() throws {
        let machine = try Self.machine("missing-sysfs")
        #expect(!machine.cpus.isEmpty)
        #expect(machine.cpus.allSatisfy { $0.package == nil && $0.cacheGroup == nil })
        #expect(machine.nodes.map(\.memoryBytes) == [nil])
    }

    @Test("limits come with the groups that set them")
    func limits() throws {
        let both = try Self.machine("hybrid-both-limit").limits
        #expect([both.onlineCount, both.affinityCount, both.cpusetCount, both.cpuCount] == [8, 8, 7, 6])
        #expect(both.quota == 2)
        #expect([both.quotaGroup, both.cpusetGroup] == ["/b", "/a"])
        let none = try Self.machine("memory-only-node").limits
        #expect(none.quota == nil && none.quotaGroup == nil && none.cpusetCount == nil && none.note == nil)
        let half = try Self.machine("quota-half")
        #expect(!half.maySpin)
        #expect(half.workerCountRoundedDown == 1)
    }

    @Test("a plan has a seat for each worker, with a CPU where it is to have one")
    func plans() throws {
        let machine = try Self.machine("two-nodes-smt")
        let cores = try machine.plan(policy: "core", workers: 16)
        #expect(cores.reason == "core: placement was requested")
        #expect(cores.seats.map(\.node) == Array(repeating: 0, count: 8) + Array(repeating: 1, count: 8))
        #expect(cores.seats.first?.cpu == 0)
        #expect(cores.seats.dropFirst(4).first?.cpu == 8)
        #expect(try machine.plan(policy: "node", workers: 3).seats.map(\.cpu) == [nil, nil, nil])
        #expect(try machine.plan(policy: "core", workers: 1).seats.count == 1)
        for (policy, workers) in [("corn", 16), ("core", 0), ("core", 65537)] {
            #expect(throws: Machine.Failure.self) { try machine.plan(policy: policy, workers: workers) }
        }
    }
}
