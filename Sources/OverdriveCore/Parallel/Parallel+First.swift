internal import Synchronization
// Searches, which end as soon as the result is known.

extension Parallel {
    /// The first element that a closure says yes to; nil for none.
    ///
    ///     let broken = try Parallel().first(files) { try !isWhole($0) }
    ///
    /// The same as of a search from front to back: of several the first, and an error only where nothing before it was found.
    /// So what runs is told of no error, and progress ends at the number of elements, whether they were looked at or not.
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - isSo: Called once for an element: for all before the result, and for some behind it.
    /// - Returns: The element.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: One allocation. Parts that have begun when an element is found continue for some microseconds, or one
    ///   element.
    @inlinable
    @inline(__always)
    public func first<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? {
        guard let place = try firstPlace(elements, isSo) else { return nil }
        return elements[elements.index(elements.startIndex, offsetBy: place)]
    }

    /// Whether a closure says yes to any element.
    ///
    ///     if Parallel().contains(words, where: { $0.isEmpty }) { … }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - isSo: Called once for an element, until it has said yes.
    /// - Returns: Whether there is one.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)``.
    @inlinable
    @inline(__always)
    public func contains<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try firstPlace(elements, isSo) != nil
    }

    /// Whether an element is there.
    ///
    ///     if Parallel().contains(samples, 0) { … }
    ///
    /// - Parameters:
    ///   - elements: What to search.
    ///   - element: What to look for.
    /// - Returns: Whether any equals it.
    /// - Ordering: Comparisons come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)``.
    @inlinable
    @inline(__always)
    public func contains<C: RandomAccessCollection & Sendable>(_ elements: C, _ element: C.Element) -> Bool
    where C.Element: Equatable & Sendable {
        firstPlace(elements) { $0 == element } != nil
    }

    /// Whether a closure says yes to all elements; it does where there are none.
    ///
    ///     let isOrdered = Parallel().allSatisfy(1..<count) { numbers[$0 - 1] <= numbers[$0] }
    ///
    /// - Parameters:
    ///   - elements: What to look at.
    ///   - isSo: Called once for an element, until it has said no.
    /// - Returns: Whether it has not.
    /// - Throws: The error of the first element for which the closure throws, or `CancellationError`.
    /// - Ordering: Calls come in any order, roughly from front to back.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``first(_:where:)``.
    @inlinable
    @inline(__always)
    public func allSatisfy<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try firstPlace(elements) { element throws(E) in try !isSo(element) } == nil
    }

    /// The first place whose element a closure says yes to.
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
}

/// What a search has found.
@usableFromInline
final class Found<E: Error>: Sendable {
    /// The lowest place, which only falls; greater than any for none.
    private let place = Atomic(Int.max)
    /// The error of the lowest place that had one.
    private let problem = Locked<(place: Int, error: E)?>(nil)

    @usableFromInline
    init() {}

    /// Whether a part that begins at `start` is not needed any more.
    @usableFromInline
    func isBefore(_ start: Int) -> Bool {
        place.load(ordering: .relaxed) < start // Relaxed: it only spares work.
    }

    @usableFromInline
    func note(_ here: Int) {
        place.min(here, ordering: .relaxed) // Relaxed: who asks for it has joined all parts.
    }

    @usableFromInline
    func note(_ here: Int, _ error: E) {
        problem.withLock { problem in
            if here < problem?.place ?? .max { problem = (here, error) }
        }
        note(here)
    }

    /// Looks at a part up to the first that is so, or throws.
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

    /// The lowest place of all parts, or its error.
    @usableFromInline
    func end() throws(E) -> Int? {
        let place = place.load(ordering: .relaxed) // Relaxed: as above.
        if place == .max { return nil }
        if let problem = problem.withLock({ $0 }), problem.place == place { throw problem.error }
        return place
    }
}
