// The static forms: each operation with the default settings, as `Parallel()` has it. The instance form says what it does.

// MARK: - Loops and collecting

extension Parallel {
    /// Calls a closure for parts of a range.
    ///
    /// The short form of ``forEachChunk(_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func forEachChunk<E: Error>(
        _ range: Range<Int>, _ body: @Sendable (Range<Int>) throws(E) -> Void
    ) throws(E) {
        try Parallel().forEachChunk(range, body)
    }

    /// Calls a closure for parts of a range, with a scratch value for each worker.
    ///
    /// The short form of ``forEachChunk(_:scratch:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func forEachChunk<Scratch: Sendable, E: Error>(
        _ range: Range<Int>, scratch: @Sendable () -> Scratch,
        _ body: @Sendable (Range<Int>, inout Scratch) throws(E) -> Void
    ) throws(E) {
        try Parallel().forEachChunk(range, scratch: scratch, body)
    }

    /// Calls a closure for each element of an array, which the closure may change.
    ///
    /// The short form of ``forEach(mutating:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func forEach<Element: Sendable, E: Error>(
        mutating array: inout [Element], _ body: @Sendable (Int, inout Element) throws(E) -> Void
    ) throws(E) {
        try Parallel().forEach(mutating: &array, body)
    }

    /// Calls a closure for each span of an array, which the closure may change.
    ///
    /// The short form of ``chunks(of:size:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func chunks<Element: Sendable, E: Error>(
        of array: inout [Element], size: Int, _ body: @Sendable (Int, inout MutableSpan<Element>) throws(E) -> Void
    ) throws(E) {
        try Parallel().chunks(of: &array, size: size, body)
    }

    /// The running combinations of the elements.
    ///
    /// The short form of ``scan(_:_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func scan<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ identity: C.Element, _ combine: @Sendable (C.Element, C.Element) throws(E) -> C.Element
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        try Parallel().scan(elements, identity, combine)
    }

    /// The elements that a closure says yes to, in their order.
    ///
    /// The short form of ``filter(_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func filter<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isIncluded: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        try Parallel().filter(elements, isIncluded)
    }

    /// The results of a closure that are not nil, in the order of the elements.
    ///
    /// The short form of ``compactMap(_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func compactMap<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> R?
    ) throws(E) -> [R] {
        try Parallel().compactMap(elements, transform)
    }

    /// The elements of the results of a closure, in the order of the elements.
    ///
    /// The short form of ``flatMap(_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func flatMap<C: RandomAccessCollection & Sendable, S: Sequence, E: Error>(
        _ elements: C, _ transform: @Sendable (C.Element) throws(E) -> S
    ) throws(E) -> [S.Element] where S.Element: Sendable {
        try Parallel().flatMap(elements, transform)
    }

    /// The elements by key, each group in the order of the elements.
    ///
    /// The short form of ``grouping(_:by:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func grouping<C: RandomAccessCollection & Sendable, Key: Hashable & Sendable, E: Error>(
        _ elements: C, by key: @Sendable (C.Element) throws(E) -> Key
    ) throws(E) -> [Key: [C.Element]] where C.Element: Sendable {
        try Parallel().grouping(elements, by: key)
    }

    /// Combines the elements into values that are changed in place.
    ///
    /// The short form of ``reduce(_:into:_:combine:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func reduce<C: RandomAccessCollection & Sendable, R: Sendable, E: Error>(
        _ elements: C, into initial: R, _ update: @Sendable (inout R, C.Element) throws(E) -> Void,
        combine: @Sendable (inout R, R) throws(E) -> Void
    ) throws(E) -> R {
        try Parallel().reduce(elements, into: initial, update, combine: combine)
    }
}

// MARK: - Searching

