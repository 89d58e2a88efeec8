// Owns the division of a range among threads on demand. The loop operations of `Parallel` call it. It never allocates
// and never handles errors.

public import CScheduler

/// Runs a range in chunks, and forks half of the rest when a thief asks for work.
///
/// A thread runs its range in chunks of a few microseconds. Between two chunks it checks for a waiting thief, at the
/// cost of one load and a comparison. If a thief waits, the thread forks the second half of the remaining range, down
/// to single iterations. Without thieves, the range runs as one plain loop in chunks.
///
/// Algorithm: lazy binary splitting. Tzannes, Caragea, Barua, Vishkin, PPoPP 2010, §4.
@usableFromInline
struct Loop: Sendable {
    /// The minimum length of a part after a division.
    @usableFromInline let grain: Int

    @inlinable
    init(grain: Int?) {
        if let grain, grain < 1 { Parallel.trapGrain(grain) }
        self.grain = grain ?? 1
    }

    /// Runs `body` on parts of `range`, each part in order, and returns when all of `range` is done.
    ///
    /// - Parameter chunk: The expected number of iterations in some microseconds; 1 if unknown.
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
            // A remainder shorter than the grain joins this chunk.
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

    /// Returns the next chunk size, aiming at one to four time units per chunk. Then the check for thieves costs
    /// little, and a thief waits only briefly.
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
