internal import OverdriveCore

/// Something that a thread does after what it does now, so that a million tasks that set each other off make
/// a list instead of a stack.
class Bounced {
    /// Owned by the line that it stands in.
    fileprivate final var next: Bounced?

    func go() {}
}

/// A closure in the line.
private final class BouncedClosure: Bounced {
    private let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    override func go() { body() }
}

/// The line of the calling thread. It lives in the frame of the outermost ``run(_:)``, which ends when the line
/// is empty.
enum Bounce {
    private struct Line {
        var first: Bounced?
        unowned(unsafe) var last: Bounced?

        mutating func append(_ bounced: Bounced) {
            if let last { last.next = bounced } else { first = bounced }
            last = bounced
        }

        mutating func pop() -> Bounced? {
            guard let bounced = first else { return nil }
            first = bounced.next
            bounced.next = nil
            if first == nil { last = nil }
            return bounced
        }
    }

    /// Calls `bounced.go()`: now, or where the thread is at it already, after what stands in its line.
    static func run(_ bounced: Bounced) {
        if let line = ThreadBounce.current {
            line.assumingMemoryBound(to: Line.self).pointee.append(bounced)
            return
        }
        var line = Line()
        withUnsafeMutablePointer(to: &line) { line in
            ThreadBounce.current = UnsafeMutableRawPointer(line)
            bounced.go()
            while let next = line.pointee.pop() { next.go() }
            ThreadBounce.current = nil
        }
    }

    static func run(_ body: @escaping () -> Void) {
        run(BouncedClosure(body))
    }
}
