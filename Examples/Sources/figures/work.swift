/// Work that a compiler cannot shorten: about two nanoseconds a round.
func churn(_ seed: Int, rounds: Int) -> Int {
    var value = UInt64(truncatingIfNeeded: seed) | 1
    for _ in 0..<rounds {
        value ^= value << 13
        value ^= value >> 7
        value ^= value << 17
    }
    return Int(value >> 48)
}
