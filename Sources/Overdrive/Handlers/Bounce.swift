internal import OverdriveCore

/// Something that a thread does after what it does now, so that a million tasks that set each other off make
/// a list instead of a stack.
@safe class Bounced {
    /// Owned by the line that it stands in.
    fileprivate final var next: Unmanaged<Bounced>?

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

/// A body that is let go of in the line: it may be the last of a task that lets go of another one, and so on.
final class BouncedBody<T: Sendable>: Bounced {
    var body = Task<T>.Body.none

    override func go() { body = .none }
}

/// The line of the calling thread. It lives in the frame of the outermost ``run(_:)``, which ends when the line
/// is empty.
///
/// The program's own code is called outside the line, between ``stepOut()`` and ``stepBack(_:)``: it may block until
/// what it sets off there is done, and what stood in the line of a thread that is blocked would never be. So what it
/// sets off has a line of its own, in a frame of its own. Such frames stand on each other at most ``greatestDepth``
/// deep, for a program's tasks may each set off the next in its own code; from there on all is one line again.
enum Bounce {
    @safe private struct Line {
        /// The line holds what stands in it.
        var first: Unmanaged<Bounced>?
        var last: Unmanaged<Bounced>?
        /// How many lines the thread has around this one.
        let depth: Int
        /// The thread runs the program's code, and has stepped out of the line.
        var isOutside = false
        /// The thread forwards an update, from one task to the next.
        var isForwarding = false

        init(depth: Int) {
            self.depth = depth
        }

        mutating func append(_ bounced: Bounced) {
            let entry = unsafe Unmanaged.passRetained(bounced)
            if let last = unsafe last { unsafe last._withUnsafeGuaranteedRef { unsafe $0.next = entry } } else { unsafe first = entry }
            unsafe last = entry
        }

        mutating func pop() -> Bounced? {
            guard let bounced = unsafe first?.takeRetainedValue() else { return nil }
            unsafe first = bounced.next
            unsafe bounced.next = nil
            if unsafe first == nil { unsafe last = nil }
            return bounced
        }
    }

    private static let greatestDepth = 64

    private static var line: UnsafeMutablePointer<Line>? {
        unsafe ThreadBounce.current?.assumingMemoryBound(to: Line.self)
    }

    /// Whether the calling thread forwards an update, in ``forward(_:)``.
    static var isForwarding: Bool {
        guard let line = unsafe line else { return false }
        return unsafe line.pointee.isForwarding && !line.pointee.isOutside
    }

    /// Calls `bounced.go()`: now, or where the thread is at it already, after what stands in its line.
    static func run(_ bounced: Bounced) {
        if let line = unsafe line, unsafe !line.pointee.isOutside { return unsafe line.pointee.append(bounced) }
        open { bounced.go() }
    }

    /// Calls `body`, which forwards an update to another task: what that one does with it comes when `body` has returned, and
    /// has come on return where the thread was not at its line before.
    static func forward(_ body: () -> Void) {
        guard let here = unsafe line, unsafe !here.pointee.isOutside else { return open { forward(body) } }
        let outer = unsafe here.pointee.isForwarding
        unsafe here.pointee.isForwarding = true
        body()
        unsafe here.pointee.isForwarding = outer
    }

    /// Makes a line, calls `body`, and then what has come to stand in the line.
    private static func open(_ body: () -> Void) {
        let outer = unsafe line
        var line = unsafe Line(depth: outer.map { unsafe $0.pointee.depth + 1 } ?? 0)
        unsafe withUnsafeMutablePointer(to: &line) { line in
            unsafe ThreadBounce.current = UnsafeMutableRawPointer(line)
            body()
            while let next = unsafe line.pointee.pop() { next.go() }
            unsafe ThreadBounce.current = outer.map { UnsafeMutableRawPointer($0) }
        }
    }

    static func run(_ body: @escaping () -> Void) {
        if let line = unsafe line, unsafe !line.pointee.isOutside { return unsafe line.pointee.append(BouncedClosure(body)) }
        open(body)
    }

    /// The thread is about to call the program's code. Returns whether that leaves a line, which
    /// ``stepBack(_:)`` is to be told.
    static func stepOut() -> Bool {
        guard let line = unsafe line, unsafe !line.pointee.isOutside, unsafe line.pointee.depth < greatestDepth else { return false }
        unsafe line.pointee.isOutside = true
        return true
    }

    static func stepBack(_ left: Bool) {
        if left { unsafe line?.pointee.isOutside = false }
    }

    /// Calls the program's code outside the line.
    static func outside<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let left = stepOut()
        defer { stepBack(left) }
        return try body()
    }
}

@usableFromInline func stepOutOfLine() -> Bool { Bounce.stepOut() }
@usableFromInline func stepIntoLine(_ left: Bool) { Bounce.stepBack(left) }