extension Parallel {
    /// The first element that a closure says yes to; nil for none.
    ///
    /// The short form of ``first(_:where:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func first<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? {
        try Parallel().first(elements, where: isSo)
    }

    /// Whether a closure says yes to any element.
    ///
    /// The short form of ``contains(_:where:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func contains<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try Parallel().contains(elements, where: isSo)
    }

    /// Whether an element is there.
    ///
    /// The short form of ``contains(_:_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func contains<C: RandomAccessCollection & Sendable>(_ elements: C, _ element: C.Element) -> Bool
    where C.Element: Equatable & Sendable {
        Parallel().contains(elements, element)
    }

    /// Whether a closure says yes to all elements.
    ///
    /// The short form of ``allSatisfy(_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func allSatisfy<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, _ isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Bool {
        try Parallel().allSatisfy(elements, isSo)
    }

    /// The smallest element, the first of several; nil for none.
    ///
    /// The short form of ``min(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func min<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        Parallel().min(elements)
    }

    /// The first element that no other comes before, in an order of your own; nil for none.
    ///
    /// The short form of `Parallel().min(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func min<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        try Parallel().min(elements, by: precedes)
    }

    /// The largest element, the first of several; nil for none.
    ///
    /// The short form of ``max(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func max<C: RandomAccessCollection & Sendable>(_ elements: C) -> C.Element?
    where C.Element: Comparable & Sendable {
        Parallel().max(elements)
    }

    /// The first element that comes before no other, in an order of your own; nil for none.
    ///
    /// The short form of `Parallel().max(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func max<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> C.Element? where C.Element: Sendable {
        try Parallel().max(elements, by: precedes)
    }

    /// The element with the smallest value at a key path, the first of several; nil for none.
    ///
    /// The short form of `Parallel().min(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func min<C: RandomAccessCollection & Sendable, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> C.Element? where C.Element: Sendable {
        Parallel().min(elements, by: key)
    }

    /// The element with the largest value at a key path, the first of several; nil for none.
    ///
    /// The short form of `Parallel().max(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func max<C: RandomAccessCollection & Sendable, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> C.Element? where C.Element: Sendable {
        Parallel().max(elements, by: key)
    }

    /// The smallest and the largest element; nil for none.
    ///
    /// The short form of ``minmax(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func minmax<C: RandomAccessCollection & Sendable>(_ elements: C) -> (min: C.Element, max: C.Element)?
    where C.Element: Comparable & Sendable {
        Parallel().minmax(elements)
    }

    /// The elements that no other comes before, and that come before no other, in an order of your own; nil for none.
    ///
    /// The short form of `Parallel().minmax(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func minmax<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> (min: C.Element, max: C.Element)? where C.Element: Sendable {
        try Parallel().minmax(elements, by: precedes)
    }

    /// The index of the first element that a closure says yes to; nil for none.
    ///
    /// The short form of ``firstIndex(_:where:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func firstIndex<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> C.Index? {
        try Parallel().firstIndex(elements, where: isSo)
    }

    /// The index of the first element that equals another; nil for none.
    ///
    /// The short form of ``firstIndex(_:of:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func firstIndex<C: RandomAccessCollection & Sendable>(_ elements: C, of element: C.Element) -> C.Index?
    where C.Element: Equatable & Sendable {
        Parallel().firstIndex(elements, of: element)
    }

    /// The number of elements that a closure says yes to.
    ///
    /// The short form of ``count(_:where:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func count<C: RandomAccessCollection & Sendable, E: Error>(
        _ elements: C, where isSo: @Sendable (C.Element) throws(E) -> Bool
    ) throws(E) -> Int {
        try Parallel().count(elements, where: isSo)
    }
}

// MARK: - Sorting

