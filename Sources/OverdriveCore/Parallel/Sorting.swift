// Owns the two sort algorithms, unstable and stable. `Parallel.sort` and `Parallel.stableSort` call it. It never
// copies elements; it moves them as bits, also when an order ends early.

/// A comparison order as a type, so that each sort is specialised with its comparison inlined.
@usableFromInline
protocol Order<Element>: Sendable {
    associatedtype Element
    func precedes(_ a: Element, _ b: Element) -> Bool
    /// Reports progress in half elements: each element is reported twice, in portions of some microseconds.
    func isDone(halves: Int)
}

extension Order {
    @inlinable
    @inline(__always)
    func isDone(halves: Int) {}
}

/// The order of the elements' `<`.
@usableFromInline
struct Ascending<Element: Comparable>: Order {
    @inlinable init() {}

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { a < b }
}

/// The order of a closure.
@usableFromInline
struct OrderBy<Element>: Order {
    @usableFromInline let closure: @Sendable (Element, Element) -> Bool

    @inlinable
    init(_ closure: @escaping @Sendable (Element, Element) -> Bool) { self.closure = closure }

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { closure(a, b) }
}

/// The order of a closure that may end early, with the progress of its effort.
@usableFromInline
struct OrderOfEffort<Element, E: Error>: Order {
    @usableFromInline let closure: @Sendable (Element, Element) -> Bool
    @usableFromInline let effort: Effort<E>

    @inlinable
    init(_ closure: @escaping @Sendable (Element, Element) -> Bool, _ effort: Effort<E>) {
        self.closure = closure
        self.effort = effort
    }

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { closure(a, b) }

    @inlinable
    @inline(__always)
    func isDone(halves: Int) { effort.isDone(halves: halves) }
}

/// The unstable and the stable sort. Both move elements as bits and never copy them, so reference counts do not
/// change.
///
/// The unstable sort is a quicksort whose partition has no data-dependent branch. It uses the cyclic Lomuto scheme, which
/// Orson Peters describes for the successors of pdqsort (2021). The pivot choice and the fallback to heapsort come from
/// pdqsort (Peters, 2021, §3). The stable sort is a merge sort, whose merges have no data-dependent branch either. Both
/// fork one half of their work.
@usableFromInline
enum Sorting {
    /// The maximum number of elements for an insertion sort.
    @usableFromInline static var small: Int { 24 }
    /// The minimum number of elements for a fork.
    @usableFromInline static var alone: Int { 2048 }

