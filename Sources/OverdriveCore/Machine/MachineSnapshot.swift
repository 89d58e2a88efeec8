// Owns the engine's snapshot of a machine, and converts it to Swift values. `Machine` calls it. It never changes a
// snapshot.

internal import CScheduler

/// A snapshot of the engine, with its conversion to Swift values.
///
/// The class is `Sendable` because the engine allows any number of threads to read a snapshot at once. The snapshot
/// is freed with the last machine that retains it.
@safe final class MachineSnapshot: @unchecked Sendable {
    /// Nil if the engine had no memory for a snapshot.
    private let machine: UnsafePointer<od_machine>?

    private static let sentenceCapacity = 512

    /// A machine with one CPU, used if there is no memory for a real snapshot.
    static let smallest = MachineSnapshot()

    private init() {
        unsafe machine = nil
    }

    init(root: String?) throws(Machine.Failure) {
        var problem = [CChar](repeating: 0, count: Self.sentenceCapacity)
        guard let machine = unsafe od_machine_discover(root, &problem, problem.count) else {
            throw Machine.Failure(description: Self.string(problem))
        }
        unsafe self.machine = machine
    }

    deinit {
        unsafe od_machine_free(machine)
    }

    var isLive: Bool { unsafe machine?.pointee.live ?? true }

    var coreCount: Int { unsafe machine.map { unsafe Int($0.pointee.core_count) } ?? 1 }

    var maySpin: Bool { unsafe machine?.pointee.may_spin ?? false }

    var cpus: [Machine.CPU] {
        guard let machine = unsafe machine?.pointee else {
            return [Machine.CPU(id: 0, node: 0, core: 0, thread: 0, package: nil, cacheGroup: nil)]
        }
        return unsafe UnsafeBufferPointer(start: machine.cpus, count: Int(machine.cpu_count)).map { cpu in
            Machine.CPU(
                id: Int(cpu.id), node: Int(cpu.node), core: Int(cpu.core), thread: Int(cpu.thread),
                package: cpu.package < 0 ? nil : Int(cpu.package),
                cacheGroup: cpu.l3 < 0 ? nil : Int(cpu.l3)
            )
        }
    }

    var nodes: [Machine.Node] {
        guard let machine = unsafe machine?.pointee else {
            return [
                Machine.Node(
                    id: 0, cpuCount: 1, coreCount: 1, isWhole: false, memoryBytes: nil, distances: [10]
                )
            ]
        }
        let count = unsafe Int(machine.node_count)
        return (0..<count).map { index in
            let node = unsafe machine.nodes[index]
            return Machine.Node(
                id: Int(node.id), cpuCount: Int(node.cpu_count), coreCount: Int(node.core_count),
                isWhole: node.whole, memoryBytes: node.memory_bytes == 0 ? nil : node.memory_bytes,
                distances: (0..<count).map { unsafe Int(machine.distances[index * count + $0]) }
            )
        }
    }

    var limits: Machine.Limits {
        guard let limits = unsafe machine?.pointee.limits else {
            return Machine.Limits(
                onlineCount: nil, affinityCount: nil, cpusetCount: nil, cpuCount: 1, quota: nil,
                quotaGroup: nil, cpusetGroup: nil, note: "out of memory while reading the machine's limits"
            )
        }
        return unsafe Machine.Limits(
            onlineCount: Self.known(limits.online_count),
            affinityCount: Self.known(limits.affinity_count),
            cpusetCount: Self.known(limits.cpuset_count),
            cpuCount: Int(limits.cpu_count),
            quota: limits.period_us > 0 ? Double(limits.quota_us) / Double(limits.period_us) : nil,
            quotaGroup: Self.text(limits.quota_group),
            cpusetGroup: Self.text(limits.cpuset_group),
            note: Self.text(limits.note)
        )
    }

    func workerCount(roundingDown: Bool) -> Int {
        unsafe machine.map { unsafe Int(od_machine_worker_count($0, roundingDown)) } ?? 1
    }

    func explanation(requested: Int32, roundingDown: Bool) -> String {
        guard let machine = unsafe machine else { return "out of memory while reading the machine's limits -> 1 worker" }
        var text = [CChar](repeating: 0, count: 4 * Self.sentenceCapacity)
        _ = unsafe od_machine_describe(machine, roundingDown, requested, &text, text.count)
        return Self.string(text)
    }

    func plan(policy: String, workers: Int32) throws(Machine.Failure) -> Machine.Plan {
        guard let machine = unsafe machine else { throw Machine.Failure(description: "out of memory for a plan of the workers") }
        var reason = [CChar](repeating: 0, count: Self.sentenceCapacity)
        // Allocate nothing for an invalid number: the engine rejects it before it writes to the arrays.
        let room = (1...65536).contains(workers) ? Int(workers) : 0
        var nodes = [Int32](repeating: 0, count: room)
        var cpus = [Int32](repeating: -1, count: room)
        guard unsafe od_machine_plan(machine, policy, workers, &nodes, &cpus, &reason, reason.count) else {
            throw Machine.Failure(description: Self.string(reason))
        }
        let seats = zip(nodes, cpus).map { node, cpu in
            Machine.Plan.Seat(node: Int(node), cpu: cpu < 0 ? nil : Int(cpu))
        }
        return Machine.Plan(seats: seats, reason: Self.string(reason))
    }

    private static func known(_ count: Int32) -> Int? {
        count > 0 ? Int(count) : nil
    }

    private static func text(_ string: UnsafePointer<CChar>?) -> String? {
        guard let string = unsafe string, unsafe string.pointee != 0 else { return nil }
        return unsafe String(cString: string)
    }

    private static func string(_ bytes: [CChar]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