extension Parallel {
    /// Sorts an array in place; equal elements may change places.
    ///
    /// The short form of ``sort(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func sort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        Parallel().sort(&array)
    }

    /// Sorts an array in place by an order of your own; equal elements may change places.
    ///
    /// The short form of `Parallel().sort(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func sort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try Parallel().sort(&array, by: precedes)
    }

    /// Sorts an array in place by the values at a key path; equal elements may change places.
    ///
    /// The short form of `Parallel().sort(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func sort<Element: Sendable, Key: Comparable & Sendable>(
        _ array: inout [Element], by key: any KeyPath<Element, Key> & Sendable
    ) {
        Parallel().sort(&array, by: key)
    }

    /// The elements of a collection in ascending order; equal ones may change places.
    ///
    /// The short form of ``sorted(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func sorted<C: Collection>(_ elements: C) -> [C.Element] where C.Element: Comparable & Sendable {
        Parallel().sorted(elements)
    }

    /// The elements of a collection in an order of your own; equal ones may change places.
    ///
    /// The short form of `Parallel().sorted(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func sorted<C: Collection, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        try Parallel().sorted(elements, by: precedes)
    }

    /// Sorts an array in place; equal elements keep their order.
    ///
    /// The short form of ``stableSort(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func stableSort<Element: Comparable & Sendable>(_ array: inout [Element]) {
        Parallel().stableSort(&array)
    }

    /// Sorts an array in place by an order of your own; equal elements keep their order.
    ///
    /// The short form of `Parallel().stableSort(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func stableSort<Element: Sendable, E: Error>(
        _ array: inout [Element], by precedes: @Sendable (Element, Element) throws(E) -> Bool
    ) throws(E) {
        try Parallel().stableSort(&array, by: precedes)
    }

    /// Sorts an array in place by the values at a key path; elements with equal keys keep their order.
    ///
    /// The short form of `Parallel().stableSort(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func stableSort<Element: Sendable, Key: Comparable & Sendable>(
        _ array: inout [Element], by key: any KeyPath<Element, Key> & Sendable
    ) {
        Parallel().stableSort(&array, by: key)
    }

    /// The elements of a collection in ascending order; equal ones keep their order.
    ///
    /// The short form of ``stableSorted(_:)-swift.method``, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func stableSorted<C: Collection>(_ elements: C) -> [C.Element] where C.Element: Comparable & Sendable {
        Parallel().stableSorted(elements)
    }

    /// The elements of a collection in an order of your own; equal ones keep their order.
    ///
    /// The short form of `Parallel().stableSorted(…by:)`, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func stableSorted<C: Collection, E: Error>(
        _ elements: C, by precedes: @Sendable (C.Element, C.Element) throws(E) -> Bool
    ) throws(E) -> [C.Element] where C.Element: Sendable {
        try Parallel().stableSorted(elements, by: precedes)
    }

    /// The elements of a collection in the order of the values at a key path; equal ones keep their order.
    ///
    /// The short form of `Parallel().stableSorted(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func stableSorted<C: Collection, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> [C.Element] where C.Element: Sendable {
        Parallel().stableSorted(elements, by: key)
    }

    /// The elements of a collection in the order of the values at a key path; equal ones may change places.
    ///
    /// The short form of `Parallel().sorted(…by:)`, with the default settings.
    ///
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func sorted<C: Collection, Key: Comparable & Sendable>(
        _ elements: C, by key: any KeyPath<C.Element, Key> & Sendable
    ) -> [C.Element] where C.Element: Sendable {
        Parallel().sorted(elements, by: key)
    }
}

// MARK: - Divide and conquer

extension Parallel {
    /// Runs a closure once for each of a few numbers, at the same time if workers are free.
    ///
    /// The short form of ``invoke(count:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func invoke<E: Error>(count: Int, _ body: @Sendable (Int) throws(E) -> Void) throws(E) {
        try Parallel().invoke(count: count, body)
    }

    /// Runs three closures, at the same time if workers are free. (Two are a join.)
    ///
    /// The short form of ``invoke(_:_:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    @inline(__always)
    public static func invoke<E: Error>(
        _ a: @Sendable () throws(E) -> Void, _ b: @Sendable () throws(E) -> Void, _ c: @Sendable () throws(E) -> Void
    ) throws(E) {
        try Parallel().invoke(a, b, c)
    }

    /// Forks a number of closures that the body decides; the first error ends them.
    ///
    /// The short form of ``scope(throwing:_:)-swift.method``, with the default settings.
    ///
    /// - Throws: As of the instance form.
    /// - Ordering: As of the instance form.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As of the instance form.
    @inlinable
    public static func scope<R, E: Error>(
        throwing type: E.Type, _ body: (inout ThrowingScope<E>) throws(E) -> R
    ) throws(E) -> R {
        try Parallel().scope(throwing: type, body)
    }
}
