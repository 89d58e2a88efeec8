/// What stands in line: first come, first served. Each costs the same however long the line is, which grows where
/// whoever serves it is slower than those who come. It holds nobody who was served.
package struct Fifo<Element> {
    // Those before `head` have been served.
    @usableFromInline var places: [Element?] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { head == places.count }

    @inlinable package var count: Int { places.count - head }

    @inlinable package var first: Element? { isEmpty ? nil : places[head] }

    @inlinable package mutating func append(_ element: Element) {
        places.append(element)
    }

    @discardableResult
    @inlinable package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = places[head].take()
        head += 1
        if isEmpty {
            places.removeAll(keepingCapacity: places.count <= 64)
            head = 0
        } else if head >= 64, head >= places.count / 2 {
            // Fewer are moved than have been served since the last time.
            places.removeFirst(head)
            head = 0
        }
        return element
    }
}
