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

    /// The same with a body for each number. It is written out, and not a body for parts around that body, because
    /// the optimiser specialises a recursive function for its caller's closure, and not a closure for one that it
    /// captures. So what nobody takes runs as a plain loop; what a thief takes calls the body for each number.
    @inlinable
    func runEach(_ range: Range<Int>, chunk: Int = 1, _ body: (Int) -> Void) {
        var next = range.lowerBound
        var chunk = max(chunk, grain)
        while next < range.upperBound {
            let left = range.upperBound - next
            if left > 1 && left / 2 >= grain && od_fork_wanted() {
                let middle = next + left / 2
                let (end, half) = (range.upperBound, chunk / 2)
                fork(next..<middle, middle..<end, chunk: chunk, body) {
                    runEach(middle..<end, chunk: half, body)
                }
                return
            }
            let began = od_loop_ticks()
            let end = chunk < left && left - chunk >= grain ? next + chunk : range.upperBound
            for i in next..<end { body(i) }
            next = end
            chunk = adapted(chunk, took: od_loop_ticks() &- began)
        }
    }

    /// `later` is forked; it is called here as what it stands for, which the optimiser knows.
    @inlinable
    @inline(__always)
    func fork(_ first: Range<Int>, _ second: Range<Int>, chunk: Int, _ body: (Int) -> Void, _ later: () -> Void) {
        od_fork_closure_here()
        let slot = forkClosure(later)
        runEach(first, chunk: chunk, body)
        let isPrivate = od_fork_pop(slot)
        if isPrivate || takeBackClosure(later) {
            runEach(second, chunk: chunk / 2, body)
            if !isPrivate { od_join_end() }
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
        trap("Parallel: grain is \(grain): choose 1 or more, or nil to have ranges divided as needed")
    }
}
