// Owns the operations that collect elements: `filter`, `count`, `compactMap`, `flatMap` and `grouping`. Programs call
// them. Results never depend on the number of workers.

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

    /// Returns the non-nil results of a closure, in the order of the elements.
    ///
    ///     let numbers = Parallel().compactMap(lines) { Int($0) }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: The results other than nil.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public func compactMap<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R?
    ) throws(E) -> [R] {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> [R] in
            var kept: [R] = []
            try Parallel.visit(elements, block) { element throws(E) in
                if let result = try transform(element) { kept.append(result) }
            }
            return kept
        }
        return Parallel.concatenated(parts)
    }

    /// Returns the concatenated results of a closure, in the order of the elements.
    ///
    ///     let words = Parallel().flatMap(lines) { $0.split(separator: " ") }
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - transform: Called once for each element, unless the operation ends early.
    /// - Returns: All elements of the results.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public func flatMap<C: RandomAccessCollection & Sendable, S: Sequence, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> S
    ) throws(E) -> [S.Element] where S.Element: Sendable {
        let parts = try values(of: Blocks(0..<elements.count, grain: grain)) { block throws(E) -> [S.Element] in
            var all: [S.Element] = []
            try Parallel.visit(elements, block) { element throws(E) in all.append(contentsOf: try transform(element)) }
            return all
        }
        return Parallel.concatenated(parts)
    }

    /// Groups the elements of a collection by a key.
    ///
    ///     let byHost = Parallel().grouping(requests, by: \.host)
    ///
    /// - Parameters:
    ///   - elements: The elements to visit.
    ///   - key: Returns the key of an element. Called once for each element, unless the operation ends early.
    /// - Returns: A dictionary of the elements of each key, in their order.
    /// - Throws: The first error, or `CancellationError`, after all started calls have finished.
    /// - Ordering: Calls run in any order.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: A dictionary for each of at most 256 blocks; the dictionaries are then merged in pairs.
    @inlinable
    public func grouping<C: RandomAccessCollection & Sendable, Key: Hashable & Sendable, E: Error>(
        _ elements: C, by key: @Sendable (C.Element) throws(E) -> Key
    ) throws(E) -> [Key: [C.Element]] where C.Element: Sendable {
        try reduce(elements, into: [:]) { (groups: inout [Key: [C.Element]], element) throws(E) in
            groups[try key(element), default: []].append(element)
        } combine: { (groups, later) throws(E) in
            for (key, elements) in later { groups[key, default: []].append(contentsOf: elements) }
        }
    }

    /// Joins arrays, copying them in parallel. `scan` calls it, too.
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
}
