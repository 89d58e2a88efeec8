// Owns each thread's trampoline: a list of calls that run after the current one, so that long chains of tasks need no
// deep stack. Tasks call it for continuations and around every call of the program's code. It never moves a call to
// another thread.

internal import OverdriveCore

/// A call that the thread makes after its current one. A million tasks that set each other off thus use a list, not a
/// million stack frames.
@safe class Bounced {
    /// The next entry of the line; see ``LineEntry``.
    fileprivate final var next: UInt = 0

    func go() {}
}

/// A closure in a thread's line.
private final class BouncedClosure: Bounced {
    private let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    override func go() { body() }
}

/// Releases a task's body from the line. The body may hold the last reference to a task whose body holds the next
/// task, and so on.
final class BouncedBody<T: Sendable>: Bounced {
    var body = Task<T>.Body.none

    override func go() { body = .none }
}

/// An entry of a line, in one word: a ``Bounced`` object to which the line owns a reference, or an edge, which is marked
/// by the lowest bit.
private enum LineEntry {
    static func word(of bounced: Bounced) -> UInt { unsafe UInt(bitPattern: Unmanaged.passRetained(bounced).toOpaque()) }
    static func word(of edge: Edge) -> UInt { unsafe UInt(bitPattern: edge.entry) | 1 }

    private static func edge(_ word: UInt) -> Edge? {
        word & 1 == 1 ? unsafe Edge(entry: UnsafeMutableRawPointer(bitPattern: word & ~1)) : nil
    }

    private static func bounced(_ word: UInt) -> Unmanaged<Bounced>? {
        unsafe UnsafeRawPointer(bitPattern: word).map { unsafe .fromOpaque($0) }
    }

    static func put(_ next: UInt, after word: UInt) {
        if let edge = edge(word) {
            edge.nextInLine = next
        } else {
            unsafe bounced(word)?._withUnsafeGuaranteedRef { $0.next = next }
        }
    }

    static func next(after word: UInt) -> UInt {
        if let edge = edge(word) { return edge.nextInLine }
        return unsafe bounced(word)?._withUnsafeGuaranteedRef { $0.next } ?? 0
    }

    /// Carries out an entry that was taken out of its line.
    static func go(_ word: UInt) {
        if let edge = edge(word) { return edge.go() }
        unsafe bounced(word)?.takeRetainedValue().go()
    }
}

/// The line of the calling thread: its list of pending calls. The line lives in the stack frame of the outermost
/// ``run(_:)``, which returns when the line is empty.
///
/// Each call of the program's code is between ``stepOut()`` and ``stepBack(_:)``. The program's code may block until
/// work that it starts has finished, and entries in a blocked thread's line would never run. Work that it starts
/// therefore uses a new line in a new stack frame. Such calls nest up to ``greatestDepth``; deeper ones use the
/// existing line.
///
/// The thread-local word is nil, the address of the innermost line, or an odd number. The odd number is 2 n + 1 for
/// n nested calls of the program's code without a line.
enum Bounce {
    @safe private struct Line {
        /// The first and last ``LineEntry``; 0 in an empty line.
        var first: UInt = 0
        var last: UInt = 0
        /// The number of calls of the program's code around this line.
        let depth: Int
        /// The number of calls of the program's code inside this line. If it is not 0, the thread is outside the
        /// line.
        var calls = 0
        var isOutside: Bool { calls > 0 }
        /// Whether the thread is forwarding an update from one task to the next.
        var isForwarding = false

        init(depth: Int) {
            self.depth = depth
        }

        mutating func append(_ entry: UInt) {
            LineEntry.put(0, after: entry)
            if last == 0 { first = entry } else { LineEntry.put(entry, after: last) }
            last = entry
        }

        mutating func pop() -> UInt {
            let entry = first
            if entry != 0 { first = LineEntry.next(after: entry) }
            if first == 0 { last = 0 }
            return entry
        }
    }

    private static let greatestDepth = 64

    private static var line: UnsafeMutablePointer<Line>? {
        guard let word = unsafe ThreadBounce.place.pointee, UInt(bitPattern: word) & 1 == 0 else { return nil }
        return unsafe word.assumingMemoryBound(to: Line.self)
    }

    /// The number of calls of the program's code on the thread's stack.
    private static func depth(at word: UnsafeMutableRawPointer?) -> Int {
        guard let word = unsafe word else { return 0 }
        if UInt(bitPattern: word) & 1 == 1 { return Int(bitPattern: word) >> 1 }
        let line = unsafe word.assumingMemoryBound(to: Line.self)
        return unsafe line.pointee.depth + line.pointee.calls
    }

