/// What stands in line: first come, first served. Each costs the same however long the line is, which grows where
/// whoever serves it is slower than those who come.
struct Fifo<Element> {
    // Those before `first` have been served.
    private var elements: [Element?] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }

    /// All that stand in it, in their order.
    var all: [Element] { elements[first...].compactMap { $0 } }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first].take()
        first += 1
        if isEmpty {
            elements.removeAll(keepingCapacity: elements.count <= 64)
            first = 0
        } else if first >= 64, first >= elements.count / 2 {
            // Fewer are moved than have been served since the last time.
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
