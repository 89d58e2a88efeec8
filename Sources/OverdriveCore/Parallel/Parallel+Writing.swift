// What writes memory in parallel: each part of it is one closure's alone.

extension Parallel {
    /// Calls a closure that may change it for every element of an array.
    ///
    ///     Parallel.forEach(mutating: &samples) { i, sample in sample *= gain[i] }
    ///
    /// - Parameters:
    ///   - array: What is changed.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - grain: So many neighbours at least stay together.
    ///   - placement: Whether parts of the array belong to NUMA nodes.
    ///   - progress: Counts the elements that are done.
    ///   - body: Called once for each place and its element.
    /// - Throws: The first error, as `forEach(_:on:grain:placement:progress:_:)`.
    /// - Ordering: In no order between parts. What was written is in the array afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `forEach(_:on:grain:placement:progress:_:)`; copies an array that is shared with others.
    @inlinable
    public static func forEach<Element: Sendable, E: Error>(
        mutating array: inout [Element], on scheduler: Scheduler? = nil, grain: Int? = nil,
        placement: Placement = .anywhere, progress: Progress? = nil,
        _ body: @Sendable (Int, inout Element) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        change(&array, on: scheduler, grain: grain, placement: placement, effort, body)
        try effort.check()
    }

    /// Calls a closure that may change it for every element of an array, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`. The array keeps what was changed by then.
    @inlinable
    public static func forEach<Element: Sendable>(
        mutating array: inout [Element], on scheduler: Scheduler? = nil, grain: Int? = nil,
        placement: Placement = .anywhere, token: CancellationToken, progress: Progress? = nil,
        _ body: @Sendable (Int, inout Element) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        change(&array, on: scheduler, grain: grain, placement: placement, effort, body)
        try effort.checkCancelled()
    }

    @inlinable
    static func change<Element: Sendable, E: Error>(
        _ array: inout [Element], on scheduler: Scheduler?, grain: Int?, placement: Placement, _ effort: Effort<E>,
        _ body: @Sendable (Int, inout Element) throws(E) -> Void
    ) {
        if array.isEmpty { return }
        array.withUnsafeMutableBufferPointer { elements in
            let elements = elements
            run(0..<elements.count, on: scheduler, grain: grain, placement: placement, effort) { part throws(E) in
                for i in part { try body(i, &elements[i]) }
            }
        }
    }

    /// Calls a closure with neighbouring parts of an array, which it may change.
    ///
    ///     Parallel.chunks(of: &matrix, size: columns) { row, line in
    ///         for column in line.indices { line[column] = cell(row, column) }
    ///     }
    ///
    /// - Parameters:
    ///   - array: What is changed.
    ///   - size: How long each part is, but for the last, which may be shorter: 1 or more.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - placement: Whether parts of the array belong to NUMA nodes.
    ///   - progress: Counts the parts that are done.
    ///   - body: Called once for each part, with its number from 0.
    /// - Throws: The first error, as `forEach(_:on:grain:placement:progress:_:)`.
    /// - Ordering: In no order. What was written is in the array afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As `forEach(_:on:grain:placement:progress:_:)`; copies an array that is shared with others.
    @inlinable
    public static func chunks<Element: Sendable, E: Error>(
        of array: inout [Element], size: Int, on scheduler: Scheduler? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, _ body: @Sendable (Int, inout MutableSpan<Element>) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        change(&array, inPartsOf: size, on: scheduler, placement, effort, body)
        try effort.check()
    }

    /// Calls a closure with neighbouring parts of an array, which it may change, until it is cancelled; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`. The array keeps what was changed by then.
    @inlinable
    public static func chunks<Element: Sendable>(
        of array: inout [Element], size: Int, on scheduler: Scheduler? = nil, placement: Placement = .anywhere,
        token: CancellationToken, progress: Progress? = nil,
        _ body: @Sendable (Int, inout MutableSpan<Element>) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        change(&array, inPartsOf: size, on: scheduler, placement, effort, body)
        try effort.checkCancelled()
    }

    @inlinable
    static func change<Element: Sendable, E: Error>(
        _ array: inout [Element], inPartsOf size: Int, on scheduler: Scheduler?, _ placement: Placement,
        _ effort: Effort<E>, _ body: @Sendable (Int, inout MutableSpan<Element>) throws(E) -> Void
    ) {
        if size < 1 { trapSize(size) }
        if array.isEmpty { return }
        array.withUnsafeMutableBufferPointer { elements in
            let elements = elements
            let count = elements.count / size + (elements.count % size == 0 ? 0 : 1)
            run(0..<count, on: scheduler, grain: nil, placement: placement, effort) { part throws(E) in
                for i in part {
                    let end = i == count - 1 ? elements.count : (i + 1) * size
                    var span = UnsafeMutableBufferPointer(rebasing: elements[i * size..<end]).mutableSpan
                    try body(i, &span)
                }
            }
        }
    }

    /// Runs two closures, each with its part of a span, at the same time if a worker is free.
    ///
    ///     func mergeSort(_ span: inout MutableSpan<Int>) {
    ///         if span.count < 64 { return insertionSort(&span) }
    ///         let middle = span.count / 2
    ///         Parallel.join(splitting: &span, at: middle) { left in mergeSort(&left) } _: { right in mergeSort(&right) }
    ///         merge(&span, middle)
    ///     }
    ///
    /// - Parameters:
    ///   - span: What is divided; `array.mutableSpan` is one.
    ///   - index: Where the second part begins, 0 to `span.count`.
    ///   - a: Gets what is before `index`. Runs here, first.
    ///   - b: Gets the rest. Runs here after it, or on a worker.
    /// - Returns: What both returned.
    /// - Throws: As `join(_:_:)`.
    /// - Ordering: As `join(_:_:)`.
    /// - Threading: Any thread.
    /// - Cost: As `join(_:_:)`.
    @inlinable
    public static func join<Element: Sendable, A: Sendable, B: Sendable, E: Error>(
        splitting span: inout MutableSpan<Element>, at index: Int,
        _ a: @Sendable (inout MutableSpan<Element>) throws(E) -> A,
        _ b: @Sendable (inout MutableSpan<Element>) throws(E) -> B
    ) throws(E) -> (A, B) {
        if index < 0 || index > span.count { trapSplit(index, span.count) }
        return try span.withUnsafeMutableBufferPointer { elements throws(E) in
            // The two parts do not overlap, and nobody else has the span meanwhile.
            nonisolated(unsafe) let elements = elements
            return try join { () throws(E) -> A in
                var left = UnsafeMutableBufferPointer(rebasing: elements[..<index]).mutableSpan
                return try a(&left)
            } _: { () throws(E) -> B in
                var right = UnsafeMutableBufferPointer(rebasing: elements[index...]).mutableSpan
                return try b(&right)
            }
        }
    }

    @usableFromInline
    static func trapSize(_ size: Int) -> Never {
        trap("Parallel.chunks(of:size:): size is \(size): choose 1 or more")
    }

    @usableFromInline
    static func trapSplit(_ index: Int, _ count: Int) -> Never {
        trap("Parallel.join(splitting:at:): \(index) is outside the span, which has \(count) elements")
    }
}
