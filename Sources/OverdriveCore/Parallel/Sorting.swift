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
    static func isOrdered<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) -> Bool {
        var i = 1
        if precedes(base[1], base[0]) {
            // Strictly descending only: turning round must not exchange equals.
            while i < count && precedes(base[i], base[i - 1]) { i += 1 }
            guard i == count else { return false }
            var (low, high) = (0, count - 1)
            while low < high {
                swap(base + low, base + high)
                low += 1
                high -= 1
            }
            return true
        }
        while i < count && !precedes(base[i], base[i - 1]) { i += 1 }
        return i == count
    }

    /// Sorts a few elements; equal ones keep their order.
    @inlinable
    @inline(__always)
    static func insertion<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) {
        var i = 1
        while i < count {
            if precedes(base[i], base[i - 1]) {
                let element = (base + i).move()
                var hole = i
                repeat {
                    (base + hole).moveInitialize(from: base + hole - 1, count: 1)
                    hole -= 1
                } while hole > 0 && precedes(element, base[hole - 1])
                (base + hole).initialize(to: element)
            }
            i += 1
        }
    }

    // MARK: - Unstable

    @inlinable
    static func unstable<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) {
        if count > small && isOrdered(base, count, precedes) { return }
        quick(base, count, precedes, hasLeft: false, badLeft: Int.bitWidth - count.leadingZeroBitCount)
    }

    /// - Parameters:
    ///   - hasLeft: The element before `base` is not greater than any here: a pivot, if equal to ours, that ends
    ///     this range's own equals.
    ///   - badLeft: So many more partitions may be lopsided before heapsort takes over.
    @inlinable
    static func quick<Element>(
        _ start: UnsafeMutablePointer<Element>, _ length: Int, _ precedes: (Element, Element) -> Bool,
        hasLeft: Bool, badLeft: Int
    ) {
        var base = start, count = length, hasLeft = hasLeft, badLeft = badLeft
        while count > small {
            choosePivot(base, count, precedes)
            if hasLeft && !precedes(base[-1], base[0]) {
                // Everything that equals the pivot is in its place at once.
                let equals = partition(base, count) { pivot, element in !precedes(pivot, element) }
                base += equals + 1
                count -= equals + 1
                continue
            }
            let middle = partition(base, count) { pivot, element in precedes(element, pivot) }
            if Swift.min(middle, count - middle) < count / 8 {
                badLeft -= 1
                if badLeft == 0 {
                    heap(base, count, precedes)
                    return
                }
                scatter(base, middle)
                scatter(base + middle + 1, count - middle - 1)
            }
            let right = base + middle + 1, rightCount = count - middle - 1
            if count < alone {
                quick(base, middle, precedes, hasLeft: hasLeft, badLeft: badLeft)
            } else {
                fork(base, middle, right, rightCount, precedes, hasLeft, badLeft)
                return
            }
            (base, count, hasLeft) = (right, rightCount, true)
        }
        insertion(base, count, precedes)
    }

    @inlinable
    static func fork<Element>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ precedes: (Element, Element) -> Bool, _ hasLeft: Bool, _ badLeft: Int
    ) {
        Parallel.both {
            quick(left, leftCount, precedes, hasLeft: hasLeft, badLeft: badLeft)
        } _: {
            quick(right, rightCount, precedes, hasLeft: true, badLeft: badLeft)
        }
    }

    /// Brings a median of three, or of nine, to the front.
    @inlinable
    @inline(__always)
    static func choosePivot<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) {
        func order(_ a: Int, _ b: Int) {
            if precedes(base[b], base[a]) { swap(base + a, base + b) }
        }
        let middle = count / 2
        if count > 128 {
            for shift in -1...1 {
                order(1 + shift, middle + shift)
                order(middle + shift, count - 2 + shift)
                order(1 + shift, middle + shift)
            }
            order(middle - 1, middle)
            order(middle, middle + 1)
            order(middle - 1, middle)
        } else {
            order(0, middle)
            order(middle, count - 1)
            order(0, middle)
        }
        swap(base, base + middle)
    }

    /// Moves what `goesLeft` of the pivot, `base[0]`, before everything else and the pivot between the two.
    /// Returns the pivot's new place.
    ///
    /// One element is held out, which leaves a hole. Each step moves the first of the right part into the hole
    /// and the next element into its place; the left part grows if that element belongs there.
    @inlinable
    @inline(__always)
    static func partition<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ goesLeft: (Element, Element) -> Bool
    ) -> Int {
        let pivot = base.move()
        let first = base + 1
        let held = first.move()
        var left = 0, next = 1
        let end = count - 1
        while next < end {
            (first + (next - 1)).moveInitialize(from: first + left, count: left == next - 1 ? 0 : 1)
            (first + left).moveInitialize(from: first + next, count: 1)
            left += goesLeft(pivot, first[left]) ? 1 : 0
            next += 1
        }
        (first + (next - 1)).moveInitialize(from: first + left, count: left == next - 1 ? 0 : 1)
        (first + left).initialize(to: held)
        left += goesLeft(pivot, first[left]) ? 1 : 0
        // first[0..<left] goes left of the pivot: the last of it makes room at the front.
        base.moveInitialize(from: base + left, count: left == 0 ? 0 : 1)
        (base + left).initialize(to: pivot)
        return left
    }

    @inlinable
    @inline(__always)
    static func swap<Element>(_ a: UnsafeMutablePointer<Element>, _ b: UnsafeMutablePointer<Element>) {
        let held = a.move()
        if a != b { a.moveInitialize(from: b, count: 1) }
        b.initialize(to: held)
    }

    /// Breaks up a pattern that made a partition lopsided.
    @inlinable
    static func scatter<Element>(_ base: UnsafeMutablePointer<Element>, _ count: Int) {
        guard count > small else { return }
        let quarter = count / 4
        swap(base, base + quarter)
        swap(base + count - 1, base + count - quarter)
        swap(base + count / 2, base + count / 2 - quarter / 2)
    }

    @inlinable
    static func heap<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) {
        func sift(_ root: Int, _ end: Int) {
            var root = root
            while 2 * root + 1 < end {
                var child = 2 * root + 1
                if child + 1 < end && precedes(base[child], base[child + 1]) { child += 1 }
                if !precedes(base[root], base[child]) { return }
                swap(base + root, base + child)
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
            swap(base, base + end)
            sift(0, end)
        }
    }

    // MARK: - Stable

    @inlinable
    static func stable<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ precedes: (Element, Element) -> Bool
    ) {
        if count <= small {
            insertion(base, count, precedes)
            return
        }
        if isOrdered(base, count, precedes) { return }
        let room = UnsafeMutablePointer<Element>.allocate(capacity: count)
        defer { room.deallocate() }
        mergeSort(base, count, room, intoRoom: false, precedes)
    }

    /// Sorts `base`; the result lies there, or in `room`, which has no elements before and, or else `base` has
    /// none, after.
    @inlinable
    static func mergeSort<Element>(
        _ base: UnsafeMutablePointer<Element>, _ count: Int, _ room: UnsafeMutablePointer<Element>,
        intoRoom: Bool, _ precedes: (Element, Element) -> Bool
    ) {
        if count <= small {
            insertion(base, count, precedes)
            if intoRoom { room.moveInitialize(from: base, count: count) }
            return
        }
        let half = count / 2
        if count < alone {
            mergeSort(base, half, room, intoRoom: !intoRoom, precedes)
            mergeSort(base + half, count - half, room + half, intoRoom: !intoRoom, precedes)
        } else {
            Parallel.both {
                mergeSort(base, half, room, intoRoom: !intoRoom, precedes)
            } _: {
                mergeSort(base + half, count - half, room + half, intoRoom: !intoRoom, precedes)
            }
        }
        let from = intoRoom ? base : room, to = intoRoom ? room : base
        merge(from, half, from + half, count - half, to, precedes)
    }

    /// Moves two ordered ranges into one; of equals, the left ones come first.
    @inlinable
    static func merge<Element>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ to: UnsafeMutablePointer<Element>, _ precedes: (Element, Element) -> Bool
    ) {
        if leftCount + rightCount < 8 * alone || leftCount == 0 || rightCount == 0 {
            mergeHere(left, leftCount, right, rightCount, to, precedes)
            return
        }
        let (leftCut, cut) = leftCount >= rightCount
            ? (leftCount / 2, firstPlace(right, rightCount) { !precedes($0, left[leftCount / 2]) })
            : (firstPlace(left, leftCount) { precedes(right[rightCount / 2], $0) }, rightCount / 2)
        Parallel.both {
            merge(left, leftCut, right, cut, to, precedes)
        } _: {
            merge(left + leftCut, leftCount - leftCut, right + cut, rightCount - cut, to + leftCut + cut, precedes)
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
            if isSo(base[probe]) { end = probe } else { first = probe + 1 }
        }
        return first
    }

    @inlinable
    @inline(__always)
    static func mergeHere<Element>(
        _ left: UnsafeMutablePointer<Element>, _ leftCount: Int,
        _ right: UnsafeMutablePointer<Element>, _ rightCount: Int,
        _ to: UnsafeMutablePointer<Element>, _ precedes: (Element, Element) -> Bool
    ) {
        var left = left, right = right, to = to
        let leftEnd = left + leftCount, rightEnd = right + rightCount
        while left < leftEnd && right < rightEnd {
            let takesRight = precedes(right.pointee, left.pointee)
            to.moveInitialize(from: takesRight ? right : left, count: 1)
            to += 1
            right += takesRight ? 1 : 0
            left += takesRight ? 0 : 1
        }
        to.moveInitialize(from: left, count: leftEnd - left)
        to += leftEnd - left
        to.moveInitialize(from: right, count: rightEnd - right)
    }
}