    /// Returns whether the range is sorted, after reversing it if it was strictly descending. Stops at the first pair
    /// that contradicts.
    @inlinable
    @inline(__always)
    static func isOrdered<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        var i = 1
        if unsafe order.precedes(base[1], base[0]) {
            // Only a strictly descending range is reversed, so that equal elements keep their order.
            while unsafe i < count && order.precedes(base[i], base[i - 1]) { i += 1 }
            guard i == count else { return false }
            var (low, high) = (0, count - 1)
            while low < high {
                unsafe swap(base + low, base + high)
                low += 1
                high -= 1
            }
            return true
        }
        while unsafe i < count && !order.precedes(base[i], base[i - 1]) { i += 1 }
        return i == count
    }

    /// Sorts strings in their own order with the string sort. Returns false if elements or order are others.
    @inlinable
    @inline(__always)
    static func sortsAsStrings<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        guard O.self == Ascending<String>.self, count >= StringSorting.least else { return false }
        return unsafe StringSorting.sort(UnsafeMutableRawPointer(base).assumingMemoryBound(to: String.self), count)
    }

    /// Sorts a few elements by insertion; equal elements keep their order.
    @inlinable
    @inline(__always)
    static func insertion<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        var i = 1
        while i < count {
            if unsafe order.precedes(base[i], base[i - 1]) {
                let element = unsafe (base + i).move()
                var hole = i
                repeat {
                    unsafe (base + hole).moveInitialize(from: base + hole - 1, count: 1)
                    hole -= 1
                } while unsafe hole > 0 && order.precedes(element, base[hole - 1])
                unsafe (base + hole).initialize(to: element)
            }
            i += 1
        }
    }

    /// Calls the stable or the unstable sort.
    @inlinable
    @inline(__always)
    static func sort<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O, keepsOrder: Bool
    ) {
        if keepsOrder { unsafe stable(base, count, order) } else { unsafe unstable(base, count, order) }
    }

    // MARK: - Unstable

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

    // MARK: - Stable

    @inlinable
    static func stable<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) {
        if count <= small {
            unsafe insertion(base, count, order)
            return order.isDone(halves: 2 * count)
        }
        if unsafe isOrdered(base, count, order) { return order.isDone(halves: 2 * count) }
        if unsafe sortsAsStrings(base, count, order) { return }
        let room = UnsafeMutablePointer<Element>.allocate(capacity: count)
        defer { unsafe room.deallocate() }
        unsafe mergeSort(base, count, room, intoRoom: false, isLast: true, order)
        if count < alone { order.isDone(halves: 2 * count) }
    }

    /// Sorts `base` by merging. The result is in `room` if `intoRoom`, else in `base`; the other memory is then
    /// uninitialised. `room` is uninitialised at the start.
    ///
    /// Progress: an element counts half when its unforked range is sorted, and half in the last merge.
    @inlinable
    static func mergeSort<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ room: UnsafeMutablePointer<Element>,
        intoRoom: Bool, isLast: Bool, _ order: O
    ) {
        if count <= small {
            unsafe insertion(base, count, order)
            if intoRoom { unsafe room.moveInitialize(from: base, count: count) }
            return
        }
        let half = count / 2
        if count < alone {
            unsafe mergeSort(base, half, room, intoRoom: !intoRoom, isLast: false, order)
            unsafe mergeSort(base + half, count - half, room + half, intoRoom: !intoRoom, isLast: false, order)
        } else {
            Parallel.both {
                unsafe mergeSort(base, half, room, intoRoom: !intoRoom, isLast: false, order)
                if half < alone { order.isDone(halves: half) }
            } _: {
                unsafe mergeSort(base + half, count - half, room + half, intoRoom: !intoRoom, isLast: false, order)
                if count - half < alone { order.isDone(halves: count - half) }
            }
        }
        let from = unsafe intoRoom ? base : room, to = unsafe intoRoom ? room : base
        unsafe merge(from, half, from + half, count - half, to, isLast: isLast && count >= alone, order)
    }

    /// Moves two sorted ranges to one sorted range. Equal elements of the left range come first.
    @inlinable
    static func merge<Element, O: Order<Element>>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ to: UnsafeMutablePointer<Element>, isLast: Bool, _ order: O
    ) {
        if leftCount + rightCount < 8 * alone || leftCount == 0 || rightCount == 0 {
            unsafe mergeHere(left, leftCount, right, rightCount, to, order)
            if isLast { order.isDone(halves: leftCount + rightCount) }
            return
        }
        let (leftCut, cut) = unsafe leftCount >= rightCount
            ? (leftCount / 2, firstPlace(right, rightCount) { unsafe !order.precedes($0, left[leftCount / 2]) })
            : unsafe (firstPlace(left, leftCount) { unsafe order.precedes(right[rightCount / 2], $0) }, rightCount / 2)
        Parallel.both {
            unsafe merge(left, leftCut, right, cut, to, isLast: isLast, order)
        } _: {
            unsafe merge(
                left + leftCut, leftCount - leftCut, right + cut, rightCount - cut, to + leftCut + cut,
                isLast: isLast, order)
        }
    }

    /// Returns the first offset of a sorted range at which `isSo` is true; it is then true for all later elements.
    @inlinable
    static func firstPlace<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, where isSo: (Element) -> Bool
    ) -> Int {
        var first = 0, end = count
        while first < end {
            let probe = (first + end) / 2
            if unsafe isSo(base[probe]) { end = probe } else { first = probe + 1 }
        }
        return first
    }

    @inlinable
    @inline(__always)
    static func mergeHere<Element, O: Order<Element>>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ to: UnsafeMutablePointer<Element>, _ order: O
    ) {
        var left = unsafe left, right = unsafe right, to = unsafe to
        let leftEnd = unsafe left + leftCount, rightEnd = unsafe right + rightCount
        while unsafe left < leftEnd && right < rightEnd {
            let takesRight = unsafe order.precedes(right.pointee, left.pointee)
            unsafe to.moveInitialize(from: takesRight ? right : left, count: 1)
            unsafe to += 1
            unsafe right += takesRight ? 1 : 0
            unsafe left += takesRight ? 0 : 1
        }
        unsafe to.moveInitialize(from: left, count: leftEnd - left)
        unsafe to += leftEnd - left
        unsafe to.moveInitialize(from: right, count: rightEnd - right)
    }
}
