extension Duration {
    /// This many nanoseconds, between the ends of time.
    var signedNanoseconds: Int64 { self < .zero ? -(Duration.zero - self).nanoseconds : nanoseconds }

    /// This many nanoseconds, at least 0 and at most the engine's "for ever".
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !tooLong else { return .max }
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow ? .max : sum
    }
}
