extension CountGate {
    /// What gates: a little above what is measured, so that one more instruction that locks, one more
    /// allocation or a tenth more instructions per unit fails.
    public static let all: [CountGate] = forking + spawning + allocating + graphs

    private static func perFork(_ program: String, _ count: Count, _ limit: Double) -> CountGate {
        CountGate(
            name: program == "overdrive-c" ? "fork and join in C" : "fork and join in Swift", program: program, word: "fib",
            count: count, small: ["n": 10], large: ["n": 18],
            units: { Oracle.fib($0["n", default: 0] + 1) - 1 }, limit: limit)
    }

    private static let forking = [
        perFork("contender-overdrive", .allocations, 0.001),
        perFork("contender-overdrive", .locked, 0.02),
        perFork("contender-overdrive", .instructions, 79),
        perFork("overdrive-c", .allocations, 0.001),
        perFork("overdrive-c", .locked, 0.02),
        perFork("overdrive-c", .instructions, 48),
        CountGate(
            name: "fork with a captured array", program: "contender-overdrive", word: "nqueens-array", count: .instructions,
            small: ["n": 6], large: ["n": 10], units: { Double(Oracle.queens($0["n", default: 0]).nodes) }, limit: 800),
    ]

    private static func perClosure(
        _ name: String, _ word: String, _ count: Count, _ limit: Double, of program: String = "contender-overdrive",
        from: Int = 2000, to: Int = 12_000
    ) -> CountGate {
        CountGate(
            name: name, program: program, word: word, count: count, small: ["n": from], large: ["n": to],
            units: { Double($0["n", default: 1]) }, limit: limit)
    }

    private static let spawning = [
        perClosure("spawn from outside", "spawn-outside", .allocations, 0.01),
        perClosure("spawn with captures", "spawn-captures", .allocations, 1.01),
        perClosure("spawn from inside", "spawn-inside", .allocations, 0.01),
        // Batches and wakes differ from run to run: these two have room for it.
        perClosure("spawn from outside", "spawn-outside", .locked, 3.5),
        perClosure("serial queue", "serial-queue", .locked, 6.2),
        perClosure("serial queue in C", "serial-queue", .locked, 2.2, of: "overdrive-c"),
        perClosure("spawn from inside", "spawn-inside", .locked, 1.5),
        perClosure("spawn from inside", "spawn-inside", .instructions, 485),
        perClosure("spawn from inside", "spawn-inside", .futexes, 0.01),
        perClosure("chain", "chain", .allocations, 1.01),
        perClosure("chain", "chain", .locked, 9.5),
        perClosure("chain", "chain", .futexes, 0.005),
        perClosure("serial queue", "serial-queue", .allocations, 1.06),
    ]

    /// One node of a random graph of 1,000 nodes that is run again: 2 runs against 12. The build is in both.
    private static func perNode(_ count: Count, _ limit: Double) -> CountGate {
        func runs(_ count: Int) -> Workload.Parameters { ["shape": 3, "n": 1000, "again": 1, "least": count, "most": count] }
        // The warm-up is one run, so nothing has run twice.
        return CountGate(
            name: "node of a graph that is run again", program: "contender-overdrive", word: "graph", count: count, small: runs(2),
            large: runs(12), units: { Double($0["least", default: 1] * $0["n", default: 1]) / 2 }, limit: limit)
    }

    private static let graphs = [perNode(.locked, 3), perNode(.instructions, 280)]

    /// What else has a promise, most about memory: records serve again, so a unit allocates what its closure captures and no more.
    private static let allocating = [
        perClosure("sync on a free queue", "sync", .allocations, 0.01),
        perClosure("sync on a free queue", "sync", .locked, 2.1),
        perClosure("sync on a free queue", "sync", .futexes, 0.01),
        perClosure("group entered and left", "group-pairs", .allocations, 0.01),
        perClosure("limited queue", "limited", .allocations, 1.06),
        perClosure("barrier queue", "barrier", .allocations, 1.06),
        perClosure("timer armed and called off", "timer-arm", .allocations, 3.06),
        perClosure("task", "tasks", .allocations, 1.06),
        // A task, and the second edge of an inner node.
        perClosure("task in a tree", "dag-tree", .allocations, 1.56),
        perClosure("task", "tasks", .instructions, 3020, from: 500, to: 3500),
        perClosure("task in a chain", "dag-chain", .instructions, 3820, from: 500, to: 3500),
    ]
}
