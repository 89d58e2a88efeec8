// Owns the stable sort: a merge sort that forks one half of its work, without data-dependent branches in its merges.
// `Parallel.stableSort` calls it. It never copies elements.

extension Sorting {
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
