extension Parallel {
    /// The results of a closure for every element, in the elements' order.
    ///
    ///     let thumbnails = Parallel.map(images) { resize($0) }
    ///
    /// - Parameters:
    ///   - elements: What to go through. Asking for an element must not change the collection.
    ///   - grain: So many neighbours at least stay together; see ``forEach(_:grain:_:)-(Range<Int>,_,_)``.
    ///   - transform: Called once for each element.
    /// - Returns: The results.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: The result's one allocation; results are written where they stay.
    @inlinable
    @inline(__always)
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, grain: Int? = nil, _ transform: @Sendable (C.Element) -> R
    ) -> [R] {
        let count = elements.count
        if count == 0 { return [] }
        return Array(unsafeUninitializedCapacity: count) { places, written in
            // Parts do not overlap, and nobody reads before all are done.
            nonisolated(unsafe) let places = places
            preferLargePages(places)
            let merging = merging
            Loop(grain: grain).run(0..<count) { part in
                _ = merging
                var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
                for i in part {
                    places.initializeElement(at: i, to: transform(elements[index]))
                    elements.formIndex(after: &index)
                }
            }
            written = count
        }
    }

    /// The elements that a closure says yes to, in their order.
    ///
    ///     let primes = Parallel.filter(0..<1_000_000) { isPrime($0) }
    ///
    /// - Parameters:
    ///   - elements: What to go through.
    ///   - isIncluded: Called once for each element.
    /// - Returns: Those for which it returned true.
    /// - Ordering: Calls come in any order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One array for each of at most 1,024 blocks, and the result.
    @inlinable
    @inline(__always)
    public static func filter<C: RandomAccessCollection & Sendable>(
        _ elements: C, _ isIncluded: @Sendable (C.Element) -> Bool
    ) -> [C.Element] where C.Element: Sendable {
        let blocks = Blocks(0..<elements.count)
        nonisolated(unsafe) let kept = blocks.makePlaces(for: [C.Element].self)
        defer { kept.deallocate() }
        let merging = merging
        Share(blocks.count).work { some in
            _ = merging
            for block in some {
                var elementsKept: [C.Element] = []
                var index = elements.index(elements.startIndex, offsetBy: blocks[block].lowerBound)
                for _ in blocks[block] {
                    let element = elements[index]
                    if isIncluded(element) { elementsKept.append(element) }
                    elements.formIndex(after: &index)
                }
                (kept + block).initialize(to: elementsKept)
            }
        }
        let parts = (0..<blocks.count).map { (kept + $0).move() }
        return concatenated(parts)
    }

    @inlinable
    static func concatenated<Element: Sendable>(_ parts: [[Element]]) -> [Element] {
        var starts: [Int] = [0]
        for part in parts { starts.append(starts[starts.count - 1] + part.count) }
        let count = starts[parts.count]
        if count == 0 { return [] }
        return Array(unsafeUninitializedCapacity: count) { [starts] places, written in
            nonisolated(unsafe) let places = places
            preferLargePages(places)
            Loop(grain: nil).run(0..<parts.count) { some in
                for part in some {
                    _ = places[starts[part]..<starts[part + 1]].initialize(fromContentsOf: parts[part])
                }
            }
            written = count
        }
    }
}