    /// Whether the nesting limit is reached. Handlers must then run from a line.
    static var isDeep: Bool { unsafe depth(at: ThreadBounce.place.pointee) >= greatestDepth }

    /// Whether the thread has an active line, to which ``run(_:)`` would append.
    static var isInLine: Bool {
        guard let line = unsafe line else { return false }
        return unsafe !line.pointee.isOutside
    }

    /// Whether the calling thread is inside ``forward(_:)``.
    static var isForwarding: Bool {
        guard let line = unsafe line else { return false }
        return unsafe line.pointee.isForwarding && !line.pointee.isOutside
    }

    /// Calls `bounced.go()`: at once if the thread has no active line, else after the pending entries of the line.
    static func run(_ bounced: Bounced) {
        if let line = unsafe line, unsafe !line.pointee.isOutside { return unsafe line.pointee.append(LineEntry.word(of: bounced)) }
        open { bounced.go() }
    }

    /// Calls `edge.go()` as ``run(_:)`` does. The edge is an entry itself: its reference passes to the line.
    static func run(_ edge: Edge) {
        if let line = unsafe line, unsafe !line.pointee.isOutside { return unsafe line.pointee.append(LineEntry.word(of: edge)) }
        open { edge.go() }
    }

    /// Calls `body`, which forwards an update to another task.
    ///
    /// The other task handles the update after `body` has returned. If the thread had no active line, the update has
    /// been handled when this function returns.
    static func forward(_ body: () -> Void) {
        guard let here = unsafe line, unsafe !here.pointee.isOutside else { return open { forward(body) } }
        let outer = unsafe here.pointee.isForwarding
        unsafe here.pointee.isForwarding = true
        body()
        unsafe here.pointee.isForwarding = outer
    }

    /// Opens a line, calls `body`, and then runs the line's entries until it is empty.
    private static func open(_ body: () -> Void) {
        let place = unsafe ThreadBounce.place
        let outer = unsafe place.pointee
        var line = unsafe Line(depth: depth(at: outer))
        unsafe withUnsafeMutablePointer(to: &line) { line in
            unsafe place.pointee = UnsafeMutableRawPointer(line)
            body()
            while true {
                let next = unsafe line.pointee.pop()
                if next == 0 { break }
                LineEntry.go(next)
            }
            unsafe place.pointee = outer
        }
    }

    static func run(_ body: @escaping () -> Void) {
        if let line = unsafe line, unsafe !line.pointee.isOutside {
            return unsafe line.pointee.append(LineEntry.word(of: BouncedClosure(body)))
        }
        open(body)
    }

    /// Marks the start of a call of the program's code.
    ///
    /// Returns the address of the thread's word, which the caller passes to ``stepBack(_:)`` on this thread. Beyond
    /// ``greatestDepth`` the call is not counted, the thread remains in its line, and nil is returned.
    @inline(__always)
    static func stepOut() -> UnsafeMutablePointer<UnsafeMutableRawPointer?>? {
        let place = unsafe ThreadBounce.place
        let word = unsafe UInt(bitPattern: place.pointee)
        guard word != 0, word & 1 == 0, let line = unsafe place.pointee?.assumingMemoryBound(to: Line.self) else {
            guard word >> 1 < UInt(greatestDepth) else { return nil }
            unsafe place.pointee = UnsafeMutableRawPointer(bitPattern: word | 1 + 2)
            return unsafe place
        }
        guard unsafe line.pointee.depth + line.pointee.calls < greatestDepth else { return nil }
        unsafe line.pointee.calls += 1
        return unsafe place
    }

    @inline(__always)
    static func stepBack(_ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) {
        guard let place = unsafe place, let word = unsafe place.pointee else { return }
        let bits = UInt(bitPattern: word)
        if bits & 1 == 0 {
            unsafe word.assumingMemoryBound(to: Line.self).pointee.calls -= 1
        } else {
            unsafe place.pointee = bits == 3 ? nil : UnsafeMutableRawPointer(bitPattern: bits - 2)
        }
    }

    /// Calls the program's code outside the line.
    static func outside<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let place = unsafe stepOut()
        defer { unsafe stepBack(place) }
        return try body()
    }
}

@usableFromInline func handlersAreDeep() -> Bool { Bounce.isDeep }
@usableFromInline func stepOutOfLine() -> UnsafeMutablePointer<UnsafeMutableRawPointer?>? { unsafe Bounce.stepOut() }
@usableFromInline func stepIntoLine(_ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) { unsafe Bounce.stepBack(place) }
