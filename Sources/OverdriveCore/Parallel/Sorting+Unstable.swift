// Owns the unstable sort: a quicksort that forks one half of its work. `Sorting.sort` calls it. It never copies elements.
//
// The partition has no data-dependent branch. It uses the cyclic Lomuto scheme, which Orson Peters describes for the
// successors of pdqsort (2021). The pivot choice and the fallback to heapsort come from pdqsort (Peters, 2021, §3).

extension Sorting {
    @inlinable
    static func unstable<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        if unsafe count > small && isOrdered(base, count, order) { return order.isDone(halves: 2 * count) }
        if unsafe sortsAsStrings(base, count, order) { return }
        unsafe quick(base, count, order, hasLeft: false, badLeft: Int.bitWidth - count.leadingZeroBitCount)
        if count < alone { order.isDone(halves: 2 * count) }
    }

    /// Sorts a range by quicksort.
    ///
    /// - Parameters:
    ///   - hasLeft: True if the element before `base` is an earlier pivot, not greater than any element of the range.
    ///     If it equals the new pivot, the elements equal to the pivot are final.
    ///   - badLeft: The number of further unbalanced partitions before heapsort takes over.
    ///
    /// A call with ``alone`` or more elements reports its progress; for smaller ranges, the caller that split them
    /// off does.
    @inlinable
    static func quick<Element, O: Order<Element>>(
        _ start: UnsafeMutablePointer<Element>, _ length: Int, _ order: O,
        hasLeft: Bool, badLeft: Int
    ) {
        var base = unsafe start, count = length, hasLeft = hasLeft, badLeft = badLeft
        while count > small {
            unsafe choosePivot(base, count, order)
            if unsafe hasLeft && !order.precedes(base[-1], base[0]) {
                // All elements equal to the pivot are now in their final place.
                let equals = unsafe partition(base, count) { pivot, element in !order.precedes(pivot, element) }
                unsafe base += equals + 1
                count -= equals + 1
                continue
            }
            let middle = unsafe partition(base, count) { pivot, element in order.precedes(element, pivot) }
            if Swift.min(middle, count - middle) < count / 8 {
                badLeft -= 1
                if badLeft == 0 {
                    unsafe heap(base, count, order)
                    if length >= alone { order.isDone(halves: 2 * length) }
                    return
                }
                unsafe scatter(base, middle)
                unsafe scatter(base + middle + 1, count - middle - 1)
            }
            let right = unsafe base + middle + 1, rightCount = count - middle - 1
            if count < alone {
                unsafe quick(base, middle, order, hasLeft: hasLeft, badLeft: badLeft)
            } else {
                order.isDone(halves: 2 * (length - middle - rightCount))
                unsafe fork(base, middle, right, rightCount, order, hasLeft, badLeft)
                return
            }
            unsafe (base, count, hasLeft) = unsafe (right, rightCount, true)
        }
        unsafe insertion(base, count, order)
        if length >= alone { order.isDone(halves: 2 * length) }
    }

    @inlinable
    static func fork<Element, O: Order<Element>>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ order: O, _ hasLeft: Bool, _ badLeft: Int
    ) {
        Parallel.both {
            unsafe quick(left, leftCount, order, hasLeft: hasLeft, badLeft: badLeft)
            if leftCount < alone { order.isDone(halves: 2 * leftCount) }
        } _: {
            unsafe quick(right, rightCount, order, hasLeft: true, badLeft: badLeft)
            if rightCount < alone { order.isDone(halves: 2 * rightCount) }
        }
    }

    /// Moves the median of 3 elements to the front, or a median of 9 for more than 128 elements.
    @inlinable
    @inline(__always)
    static func choosePivot<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        func exchange(_ a: Int, _ b: Int) {
            if unsafe order.precedes(base[b], base[a]) { unsafe swap(base + a, base + b) }
        }
        let middle = count / 2
        if count > 128 {
            for shift in -1...1 {
                exchange(1 + shift, middle + shift)
                exchange(middle + shift, count - 2 + shift)
                exchange(1 + shift, middle + shift)
            }
            exchange(middle - 1, middle)
            exchange(middle, middle + 1)
            exchange(middle - 1, middle)
        } else {
            exchange(0, middle)
            exchange(middle, count - 1)
            exchange(0, middle)
        }
        unsafe swap(base, base + middle)
    }

    /// Partitions a range around its pivot, `base[0]`: elements for which `goesLeft` returns true come before the
    /// pivot. Returns the new offset of the pivot.
    ///
    /// One element is held out, which leaves a hole. Each step moves the first element of the right part to the hole,
    /// and the next element to the freed place. If that element belongs to the left part, the left part grows by one.
    /// An element may move onto its own place, since a check would cost more.
    @inlinable
    @inline(__always)
    static func partition<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ goesLeft: (Element, Element) -> Bool
    ) -> Int {
        if _isPOD(Element.self) { return unsafe partitionBits(base, count, goesLeft) }
        let pivot = unsafe base.move()
        let first = unsafe base + 1
        let held = unsafe first.move()
        var left = 0, next = 1
        let end = count - 1
        while next < end {
            unsafe (first + (next - 1)).moveInitialize(from: first + left, count: 1)
            unsafe (first + left).moveInitialize(from: first + next, count: 1)
            unsafe left += goesLeft(pivot, first[left]) ? 1 : 0
            next += 1
        }
        unsafe (first + (next - 1)).moveInitialize(from: first + left, count: 1)
        unsafe (first + left).initialize(to: held)
        unsafe left += goesLeft(pivot, first[left]) ? 1 : 0
        // first[0..<left] belongs left of the pivot. Its last element moves to the front, and the pivot takes its
        // place.
        unsafe base.moveInitialize(from: base + left, count: 1)
        unsafe (base + left).initialize(to: pivot)
        return left
    }

    /// Partitions elements without references, which may be copied as bits.
    @inlinable
    @inline(__always)
    static func partitionBits<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ goesLeft: (Element, Element) -> Bool
    ) -> Int {
        let pivot = unsafe base.pointee
        let first = unsafe base + 1
        let held = unsafe first.pointee
        var left = unsafe first, next = unsafe first + 1
        let end = unsafe base + count
        func step() {
            let element = unsafe next.pointee
            unsafe (next - 1).pointee = unsafe left.pointee
            unsafe left.pointee = element
            unsafe left += goesLeft(pivot, element) ? 1 : 0
            unsafe next += 1
        }
        while unsafe end - next >= 4 {
            step()
            step()
            step()
            step()
        }
        while unsafe next < end { step() }
        unsafe (next - 1).pointee = unsafe left.pointee
        unsafe left.pointee = held
        unsafe left += goesLeft(pivot, held) ? 1 : 0
        unsafe base.pointee = (left - 1).pointee
        unsafe (left - 1).pointee = pivot
        return unsafe left - first
    }

    @inlinable
    @inline(__always)
    static func swap<Element>(_ a: UnsafeMutablePointer<Element>, _ b: UnsafeMutablePointer<Element>) {
        let held = unsafe a.move()
        unsafe a.moveInitialize(from: b, count: 1)
        unsafe b.initialize(to: held)
    }

    /// Swaps some elements, to break a pattern that made a partition unbalanced.
    @inlinable
    static func scatter<Element>(_ base: UnsafeMutablePointer<Element>, _ count: Int) {
        guard count > small else { return }
        let quarter = count / 4
        unsafe swap(base, base + quarter)
        unsafe swap(base + count - 1, base + count - quarter)
        unsafe swap(base + count / 2, base + count / 2 - quarter / 2)
    }

    @inlinable
    static func heap<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        func sift(_ root: Int, _ end: Int) {
            var root = root
            while 2 * root + 1 < end {
                var child = 2 * root + 1
                if unsafe child + 1 < end && order.precedes(base[child], base[child + 1]) { child += 1 }
                if unsafe !order.precedes(base[root], base[child]) { return }
                unsafe swap(base + root, base + child)
                root = child
            }
        }
        var root = count / 2
        while root > 0 {
            root -= 1
            sift(root, count)
        }
        var end = count
        while end > 1 {
            end -= 1
            unsafe swap(base, base + end)
            sift(0, end)
        }
    }
}
