// Owns the loops whose closure receives a part of a range, with or without scratch memory. Programs call them. Parts
// never overlap.

extension Parallel {
    /// Calls a closure with disjoint parts of a range that together cover it.
    ///
    ///     Parallel().forEachChunk(0..<samples.count) { part in
    ///         transform(samples[part])
    ///     }
    ///
    /// - Parameters:
    ///   - range: The range to divide.
    ///   - body: Called with parts that do not overlap, once for each number, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: About 20 ns for each part of some microseconds. With settings other than a grain, or errors, one
    ///   allocation.
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

    /// Calls a closure with disjoint parts of a range and a scratch value of the calling thread.
    ///
    ///     Parallel().forEachChunk(0..<rows, scratch: { [Float](repeating: 0, count: width) }) { part, line in
    ///         for row in part { blur(row, using: &line) }
    ///     }
    ///
    /// - Parameters:
    ///   - range: The range to divide.
    ///   - scratch: Makes the scratch value of a thread, once for each thread that takes part.
    ///   - body: Called with parts that do not overlap. The scratch value keeps the content that the last call on the
    ///     thread left.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as without scratch, and two lock operations for each part.
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
