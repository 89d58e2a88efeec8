// Owns a first-in, first-out queue in an array. Task handlers and the command call it. It is not thread-safe.

/// A first-in, first-out queue. Each operation takes amortised constant time, and removed elements are released at once.
package struct Fifo<Element> {
    // The elements before `head` were removed.
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
            // Amortised: this moves fewer elements than were removed since the last move.
            places.removeFirst(head)
            head = 0
        }
        return element
    }
}
