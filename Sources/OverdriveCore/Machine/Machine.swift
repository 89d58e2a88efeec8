// Owns the public description of the machine: CPUs, nodes, limits, and the placement of workers. Programs and loops
// call it. It never changes the machine.

internal import CScheduler

/// Describes the machine: the CPUs and limits of this process, and the suitable number of workers.
///
///     let machine = Machine.current
///     print(machine.workerCount, "workers:", machine.explanation)
///     // 3 workers: affinity 8, quota 2.5 of /system.slice/batch.service -> 3 workers
///
/// A machine is a snapshot. Take a new one to see changes; schedulers follow the limits automatically.
///
/// - Threading: Any thread; the value is immutable.
/// - Cost: A snapshot reads some files per CPU, about 50 µs each. Reading the value costs nothing.
public struct Machine: Sendable {
    /// The CPUs that this process may use, at least one, ordered by node, cache, core and thread.
    public let cpus: [CPU]

    /// The NUMA nodes, at least one, ordered by number, including nodes without usable CPUs.
    public let nodes: [Node]

    /// The limits of this process.
    public let limits: Limits

    /// The number of physical cores with a usable CPU, at least 1.
    public let coreCount: Int

    /// Whether idle workers may spin briefly; false with fewer than two CPUs.
    public let maySpin: Bool

    /// The suitable number of workers, at least 1: the number of usable CPUs, or the quota rounded up if that is
    /// lower.
    public let workerCount: Int

    /// The reason for ``workerCount``, in one line without a full stop.
    public let explanation: String

    private let snapshot: MachineSnapshot

    /// The current state of the machine that this process runs on.
    ///
    /// - Threading: Any thread.
    /// - Cost: Takes a new snapshot each time.
    public static var current: Machine {
        // A live machine always has a snapshot, unless memory allocation fails.
        (try? Machine(root: nil)) ?? Machine(MachineSnapshot.smallest)
    }

    /// Takes a snapshot of the machine whose `/proc` and `/sys` are copied to `root`.
    ///
    ///     let other = try Machine(root: "machines/two-nodes")
    ///
    /// - Parameter root: A directory with a `proc` and a `sys`; nil for the machine that this process runs on.
    /// - Throws: ``Failure`` if no file is readable at `root`. Missing or malformed files of a readable root are
    ///   replaced by plain defaults.
    /// - Ordering: A snapshot; later changes are not included.
    /// - Threading: Any thread; the call reads files.
    /// - Cost: About 1 ms on a small machine, and memory for each CPU.
    public init(root: String?) throws(Failure) {
        self.init(try MachineSnapshot(root: root))
    }

    private init(_ snapshot: MachineSnapshot) {
        self.snapshot = snapshot
        cpus = snapshot.cpus
        nodes = snapshot.nodes
        limits = snapshot.limits
        coreCount = snapshot.coreCount
        maySpin = snapshot.maySpin
        workerCount = snapshot.workerCount(roundingDown: false)
        explanation = snapshot.explanation(requested: 0, roundingDown: false)
    }

    /// Whether this is a snapshot of the machine that this process runs on.
    public var isLive: Bool { snapshot.isLive }

    /// The suitable number of workers if a quota of 2.5 CPUs gives 2 workers instead of 3; at least 1.
    public var workerCountRoundedDown: Int { snapshot.workerCount(roundingDown: true) }

    /// Returns the explanation for a number of workers that the user has requested.
    ///
    /// - Ordering: None; it describes the snapshot.
    /// - Threading: Any thread.
    /// - Cost: One string; no file is read.
    public func explanation(forRequested workers: Int) -> String {
        snapshot.explanation(requested: Int32(clamping: max(1, workers)), roundingDown: false)
    }

    /// Computes the placement of `workers` workers.
    ///
    /// - Parameters:
    ///   - policy: `none`, `node`, `core` or `automatic`.
    ///   - workers: The number of workers, 1 to 65,536.
    /// - Throws: ``Failure`` for another policy or number.
    /// - Ordering: None; it uses the snapshot.
    /// - Threading: Any thread.
    /// - Cost: One entry for each worker; no file is read.
    public func plan(policy: String, workers: Int) throws(Failure) -> Plan {
        try snapshot.plan(policy: policy, workers: Int32(clamping: workers))
    }
}

extension Machine {
    /// A CPU that this process may use.
    public struct CPU: Sendable, Hashable {
        /// The kernel's CPU number.
        public let id: Int
        /// The index of its node in ``Machine/nodes``.
        public let node: Int
        /// Its physical core, counted from 0 without gaps.
        public let core: Int
        /// 0 for the first usable hardware thread of its core.
        public let thread: Int
        /// The socket number of the kernel; nil if unknown.
        public let package: Int?
        /// Its level-3 cache group, counted from 0 without gaps; nil if unknown.
        public let cacheGroup: Int?
    }

    /// A NUMA node.
    public struct Node: Sendable, Hashable {
        /// The kernel's node number.
        public let id: Int
        /// The number of usable CPUs; 0 for a node with memory only, or without CPUs of this process.
        public let cpuCount: Int
        /// The number of physical cores among them.
        public let coreCount: Int
        /// Whether every online CPU of the node is usable.
        public let isWhole: Bool
        /// Its memory in bytes; nil if unknown.
        public let memoryBytes: UInt64?
        /// The distance to each node of ``Machine/nodes``: 10 is local, larger is farther.
        public let distances: [Int]
    }

    /// The limits of this process.
    public struct Limits: Sendable, Hashable {
        /// The number of online CPUs of the machine; nil if unknown.
        public let onlineCount: Int?
        /// The number of CPUs in the affinity mask; nil if unknown.
        public let affinityCount: Int?
        /// The number of CPUs in the cpuset; nil without a cpuset.
        public let cpusetCount: Int?
        /// The number of CPUs usable under both, at least 1.
        public let cpuCount: Int
        /// The lowest cgroup quota of the process's group and its ancestors, in CPUs; nil without a quota.
        public let quota: Double?
        /// The cgroup with that quota.
        public let quotaGroup: String?
        /// The cgroup with that cpuset.
        public let cpusetGroup: String?
        /// The first anomaly in the machine's files, or nil.
        public let note: String?
    }

    /// The placement of workers.
    public struct Plan: Sendable, Hashable {
        /// The placement of one worker.
        public struct Seat: Sendable, Hashable {
            /// The index of its node in ``Machine/nodes``.
            public let node: Int
            /// The kernel's number of its CPU; nil for any CPU of the node or the machine.
            public let cpu: Int?
        }

        /// One entry per worker.
        public let seats: [Seat]
        /// The reason for the placement, in one sentence.
        public let reason: String
    }

    /// The error of a missing snapshot or placement.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The problem in one sentence.
        public let description: String
    }
}
