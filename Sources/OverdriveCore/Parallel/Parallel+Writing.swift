// Owns the loops that change an array in parallel. Programs call them. Each element is passed to one closure call
// only, so calls never write the same memory.

extension Parallel {
    /// Calls a closure for every element of an array, which the closure may change in place.
    ///
    ///     Parallel().forEach(mutating: &samples) { i, sample in sample *= gain[i] }
    ///
    /// - Parameters:
    ///   - array: The array to change. After an early end it keeps the changes made so far.
    ///   - body: Called once for each index and its element, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Parts run in any order. All writes are in the array afterwards.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation, and about 20 ns for each part of some microseconds. A shared array is copied first.
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

    /// Calls a closure with consecutive parts of an array, which the closure may change in place.
    ///
    ///     Parallel().chunks(of: &matrix, size: columns) { row, line in
    ///         for column in line.indices { line[column] = cell(row, column) }
    ///     }
    ///
    /// - Parameters:
    ///   - array: The array to change. After an early end it keeps the changes made so far.
    ///   - size: The length of each part in elements, 1 or more; the last part may be shorter. The grain is ignored.
    ///   - body: Called once for each part, with its number from 0, unless the loop ends early.
    /// - Throws: The first error, or `CancellationError`, after all started parts have finished.
    /// - Ordering: Calls run in any order. All writes are in the array afterwards.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: As ``forEach(mutating:_:)-swift.method``.
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
