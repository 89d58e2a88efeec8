extension CountGate {
    /// What gates: a little above what is measured, so that one more instruction that locks, one more
    /// allocation or a tenth more instructions per unit fails.
    public static let all: [CountGate] = spawning

    private static func perClosure(
        _ name: String, _ word: String, _ count: Count, _ limit: Double, from: Int = 2000, to: Int = 12_000
    ) -> CountGate {
        CountGate(
            name: name, program: "contender-overdrive", word: word, count: count, small: ["n": from], large: ["n": to],
            units: { Double($0["n", default: 1]) }, limit: limit)
    }

    private static let spawning = [
        perClosure("spawn from outside", "spawn-outside", .allocations, 0.01),
        perClosure("spawn with captures", "spawn-captures", .allocations, 1.01),
        perClosure("spawn from inside", "spawn-inside", .allocations, 0.01),
        perClosure("spawn from outside", "spawn-outside", .locked, 100),
        perClosure("spawn from inside", "spawn-inside", .locked, 100),
        perClosure("spawn from inside", "spawn-inside", .instructions, 1000),
        perClosure("chain", "chain", .allocations, 1.01),
        perClosure("chain", "chain", .locked, 100),
        perClosure("serial queue", "serial-queue", .allocations, 1.01),
        perClosure("serial queue", "serial-queue", .locked, 100),
        perClosure("spawn from inside", "spawn-inside", .futexes, 0.01),
    ]
}
