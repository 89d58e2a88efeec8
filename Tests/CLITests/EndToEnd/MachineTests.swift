#if CLI
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import overdrive_cli

@Suite("overdrive machine")
struct MachineTests {
    private struct Document: Decodable {
        struct Node: Decodable { var id, cpuCount: Int, distances: [Int] }
        struct Limits: Decodable {
            var affinityCount: Int?, cpuCount: Int, quota: Double?, quotaGroup: String?
        }
        struct Placement: Decodable { var policy: String }
        var workers: Int
        var explanation: String
        var maySpin: Bool
        var limits: Limits
        var nodes: [Node]
        var placement: Placement
    }

    private func json(_ arguments: [String], environment: [String] = []) throws -> Document {
        var command = Command.overdrive(["machine", "--json"] + arguments)
        command.environment = environment
        let outcome = try command.run()
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        return try JSONDecoder().decode(Document.self, from: Data(outcome.output))
    }

    @Test("gives as many workers as there are CPUs for this process")
    func live() throws {
        let document = try json([])
        let count = try #require(Int(try Command("nproc").run().lines.first ?? ""))
        #expect(document.limits.affinityCount == count)
        #expect((1...count).contains(document.workers))
        #expect(
            document.explanation.hasSuffix(
                document.workers == 1 ? "-> 1 worker" : "-> \(document.workers) workers"))
    }

    @Test("follows an affinity mask")
    func affinity() throws {
        let program = Command.overdrivePath
        let outcome = try Command("taskset", ["-c", "0", program, "machine"]).run()
        #expect(outcome.lines.first == "workers       1")
    }

    @Test("takes the number that the environment names")
    func requested() throws {
        let document = try json([], environment: ["OVERDRIVE_WORKERS=7"])
        #expect(document.workers == 7)
        #expect(document.explanation.contains("requested 7"))
        #expect(document.placement.policy == "automatic")
        #expect(try json([], environment: ["OVERDRIVE_PLACEMENT=node"]).placement.policy == "node")
    }

    @Test("reads the copy of another machine, whatever the environment says")
    func copied() throws {
        let document = try RecordedMachine.unpacked("two-nodes-half") {
            try json(["--root", $0], environment: ["OVERDRIVE_WORKERS=7"])
        }
        #expect(document.workers == 12)
        #expect(document.nodes.map(\.cpuCount) == [4, 8])
        #expect(document.nodes.map(\.distances) == [[10, 21], [21, 10]])
        #expect(document.maySpin && document.limits.quota == nil && document.placement.policy == "automatic")
        let tables = [
            ("two-nodes-half", """
                workers       12
                why           affinity 12, cpuset 12 of /a -> 12 workers
                CPUs          12 usable of 16 online
                cores         6
                affinity      12 CPUs
                cpuset        12 CPUs of /a
                quota         none
                idle workers  spin for a moment, then sleep
                placement     automatic -> none: some node is only partly for this process, so the kernel decides

                node  CPUs       cores  memory   distances  workers
                0     2-3,10-11  2      17.2 GB  10 21      4
                1     4-7,12-15  4      17.2 GB  21 10      8

                """),
            ("quota-one-and-a-half", """
                workers       2
                why           affinity 4, quota 1.5 of /a -> 2 workers
                CPUs          4 usable of 4 online
                cores         4
                affinity      4 CPUs
                cpuset        none
                quota         1.5 CPUs of /a
                idle workers  sleep at once
                placement     automatic -> none: all usable CPUs are on one node, so pinning would gain nothing

                node  CPUs  cores  memory   distances  workers
                0     0-3   4      17.2 GB  10         2

                """),
        ]
        for (name, table) in tables {
            #expect(try RecordedMachine.unpacked(name) { try Command.overdrive(["machine", "--root", $0]).run() }.text == table)
        }
    }

    @Test("reads every recorded machine without a trap, and says why")
    func all() throws {
        let names = try Command("ls", [RecordedMachine.fixtures]).run().lines.filter { $0.hasSuffix(".machine") }
        #expect(names.count >= 30)
        for name in names.map({ String($0.dropLast(8)) }) {
            try RecordedMachine.unpacked(name) { root in
                let outcome = try Command.overdrive(["machine", "--root", root]).run()
                #expect(outcome.status == 0, "\(name): \(outcome.errors)")
                #expect(outcome.lines.contains { $0.hasPrefix("why ") && $0.contains("->") }, "\(name)")
                #expect(try json(["--root", root]).workers >= 1)
            }
        }
    }

    @Test("says that there is no such directory")
    func missing() throws {
        try Command.overdrive(["machine", "--root", "/nonexistent"]).run().expectRefusal(1, saying: "overdrive: /nonexistent")
    }
}
#endif
