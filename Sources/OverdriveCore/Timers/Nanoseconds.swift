// Owns the conversion of durations to the engine's nanoseconds. Timers and waits call it. It clamps and never traps.

extension Duration {
    /// The duration in nanoseconds, clamped to the range of `Int64`.
    var signedNanoseconds: Int64 { self < .zero ? -(Duration.zero - self).nanoseconds : nanoseconds }

    /// The duration in nanoseconds, at least 0 and at most `Int64.max`, which the engine reads as no limit.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !tooLong else { return .max }
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow ? .max : sum
    }
}
