internal import FoundationEssentials
internal import OverdriveCore

/// The output of `overdrive machine`.
struct MachineReport {
    private let machine: Machine
    private let workers: Int
    private let explanation: String
    private let policy: String
    private let plan: Machine.Plan

    /// - Parameters:
    ///   - requested: The number of workers that the user set; nil for none.
    ///   - placement: The policy that the user set; nil for automatic.
    init(_ machine: Machine, requested: Int?, placement: String?) throws(Machine.Failure) {
        self.machine = machine
        workers = requested ?? machine.workerCount
        explanation = requested.map { machine.explanation(forRequested: $0) } ?? machine.explanation
        policy = placement ?? "automatic"
        plan = try machine.plan(policy: policy, workers: workers)
    }

    // MARK: For people

    /// The facts in lines, then the nodes and their distances in a table.
    var table: String {
        let limits = machine.limits
        var facts: [(name: String, value: String)] = [
            ("workers", "\(workers)"),
            ("why", explanation),
            ("CPUs", "\(limits.cpuCount) usable" + (limits.onlineCount.map { " of \($0) online" } ?? "")),
            ("cores", "\(machine.coreCount)"),
            ("affinity", limits.affinityCount.map { "\($0) CPUs" } ?? "unknown"),
            ("cpuset", limits.cpusetCount.map { "\($0) CPUs" + Self.of(limits.cpusetGroup) } ?? "none"),
            ("quota", limits.quota.map { "\(Self.short($0)) CPUs" + Self.of(limits.quotaGroup) } ?? "none"),
            ("idle workers", machine.maySpin ? "spin for a moment, then sleep" : "sleep at once"),
            ("placement", plan.reason.hasPrefix(policy) ? plan.reason : "\(policy) -> \(plan.reason)"),
        ]
        if let note = limits.note { facts.append(("odd", note)) }
        let lines = facts.map { $0.name.padded(to: 14) + $0.value }
        return (lines + [""] + nodeLines + pinLines).map { $0 + "\n" }.joined()
    }

    private var nodeLines: [String] {
        let rows = machine.nodes.enumerated().map { index, node in
            [
                "\(node.id)",
                NumberRanges.text(machine.cpus.filter { $0.node == index }.map(\.id)),
                "\(node.coreCount)",
                node.memoryBytes.map { Quantity.bytes(Double($0)) } ?? "unknown",
                node.distances.map(String.init).joined(separator: " "),
                "\(plan.seats.count { $0.node == index })",
            ]
        }
        return TextTable(titles: ["node", "CPUs", "cores", "memory", "distances", "workers"], rows: rows)
            .lines
    }

    private var pinLines: [String] {
        let pinned = plan.seats.enumerated().compactMap { worker, seat in
            seat.cpu.map { "worker \(worker) on CPU \($0)" }
        }
        return pinned.isEmpty ? [] : [""] + pinned
    }

    private static func of(_ group: String?) -> String {
        group.map { " of \($0)" } ?? ""
    }

    /// Returns a short number: `2.5`, but `2` for 2.0.
    private static func short(_ number: Double) -> String {
        let hundredths = number < 0.01 ? "\(number)" : "\((number * 100).rounded() / 100)"
        return hundredths.hasSuffix(".0") ? String(hundredths.dropLast(2)) : hundredths
    }

    // MARK: For programs

    /// Returns the facts as a JSON object, with a line feed at its end.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self) + "\n"
    }

    private struct Document: Encodable {
        struct CPU: Encodable { var id, node, core, thread: Int, package, cacheGroup: Int? }
        struct Node: Encodable {
            var id, cpuCount, coreCount: Int
            var isWhole: Bool
            var memoryBytes: UInt64?
            var distances: [Int]
        }
        struct Limits: Encodable {
            var onlineCount, affinityCount, cpusetCount: Int?
            var cpuCount: Int
            var quota: Double?
            var quotaGroup, cpusetGroup, note: String?
        }
        struct Placement: Encodable {
            struct Seat: Encodable { var node: Int, cpu: Int? }
            var policy, reason: String
            var seats: [Seat]
        }

        var workers: Int
        var explanation: String
        var coreCount: Int
        var maySpin: Bool
        var limits: Limits
        var cpus: [CPU]
        var nodes: [Node]
        var placement: Placement

        init(_ report: MachineReport) {
            let machine = report.machine
            workers = report.workers
            explanation = report.explanation
            coreCount = machine.coreCount
            maySpin = machine.maySpin
            limits = Limits(
                onlineCount: machine.limits.onlineCount, affinityCount: machine.limits.affinityCount,
                cpusetCount: machine.limits.cpusetCount, cpuCount: machine.limits.cpuCount,
                quota: machine.limits.quota, quotaGroup: machine.limits.quotaGroup,
                cpusetGroup: machine.limits.cpusetGroup, note: machine.limits.note
            )
            cpus = machine.cpus.map {
                CPU(
                    id: $0.id, node: $0.node, core: $0.core, thread: $0.thread,
                    package: $0.package, cacheGroup: $0.cacheGroup
                )
            }
            nodes = machine.nodes.map {
                Node(
                    id: $0.id, cpuCount: $0.cpuCount, coreCount: $0.coreCount, isWhole: $0.isWhole,
                    memoryBytes: $0.memoryBytes, distances: $0.distances
                )
            }
            placement = Placement(
                policy: report.policy, reason: report.plan.reason,
                seats: report.plan.seats.map { Placement.Seat(node: $0.node, cpu: $0.cpu) }
            )
        }
    }
}
