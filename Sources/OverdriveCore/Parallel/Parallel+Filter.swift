// Owns the parallel filter, and the concatenation for `compactMap`, `flatMap` and `scan`. Programs call it. Results
// never depend on the number of workers.

extension Parallel {
    /// Returns the elements for which a closure returns true, in their order.
    ///
    ///     let primes = Parallel().filter(0..<1_000_000) { isPrime($0) }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - isIncluded: Called once for each element, unless the operation ends early.
    /// - Returns: The elements for which `isIncluded` returned true.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public func filter<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isIncluded: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> [C.Element] in
            var kept: [C.Element] = []
            try Parallel.visit(elements, block) { element throws(E) in
                if try isIncluded(element) { kept.append(element) }
            }
            return kept
        }
        return Parallel.concatenated(parts)
    }

    @inlinable
    static func concatenated<Element: Sendable>(_ parts: [[Element]]) -> [Element] {
        var starts: [Int] = [0]
        for part in parts { starts.append(starts[starts.count - 1] + part.count) }
        let count = starts[parts.count]
        if count == 0 { return [] }
        return unsafe Array(unsafeUninitializedCapacity: count) { [starts] places, written in
            nonisolated(unsafe) let places = unsafe places
            unsafe preferLargePages(places)
            Loop(grain: nil).run(0..<parts.count) { some in
                for part in some {
                    _ = unsafe places[starts[part]..<starts[part + 1]].initialize(fromContentsOf: parts[part])
                }
            }
            written = count
        }
    }

    /// The number of elements that a closure says yes to.
    ///
    ///     let blanks = Parallel().count(lines) { $0.isEmpty }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - isSo: Called once for each element, unless the operation ends early.
    /// - Returns: The number.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One number for each of at most 1,024 blocks.
    @inlinable
    @inline(__always)
    public func count<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Int {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> Int in
            var count = 0
            try Parallel.visit(elements, block) { element throws(E) in
                if try isSo(element) { count += 1 }
            }
            return count
        }
        return parts.reduce(0, +)
    }
}
