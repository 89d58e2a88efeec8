extension Parallel {
    /// Calls a closure for parts of a range that together are all of it.
    ///
    ///     Parallel().forEachChunk(0..<samples.count) { part in
    ///         transform(samples[part])
    ///     }
    ///
    /// - Parameters:
    ///   - range: What is divided.
    ///   - body: Called with parts that do not overlap, once for each number, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all parts that had begun have ended.
    /// - Ordering: In no order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: Some 20 ns for each part, of some microseconds; with more than a grain, or errors, one allocation.
    @inlinable
    @inline(__always)
    public func forEachChunk<E: Error>(
        _ range: Range<Int>, _ body: @Sendable (Range<Int>) throws(E) -> Void
    ) throws(E) {
        if E.self == Never.self && isPlain {
            _ = Parallel.length(of: range)
            return Loop(grain: grain).run(range) { part in
                do throws(E) { try body(part) } catch { Parallel.trapThrown() }
            }
        }
        try parts(of: range, body)
    }

    /// Calls a closure for parts of a range, with something to work in.
    ///
    ///     Parallel().forEachChunk(0..<rows, scratch: { [Float](repeating: 0, count: width) }) { part, line in
    ///         for row in part { blur(row, using: &line) }
    ///     }
    ///
    /// - Parameters:
    ///   - range: What is divided.
    ///   - scratch: Makes what a thread works in, once for each thread that takes part.
    ///   - body: Called with parts that do not overlap. It finds the scratch as the thread's last part left it.
    /// - Throws: The first error, or `CancellationError`, after all parts that had begun have ended.
    /// - Ordering: In no order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As without scratch, and two lock operations for each chunk.
    public func forEachChunk<Scratch: Sendable, E: Error>(
        _ range: Range<Int>, scratch: @Sendable () -> Scratch,
        _ body: @Sendable (Range<Int>, inout Scratch) throws(E) -> Void
    ) throws(E) {
        try withoutActuallyEscaping(scratch) { scratch throws(E) in
            let scratches = WorkerLocal(scratch)
            try parts(of: range) { part throws(E) in
                try scratches.with { scratch throws(E) in try body(part, &scratch) }
            }
        }
    }
}
