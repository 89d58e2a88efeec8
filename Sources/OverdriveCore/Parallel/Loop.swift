public import CScheduler

/// How a range is divided: by halves, and only when somebody asks for work.
///
/// Whoever runs a range runs it in chunks of a few microseconds, and looks between two of them whether a thief
/// wants something (one load and a comparison). Then the second half of what is left is forked, and so on, down
/// to single iterations if these are long. With nobody about, a range is one plain loop in chunks.
///
/// Lazy binary splitting: Tzannes, Caragea, Barua, Vishkin, PPoPP 2010, §4.
@usableFromInline
struct Loop: Sendable {
    /// Ranges of this size are not divided.
    @usableFromInline let grain: Int

    @inlinable
    init(grain: Int?) {
        if let grain, grain < 1 { Parallel.trapGrain(grain) }
        self.grain = grain ?? 1
    }

    /// Runs `body` on parts of `range`, in order within each part, until all of it is done.
    ///
    /// - Parameter chunk: How many iterations are likely to take some microseconds; 1 if unknown.
    @inlinable
    func run(_ range: Range<Int>, chunk: Int = 1, _ body: (Range<Int>) -> Void) {
        var next = range.lowerBound
        var chunk = max(chunk, grain)
        while next < range.upperBound {
            let left = range.upperBound - next
            if left > 1 && left / 2 >= grain && od_fork_wanted() {
                divide(next..<range.upperBound, chunk: chunk, body)
                return
            }
            let began = od_loop_ticks()
            // What would be left alone comes along.
            let end = chunk < left && left - chunk >= grain ? next + chunk : range.upperBound
            body(next..<end)
            next = end
            chunk = adapted(chunk, took: od_loop_ticks() &- began)
        }
    }

    @inlinable
    func divide(_ range: Range<Int>, chunk: Int, _ body: (Range<Int>) -> Void) {
        let middle = range.lowerBound + (range.upperBound - range.lowerBound) / 2
        Parallel.both {
            run(range.lowerBound..<middle, chunk: chunk, body)
        } _: {
            run(middle..<range.upperBound, chunk: chunk / 2, body)
        }
    }

    /// Chunks are to take between one and four units of time, so that looking costs nothing, and thieves are
    /// answered soon.
    @inlinable
    @inline(__always)
    func adapted(_ chunk: Int, took ticks: UInt64) -> Int {
        if ticks < od_loop_unit() { return chunk <= .max / 2 ? 2 * chunk : chunk }
        return ticks > 4 * od_loop_unit() ? max(grain, chunk / 2) : chunk
    }
}

extension Parallel {
    @usableFromInline
    static func trapGrain(_ grain: Int) -> Never {
        trap("Parallel(grain:): out of range (\(grain)). Choose 1 or more, or nil to divide ranges as needed.")
    }
}
