// What writes memory in parallel: each part of it is one closure's alone.

extension Parallel {
    /// Calls a closure that may change it for every element of an array.
    ///
    ///     Parallel().forEach(mutating: &samples) { i, sample in sample *= gain[i] }
    ///
    /// - Parameters:
    ///   - array: What is changed. After an early end it keeps what was changed by then.
    ///   - body: Called once for each place and its element, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all parts that had begun have ended.
    /// - Ordering: In no order between parts. All writes are in the array afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation, and some 20 ns for each part of some microseconds; copies an array that is shared with others.
    @inlinable
    public func forEach<Element: Sendable, E: Error>(
        mutating array: inout [Element], _ body: @Sendable (Int, inout Element) throws(E) -> Void
    ) throws(E) {
        try unsafe array.withUnsafeMutableBufferPointer { elements throws(E) in
            let elements = unsafe elements
            try parts(of: 0..<elements.count) { part throws(E) in
                for i in part { try unsafe body(i, &elements[i]) }
            }
        }
    }

    /// Calls a closure with neighbouring parts of an array, which it may change.
    ///
    ///     Parallel().chunks(of: &matrix, size: columns) { row, line in
    ///         for column in line.indices { line[column] = cell(row, column) }
    ///     }
    ///
    /// - Parameters:
    ///   - array: What is changed. After an early end it keeps what was changed by then.
    ///   - size: How long each part is, but for the last, which may be shorter: 1 or more. (A grain is of no account.)
    ///   - body: Called once for each part, with its number from 0, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all parts that had begun have ended.
    /// - Ordering: In no order. All writes are in the array afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``forEach(mutating:_:)``.
    @inlinable
    public func chunks<Element: Sendable, E: Error>(
        of array: inout [Element], size: Int, _ body: @Sendable (Int, inout MutableSpan<Element>) throws(E) -> Void
    ) throws(E) {
        if size < 1 { Parallel.trapSize(size) }
        try unsafe array.withUnsafeMutableBufferPointer { elements throws(E) in
            let elements = unsafe elements
            let count = elements.count / size + (elements.count % size == 0 ? 0 : 1)
            let effort = Effort<E>(self)
            Parallel.asExternalThread(of: scheduler) {
                Loop(grain: nil).run(0..<count, placement) { part in
                    let end = part.upperBound == count ? elements.count : part.upperBound * size
                    effort.part(end - part.lowerBound * size) { () throws(E) in
                        for i in part {
                            let start = i * size
                            let chunk = unsafe elements[start..<start + Swift.min(size, end - start)]
                            var span = unsafe UnsafeMutableBufferPointer(rebasing: chunk).mutableSpan
                            try body(i, &span)
                        }
                    }
                }
            }
            try effort.end()
        }
    }

    @usableFromInline
    static func trapSize(_ size: Int) -> Never {
        trap("Parallel.chunks(of:size:): size out of range (\(size)). Choose 1 or more.")
    }
}
