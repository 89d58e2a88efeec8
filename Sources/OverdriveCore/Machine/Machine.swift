internal import CScheduler

/// The machine as Overdrive sees it: the CPUs this process may use, what limits it, and how many
/// workers follow from that.
///
///     let machine = Machine.current
///     print(machine.workerCount, "workers:", machine.explanation)
///     // 3 workers: affinity 8, quota 2.5 of /system.slice/batch.service -> 3 workers
///
/// A machine is a snapshot. Take a new one to see what changed; schedulers follow their limits by
/// themselves.
///
/// - Threading: An immutable value; any number of threads may read it.
/// - Cost: Taking a snapshot reads some files per CPU, about 50 µs each. Reading one costs nothing.
public struct Machine: Sendable {
    /// The CPUs that this process may use, at least one, ordered by node, cache, core and thread.
    public let cpus: [CPU]

    /// The NUMA nodes, at least one, ordered by their number; those without a usable CPU too.
    public let nodes: [Node]

    /// The limits of this process.
    public let limits: Limits

    /// Physical cores that have a usable CPU, at least 1.
    public let coreCount: Int

    /// Whether idle workers may spin for a moment: not with less than two CPUs.
    public let maySpin: Bool

    /// How many workers suit the limits, at least 1: the usable CPUs, or the quota rounded up where that
    /// is less.
    public let workerCount: Int

    /// Why it is ``workerCount`` workers, in one line without a full stop.
    public let explanation: String

    private let snapshot: MachineSnapshot

    /// The machine that this process runs on, as it is now.
    ///
    /// - Threading: Safe from any thread.
    /// - Cost: Takes a new snapshot each time.
    public static var current: Machine {
        // A live machine always has a snapshot, unless memory is short.
        (try? Machine(root: nil)) ?? Machine(MachineSnapshot.smallest)
    }

    /// Takes a snapshot of the machine whose `/proc` and `/sys` are copied to `root`.
    ///
    ///     let other = try Machine(root: "machines/two-nodes")
    ///
    /// - Parameter root: A directory that holds a `proc` and a `sys`; nil for the machine that this
    ///   process runs on.
    /// - Throws: ``Failure`` if nothing is readable at `root`. Missing or malformed facts of a readable root get
    ///   plain defaults.
    /// - Ordering: A snapshot: what changes later is not in it.
    /// - Threading: Any thread, which reads files.
    /// - Cost: About a millisecond on a small machine, and memory for each CPU.
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

    /// Whether this is a snapshot of the machine that this process runs on, not of a copied one.
    public var isLive: Bool { snapshot.isLive }

    /// How many workers suit the limits when a quota of 2.5 CPUs is to give 2 workers, not 3; at least 1.
    public var workerCountRoundedDown: Int { snapshot.workerCount(roundingDown: true) }

    /// Why it would be `workers` workers, where the user named that number.
    ///
    /// - Ordering: None; it tells of the snapshot.
    /// - Threading: Any thread.
    /// - Cost: A string; no file is read.
    public func explanation(forRequested workers: Int) -> String {
        snapshot.explanation(requested: Int32(clamping: max(1, workers)), roundingDown: false)
    }

    /// The places of `workers` workers.
    ///
    /// - Parameters:
    ///   - policy: `none`, `node`, `core` or `automatic`.
    ///   - workers: How many, 1 to 65536.
    /// - Throws: ``Failure`` for another policy or number.
    /// - Ordering: None; it is made of the snapshot.
    /// - Threading: Any thread.
    /// - Cost: An entry for each worker; no file is read.
    public func plan(policy: String, workers: Int) throws(Failure) -> Plan {
        try snapshot.plan(policy: policy, workers: Int32(clamping: workers))
    }
}

extension Machine {
    /// One CPU that this process may use.
    public struct CPU: Sendable, Hashable {
        /// The kernel's number.
        public let id: Int
        /// Index of its node in ``Machine/nodes``.
        public let node: Int
        /// Its physical core, counted from 0 without gaps.
        public let core: Int
        /// 0 for the first usable hardware thread of its core.
        public let thread: Int
        /// The socket as the kernel numbers it; nil when unknown.
        public let package: Int?
        /// Its level-3 cache group, counted from 0 without gaps; nil when unknown.
        public let cacheGroup: Int?
    }

    /// One NUMA node.
    public struct Node: Sendable, Hashable {
        /// The kernel's number.
        public let id: Int
        /// Usable CPUs; 0 for a node that has only memory, or none for us.
        public let cpuCount: Int
        /// Physical cores among them.
        public let coreCount: Int
        /// Whether every online CPU of the node is usable.
        public let isWhole: Bool
        /// Its memory in bytes; nil when unknown.
        public let memoryBytes: UInt64?
        /// The distance to each node of ``Machine/nodes``: 10 is local, larger is farther.
        public let distances: [Int]
    }

    /// The limits of this process.
    public struct Limits: Sendable, Hashable {
        /// CPUs of the whole machine; nil when unknown.
        public let onlineCount: Int?
        /// CPUs in the affinity mask; nil when unknown.
        public let affinityCount: Int?
        /// CPUs in the cpuset; nil when there is none.
        public let cpusetCount: Int?
        /// CPUs usable after both, at least 1.
        public let cpuCount: Int
        /// The tightest cgroup quota over every ancestor, in CPUs; nil when there is none.
        public let quota: Double?
        /// The group with that quota.
        public let quotaGroup: String?
        /// The group with that cpuset.
        public let cpusetGroup: String?
        /// The first thing that was odd about the machine's files.
        public let note: String?
    }

    /// The places of workers.
    public struct Plan: Sendable, Hashable {
        /// One worker's place.
        public struct Seat: Sendable, Hashable {
            /// Index of its node in ``Machine/nodes``.
            public let node: Int
            /// The kernel's number of the CPU it stays on; nil for any CPU of the node or the machine.
            public let cpu: Int?
        }

        /// One for each worker.
        public let seats: [Seat]
        /// Why they live there, in one sentence.
        public let reason: String
    }

    /// Why there is no machine, or no plan.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// One sentence.
        public let description: String
    }
}
