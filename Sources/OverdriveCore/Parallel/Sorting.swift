/// An order as a type, so that each gets its own specialised code, comparisons inlined.
@usableFromInline
protocol Order<Element>: Sendable {
    associatedtype Element
    func precedes(_ a: Element, _ b: Element) -> Bool
    /// So many elements are done by half. Every element is twice, in portions of some microseconds.
    func isDone(halves: Int)
}

extension Order {
    @inlinable
    @inline(__always)
    func isDone(halves: Int) {}
}

/// The elements' own.
@usableFromInline
struct Ascending<Element: Comparable>: Order {
    @inlinable init() {}

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { a < b }
}

/// A closure's.
@usableFromInline
struct OrderBy<Element>: Order {
    @usableFromInline let closure: @Sendable (Element, Element) -> Bool

    @inlinable
    init(_ closure: @escaping @Sendable (Element, Element) -> Bool) { self.closure = closure }

    @inlinable
    @inline(__always)
    func precedes(_ a: Element, _ b: Element) -> Bool { closure(a, b) }
}

/// A closure's that may end early, with the effort's progress.
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

/// The two sorts. Elements are moved as bits and never copied, so that no reference is counted.
///
/// Unstable: a quicksort whose partition has no branch that depends on data (Lomuto's scheme, cyclic, as Orson
/// Peters describes it for pdqsort's successors, 2021), with the pivots and the escape to heapsort of pdqsort
/// (Peters, 2021, §3). Stable: a merge sort whose merges have none either. Both give halves to whoever is free.
@usableFromInline
enum Sorting {
    /// Ranges of this size are sorted by insertion.
    @usableFromInline static var small: Int { 24 }
    /// Ranges below this are not worth a fork.
    @usableFromInline static var alone: Int { 2048 }

    /// Whether the range is in order, or made so by turning it round. Looks no further than the first
    /// neighbours that say otherwise.
    @inlinable
    @inline(__always)
    static func isOrdered<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        var i = 1
        if unsafe order.precedes(base[1], base[0]) {
            // Strictly descending only: turning round must not exchange equals.
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

    /// Whether these are strings in their own order, and have been sorted as such.
    @inlinable
    @inline(__always)
    static func sortsAsStrings<Element, O: Order<Element>>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ order: O
    ) -> Bool {
        guard O.self == Ascending<String>.self, count >= StringSorting.least else { return false }
        return unsafe StringSorting.sort(UnsafeMutableRawPointer(base).assumingMemoryBound(to: String.self), count)
    }

    /// Sorts a few elements; equal ones keep their order.
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

    /// The two sorts are one but for this word.
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

    /// - Parameters:
    ///   - hasLeft: The element before `base` is not greater than any here: a pivot, if equal to ours, that ends
    ///     this range's own equals.
    ///   - badLeft: So many more partitions may be lopsided before heapsort takes over.
    ///
    /// Ranges of ``alone`` elements or more say here how many are done, smaller ones where they were cut off.
    @inlinable
    static func quick<Element, O: Order<Element>>(
        _ start: UnsafeMutablePointer<Element>, _ length: Int, _ order: O,
        hasLeft: Bool, badLeft: Int
    ) {
        var base = unsafe start, count = length, hasLeft = hasLeft, badLeft = badLeft
        while count > small {
            unsafe choosePivot(base, count, order)
            if unsafe hasLeft && !order.precedes(base[-1], base[0]) {
                // Everything that equals the pivot is in its place at once.
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

    /// Brings a median of three, or of nine, to the front.
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

    /// Moves what `goesLeft` of the pivot, `base[0]`, before everything else and the pivot between the two.
    /// Returns the pivot's new place.
    ///
    /// (Moving an element onto its own place is allowed, and costs less than asking.)
    ///
    /// One element is held out, which leaves a hole. Each step moves the first of the right part into the hole
    /// and the next element into its place; the left part grows if that element belongs there.
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
        // first[0..<left] goes left of the pivot: the last of it makes room at the front.
        unsafe base.moveInitialize(from: base + left, count: 1)
        unsafe (base + left).initialize(to: pivot)
        return left
    }

    /// The same for elements that may be copied as they are.
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

    /// Breaks up a pattern that made a partition lopsided.
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

    /// Sorts `base`; the result lies there, or in `room`, which has no elements before and, or else `base` has
    /// none, after. Elements are done by half when they are in a run that was sorted alone, and again in the last
    /// merge.
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

    /// Moves two ordered ranges into one; of equals, the left ones come first.
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

    /// The first place of an ordered range whose element, and all after it, are so.
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
