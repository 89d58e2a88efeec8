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
/// sets off has a line of its own, in a frame of its own. Calls of the program's code stand on each other at most
/// ``greatestDepth`` deep, for a program's tasks may each set off the next in its own code; from there on all is one line
/// again.
///
/// The thread's word is nil, the address of its innermost line, or an odd number where it has none: twice its calls of the
/// program's code, and 1.
enum Bounce {
    @safe private struct Line {
        /// The line holds what stands in it.
        var first: Unmanaged<Bounced>?
        var last: Unmanaged<Bounced>?
        /// How many calls of the program's code are around this line.
        let depth: Int
        /// How many are inside of it: with one, the thread has stepped out of the line.
        var calls = 0
        var isOutside: Bool { calls > 0 }
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
        guard let word = unsafe ThreadBounce.current, UInt(bitPattern: word) & 1 == 0 else { return nil }
        return unsafe word.assumingMemoryBound(to: Line.self)
    }

    /// How many calls of the program's code the thread has on its stack.
    private static var depth: Int {
        guard let word = unsafe ThreadBounce.current else { return 0 }
        if UInt(bitPattern: word) & 1 == 1 { return Int(bitPattern: word) >> 1 }
        let line = unsafe word.assumingMemoryBound(to: Line.self)
        return unsafe line.pointee.depth + line.pointee.calls
    }

    /// Whether the program's code is to be called by way of a line only.
    static var isDeep: Bool { depth >= greatestDepth }

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
        let outer = unsafe ThreadBounce.current
        var line = Line(depth: depth)
        unsafe withUnsafeMutablePointer(to: &line) { line in
            unsafe ThreadBounce.current = UnsafeMutableRawPointer(line)
            body()
            while let next = unsafe line.pointee.pop() { next.go() }
            unsafe ThreadBounce.current = outer
        }
    }

    static func run(_ body: @escaping () -> Void) {
        if let line = unsafe line, unsafe !line.pointee.isOutside { return unsafe line.pointee.append(BouncedClosure(body)) }
        open(body)
    }

    /// The thread is about to call the program's code. Returns whether the call counts, which ``stepBack(_:)`` is to be
    /// told. From ``greatestDepth`` on it does not, and leaves no line.
    static func stepOut() -> Bool {
        let word = unsafe ThreadBounce.current
        if let word = unsafe word, UInt(bitPattern: word) & 1 == 0 {
            let line = unsafe word.assumingMemoryBound(to: Line.self)
            guard unsafe line.pointee.depth + line.pointee.calls < greatestDepth else { return false }
            unsafe line.pointee.calls += 1
            return true
        }
        let calls = UInt(bitPattern: word) >> 1
        guard calls < greatestDepth else { return false }
        unsafe ThreadBounce.current = UnsafeMutableRawPointer(bitPattern: calls << 1 + 3)
        return true
    }

    static func stepBack(_ counts: Bool) {
        guard counts, let word = unsafe ThreadBounce.current else { return }
        let bits = UInt(bitPattern: word)
        if bits & 1 == 0 {
            unsafe word.assumingMemoryBound(to: Line.self).pointee.calls -= 1
        } else {
            unsafe ThreadBounce.current = bits == 3 ? nil : UnsafeMutableRawPointer(bitPattern: bits - 2)
        }
    }

    /// Calls the program's code outside the line.
    static func outside<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let left = stepOut()
        defer { stepBack(left) }
        return try body()
    }
}

@usableFromInline func handlersAreDeep() -> Bool { Bounce.isDeep }
@usableFromInline func stepOutOfLine() -> Bool { Bounce.stepOut() }
@usableFromInline func stepIntoLine(_ left: Bool) { Bounce.stepBack(left) }
