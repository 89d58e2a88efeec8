/// A queue that counts what went through it, and holds nothing that was taken out.
struct Window<Element> {
    private var places: [Element?] = []
    private var head = 0

    /// How many elements were taken out.
    private(set) var start = 0
    /// How many elements were ever put in.
    private(set) var end = 0

    var count: Int { end - start }

    var first: Element? {
        head < places.count ? places[head] : nil
    }

    mutating func append(_ element: Element) {
        places.append(element)
        end += 1
    }

    mutating func removeFirst() {
        precondition(start < end, "Window.removeFirst needs an element")
        places[head] = nil
        head += 1
        start += 1
        if head > 32, head * 2 > places.count {
            places.removeFirst(head)
            head = 0
        }
    }
}
