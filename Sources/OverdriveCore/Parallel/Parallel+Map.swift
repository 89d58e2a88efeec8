// Owns the parallel map. Programs call it. Results are written once, directly to their place in the array, and are
// never moved.

extension Parallel {
    /// Returns the results of a closure for all elements, in the order of the elements.
    ///
    ///     let thumbnails = Parallel.map(images) { resize($0) }
    ///     let pictures = try Parallel.map(files) { file throws(DecodingProblem) in try decode(file) }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit. Reading an element must not change the collection.
    ///   - transform: Called once for each element, unless an error occurs first.
    /// - Returns: One result per element.
    /// - Throws: The first error, after all started calls have finished and the results are released.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation for the result, in which results are written in place. If the closure may throw, two
    ///   small allocations, and about 20 ns for each of at most 1,024 blocks.
    @inlinable
    @inline(__always)
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R
    ) throws(E) -> [R] {
        try Parallel().map(elements, transform)
    }

    /// Returns the results of a closure for all elements, in their order, with the settings of this value.
    ///
    ///     let frames = try Parallel(token: token, progress: progress).map(0..<count) { try decode($0) }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit. Reading an element must not change the collection.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: One result per element.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished and the results are
    ///   released.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: The same as the short form.
    @inlinable
    @inline(__always)
    public func map<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R
    ) throws(E) -> [R] {
        if E.self == Never.self && isPlain {
            return Parallel.mapped(elements, grain: grain) { element in
                do throws(E) { return try transform(element) } catch { Parallel.trapThrown() }
            }
        }
        let effort = Effort<E>(self)
        let results = mapped(elements, effort, transform)
        try effort.end()
        return results
    }

    @inlinable
    @inline(__always)
    static func mapped<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, grain: Int?, _ transform: (C.Element) -> R
    ) -> [R] {
        let count = elements.count
        if count == 0 { return [] }
        return unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            // Parts are disjoint, and no thread reads a result before all parts have finished.
            nonisolated(unsafe) let places = unsafe places
            unsafe preferLargePages(places)
            let merging = merging
            Loop(grain: grain).run(0..<count) { part in
                _ = merging
                var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
                for i in part {
                    unsafe places.initializeElement(at: i, to: transform(elements[index]))
                    elements.formIndex(after: &index)
                }
            }
            written = count
        }
    }

    /// Returns all results, or an empty array if a part was skipped or threw.
    @inlinable
    func mapped<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ effort: Effort<E>, _ transform: (C.Element) throws(E) -> R
    ) -> [R] {
        let count = elements.count
        if count == 0 { return [] }
        let blocks = Blocks(0..<count, grain: grain)
        return unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            // Counts the results of each block, so that they can be released if another block throws.
            unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: blocks.count) { done in
                unsafe done.initialize(repeating: 0)
                Parallel.asExternalThread(of: scheduler) {
                    Loop(grain: nil).run(0..<blocks.count, placement) { some in
                        for block in some {
                            effort.part(blocks[block].count) { () throws(E) in
                                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                                for i in blocks[block] {
                                    unsafe places.initializeElement(at: i, to: try transform(elements[index]))
                                    unsafe done[block] += 1
                                    elements.formIndex(after: &index)
                                }
                            }
                        }
                    }
                }
                if unsafe done.reduce(0, +) == count {
                    written = count
                    return
                }
                for block in 0..<blocks.count {
                    let start = blocks[block].lowerBound
                    _ = unsafe places[start..<start + done[block]].deinitialize()
                }
            }
        }
    }
}
