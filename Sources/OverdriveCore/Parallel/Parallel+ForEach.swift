// Owns the loops over a range or a collection. Programs call them. A loop never returns before all of its started
// parts have finished.

extension Parallel {
    /// Calls a closure for every number of a range, in parallel on free workers.
    ///
    ///     Parallel.forEach(0..<images.count) { i in
    ///         process(images[i])
    ///     }
    ///
    /// A free thread takes the next few numbers, as many as take some microseconds. So short, long and uneven
    /// iterations need no tuning.
    ///
    /// - Parameters:
    ///   - range: The numbers to visit.
    ///   - body: Called once for each number, unless an error occurs first.
    /// - Throws: The first error, after all started parts have finished. Other parts do not start, and in running
    ///   parts ``Cancellation/isRequested`` becomes true.
    /// - Ordering: Parts run in any order; numbers ascend within a part. Their writes are visible after the call.
    /// - Threading: Any thread, also inside `body`. The calling thread takes part in the work.
    /// - Cost: A plain loop, and about 20 ns for each part of some microseconds. Helping workers call a `body` with
    ///   captures once per number; on the calling thread, the compiler may inline it into the loop. For bodies of 1
    ///   bodies of a nanosecond or less use ``forEachChunk(_:_:)-swift.method``, whose loop is always merged. If the closure may
    ///   throw, one allocation.
    @inlinable
    @inline(__always)
    public static func forEach<E: Error>(_ range: Range<Int>, _ body: @Sendable (Int) throws(E) -> Void) throws(E) {
        try Parallel().forEach(range, body)
    }

    /// Calls a closure for every number of a range, with the settings of this value.
    ///
    ///     try Parallel(on: readers, grain: 16).forEach(0..<files.count) { i in try check(files[i]) }
    ///
    /// - Parameters:
    ///   - range: The numbers to visit.
    ///   - body: Called once for each number, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order; numbers ascend within a part. Their writes are visible after the call.
    /// - Threading: Any thread, also inside `body`. The calling thread takes part in the work.
    /// - Cost: The same as the short form; with settings other than a grain, one allocation.
    @inlinable
    @inline(__always)
    public func forEach<E: Error>(_ range: Range<Int>, _ body: @Sendable (Int) throws(E) -> Void) throws(E) {
        if E.self == Never.self && isPlain {
            return Parallel.each(range, grain: grain) { i in
                do throws(E) { try body(i) } catch { Parallel.trapThrown() }
            }
        }
        try parts(of: range) { part throws(E) in
            for i in part { try body(i) }
        }
    }

    @inlinable
    @inline(__always)
    static func each(_ range: Range<Int>, grain: Int?, _ body: (Int) -> Void) {
        let first = range.lowerBound
        let merging = merging
        Share(length(of: range), grain: grain).work { part in
            _ = merging
            for i in part { body(first + i) }
        }
    }

    /// Calls a closure for every element of a collection, in parallel on free workers.
    ///
    ///     Parallel.forEach(images) { image in image.makeThumbnail() }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit. Reading an element must not change the collection.
    ///   - body: Called once for each element, unless an error occurs first.
    /// - Throws: The first error, after all started parts have finished.
    /// - Ordering: Parts run in any order; each part runs from front to back.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range.
    @inlinable
    @inline(__always)
    public static func forEach<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ body: @Sendable (C.Element) throws(E) -> Void
    ) throws(E) {
        try Parallel().forEach(elements, body)
    }

    /// Calls a closure for every element of a collection, with the settings of this value.
    ///
    ///     Parallel(progress: progress).forEach(images) { image in image.makeThumbnail() }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit. Reading an element must not change the collection.
    ///   - body: Called once for each element, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order; each part runs from front to back.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as for a range.
    @inlinable
    @inline(__always)
    public func forEach<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ body: @Sendable (C.Element) throws(E) -> Void
    ) throws(E) {
        if E.self == Never.self && isPlain {
            return Loop(grain: grain).run(0..<elements.count) { part in
                do throws(E) { try Parallel.visit(elements, part, body) } catch { Parallel.trapThrown() }
            }
        }
        try parts(of: 0..<elements.count) { part throws(E) in try Parallel.visit(elements, part, body) }
    }

    /// Returns the length of a range, or traps with a message if the length exceeds `Int.max`.
    @inlinable
    @inline(__always)
    static func length(of range: Range<Int>) -> Int {
        let (length, isTooLong) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        if isTooLong { trapLength(range) }
        return length
    }

    @usableFromInline
    static func trapLength(_ range: Range<Int>) -> Never {
        trap("Parallel.forEach: more than Int.max numbers (\(range)). Divide the range.")
    }
}
