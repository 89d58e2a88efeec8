extension Parallel {
    /// The results of a closure for every element, in the elements' order.
    ///
    ///     let thumbnails = Parallel.map(images) { resize($0) }
    ///     let pictures = try Parallel.map(files) { file throws(DecodingProblem) in try decode(file) }
    ///
    /// - Parameters:
    ///   - elements: What to go through. Asking for an element must not change the collection.
    ///   - transform: Called once for each element, unless an error comes first.
    /// - Returns: The results.
    /// - Throws: The first error, after all calls that had begun have ended; results are released.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation for the result; results are written in place. If the closure may throw, two small
    ///   allocations, and about 20 ns for each of at most 1,024 blocks.
    @inlinable
    @inline(__always)
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R
    ) throws(E) -> [R] {
        try Parallel().map(elements, transform)
    }

    /// The results of a closure for every element, in the elements' order, made as the value says.
    ///
    ///     let frames = try Parallel(token: token, progress: progress).map(0..<count) { try decode($0) }
    ///
    /// - Parameters:
    ///   - elements: What to go through. Asking for an element must not change the collection.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: The results.
    /// - Throws: The first error, or `CancellationError`, after all calls that had begun have ended; results are released.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As the short form's.
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
            // Parts do not overlap, and nobody reads before all are done.
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

    /// All results; or none, where a part is missing.
    @inlinable
    func mapped<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ effort: Effort<E>, _ transform: (C.Element) throws(E) -> R
    ) -> [R] {
        let count = elements.count
        if count == 0 { return [] }
        let blocks = Blocks(0..<count, grain: grain)
        return unsafe Array(unsafeUninitializedCapacity: count) { places, written in
            // How many results each block has: what is to be released where one throws.
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
