// Owns the searches, which end as soon as the result is known. Programs call them. The result never depends on the
// number of workers.

internal import Synchronization

extension Parallel {
    /// Returns the first element for which a closure returns true, or nil if none exists.
    ///
    ///     let broken = try Parallel().first(files) { try !isWhole($0) }
    ///
    /// The result is the same as of a search from front to back: the first match, or the error of an earlier element.
    /// So running calls do not see an error of another call. Progress ends at the number of all elements, visited or
    /// not.
    ///
    /// - Parameters:
    ///   - elements: The elements to search.
    ///   - isSo: Returns whether an element matches. Called once for each element before the result, and for some after
    ///     it.
    /// - Returns: The first matching element.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls run in any order, roughly from front to back.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One allocation. After a match, parts that have already started continue for some microseconds, or for
    ///   one element.
    @inlinable
    @inline(__always)
    public func first<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? {
        guard let place = try firstPlace(elements, isSo) else { return nil }
        return elements[elements.index(elements.startIndex, offsetBy: place)]
    }

    /// Returns whether a closure returns true for any element.
    ///
    ///     if Parallel().contains(words, where: { $0.isEmpty }) { … }
    ///
    /// - Parameters:
    ///   - elements: The elements to search.
    ///   - isSo: Returns whether an element matches. Not called for further parts after a match.
    /// - Returns: Whether any element matches.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)-swift.method``.
    @inlinable
    @inline(__always)
    public func contains<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try firstPlace(elements, isSo) != nil
    }

    /// Returns whether a collection contains an element.
    ///
    ///     if Parallel().contains(samples, 0) { … }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - element: The value to find.
    /// - Returns: Whether any element equals `element`.
    /// - Ordering: Comparisons come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)-swift.method``.
    @inlinable
    @inline(__always)
    public func contains<C: RandomAccessCollection & Sendable>(_ elements: C, _ element: C.Element) -> Bool
    where C.Element: Equatable & Sendable {
        firstPlace(elements) { $0 == element } != nil
    }

    /// Returns whether a closure returns true for all elements; true for an empty collection.
    ///
    ///     let isOrdered = Parallel().allSatisfy(1..<count) { numbers[$0 - 1] <= numbers[$0] }
    ///
    /// - Parameters:
    ///   - elements: The elements to check.
    ///   - isSo: Returns whether an element matches. Not called for further parts after a mismatch.
    /// - Returns: Whether all elements match.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)-swift.method``.
    @inlinable
    @inline(__always)
    public func allSatisfy<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try firstPlace(elements) { element throws(E) in try !isSo(element) } == nil
    }

    /// Returns the lowest offset whose element matches.
    @inlinable
    @inline(__always)
    func firstPlace<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isSo: (C.Element) throws(E) -> Bool
    ) throws(E) -> Int? {
        let found = Found<E>()
        if E.self == Never.self && isPlain {
            Share(elements.count, grain: grain).work { part in found.search(elements, part, isSo) }
        } else {
            try parts(of: 0..<elements.count) { part throws(E) in found.search(elements, part, isSo) }
        }
        return try found.end()
    }

    /// The index of the first element that a closure says yes to; nil for none.
    ///
    ///     let place = Parallel().firstIndex(lines) { $0.isEmpty }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - isSo: Called once for an element: for all before the result, and for some behind it.
    /// - Returns: The index.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)-swift.method``.
    @inlinable
    @inline(__always)
    public func firstIndex<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> C.Index? {
        guard let place = try firstPlace(elements, isSo) else { return nil }
        return elements.index(elements.startIndex, offsetBy: place)
    }

    /// The index of the first element that equals another; nil for none.
    ///
    ///     let place = Parallel().firstIndex(samples, of: 0)
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - element: The element to look for.
    /// - Returns: The index.
    /// - Ordering: Comparisons come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)-swift.method``.
    @inlinable
    @inline(__always)
    public func firstIndex<C: RandomAccessCollection & Sendable>(_ elements: C, of element: C.Element) -> C.Index?
    where C.Element: Equatable & Sendable {
        firstIndex(elements) { $0 == element }
    }
}

/// The shared result of a search: the lowest match or error so far.
@usableFromInline
final class Found<E: Error>: Sendable {
    /// The lowest offset with a match or an error, or `Int.max`. It only decreases.
    private let place = Atomic(Int.max)
    /// The error with the lowest offset.
    private let problem = Locked<(place: Int, error: E)?>(nil)

    @usableFromInline
    init() {}

    /// Whether a part that starts at `start` can be skipped, because an earlier match or error exists.
    @usableFromInline
    func isBefore(_ start: Int) -> Bool {
        place.load(ordering: .relaxed) < start // Relaxed: a stale value only costs extra work.
    }

    @usableFromInline
    func note(_ here: Int) {
        place.min(here, ordering: .relaxed) // Relaxed: the reader has joined all parts before.
    }

    @usableFromInline
    func note(_ here: Int, _ error: E) {
        problem.withLock { problem in
            if here < problem?.place ?? .max { problem = (here, error) }
        }
        note(here)
    }

    /// Searches a part up to its first match or error, and records that.
    @inlinable
    @inline(__always)
    func search<C: RandomAccessCollection>(
        _ elements: C, _ part: Range<Int>, _ isSo: (C.Element) throws(E) -> Bool
    ) {
        if isBefore(part.lowerBound) { return }
        var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
        for place in part {
            do throws(E) {
                if try isSo(elements[index]) { return note(place) }
            } catch {
                return note(place, error)
            }
            elements.formIndex(after: &index)
        }
    }

    /// Returns the lowest match, or throws the error if its offset is lower. Call after the join of all parts.
    @usableFromInline
    func end() throws(E) -> Int? {
        let place = place.load(ordering: .relaxed) // Relaxed: the caller has joined all parts before.
        if place == .max { return nil }
        if let problem = problem.withLock({ $0 }), problem.place == place { throw problem.error }
        return place
    }
}
