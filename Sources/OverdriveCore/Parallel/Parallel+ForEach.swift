extension Parallel {
    /// Calls `body` for every number of a range, on as many workers as are free.
    ///
    ///     Parallel.forEach(0..<images.count) { i in
    ///         process(images[i])
    ///     }
    ///
    /// Whoever is free takes the next few numbers, as many as take some microseconds: short iterations and long
    /// ones, even or uneven, need no tuning.
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - grain: So many iterations at least stay together. Leave it out, unless iterations that are neighbours
    ///     share something that two workers should not write.
    ///   - body: Called once for each number.
    /// - Ordering: In no order between parts; within a part upwards. What the calls wrote is visible afterwards.
    /// - Threading: Any thread, which takes part. From inside `body` too.
    /// - Cost: A plain loop in parts of some microseconds, and some 20 ns for each part. Workers who help call
    ///   `body` for each number where it captures something; the calling thread may have it merged into the loop. For bodies of a nanosecond or
    ///   less take ``forEachChunk(_:grain:_:)``, whose loop is merged wherever it runs.
    @inlinable
    @inline(__always)
    public static func forEach(_ range: Range<Int>, grain: Int? = nil, _ body: @Sendable (Int) -> Void) {
        let first = range.lowerBound
        let merging = merging
        Share(length(of: range), grain: grain).work { part in
            _ = merging
            for i in part { body(first + i) }
        }
    }

    /// Calls `body` for parts of a range that together are all of it.
    ///
    ///     Parallel.forEachChunk(0..<samples.count) { part in
    ///         transform(samples[part])
    ///     }
    ///
    /// - Parameters:
    ///   - range: What is divided.
    ///   - grain: Parts are at least so long, but for the last.
    ///   - body: Called with parts that do not overlap, once for each number.
    /// - Ordering: In no order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `forEach(_:grain:_:)`.
    @inlinable
    @inline(__always)
    public static func forEachChunk(_ range: Range<Int>, grain: Int? = nil, _ body: @Sendable (Range<Int>) -> Void) {
        _ = length(of: range)
        Loop(grain: grain).run(range, body)
    }

    /// How many numbers a range has: a sentence, where that is no number.
    @inlinable
    @inline(__always)
    static func length(of range: Range<Int>) -> Int {
        let (length, isTooLong) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        if isTooLong { trapLength(range) }
        return length
    }

    @usableFromInline
    static func trapLength(_ range: Range<Int>) -> Never {
        trap("Parallel: the range \(range) has more numbers than Int.max: go through it in parts")
    }
}
