import Foundation
import Synchronization

// Tools that belong to neither surface: they wait on POSIX threads' own means, so that nothing here helps one side.

/// Hang detection: far beyond what anything here takes.
let patience = 30.0

/// A number that any thread may change.
final class Counter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .sequentiallyConsistent) }

    @discardableResult
    func add(_ amount: Int = 1) -> Int {
        value.add(amount, ordering: .sequentiallyConsistent).newValue
    }
}

/// How many are inside, and the most that ever were at once.
final class Crowd: Sendable {
    private let inside = Counter()
    private let record = Atomic(0)

    var most: Int { record.load(ordering: .sequentiallyConsistent) }
    var now: Int { inside.count }

    func visit(_ body: () -> Void = { sched_yield() }) {
        _ = record.max(inside.add(), ordering: .sequentiallyConsistent)
        body()
        inside.add(-1)
    }
}

/// What was noted, in the order in which it was.
final class Log<Element: Sendable>: Sendable {
    private let entries = Mutex<[Element]>([])

    var all: [Element] { entries.withLock { $0 } }

    func note(_ element: Element) {
        entries.withLock { $0.append(element) }
    }
}

/// A variable without a lock, for closures that the surface itself keeps apart.
final class Plain<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A door that stays open once it was opened.
final class Gate: @unchecked Sendable {
    // The condition guards `isOpen`.
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until the door is open. False: it never was.
    @discardableResult
    func pass(within seconds: Double = patience) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isOpen {
            guard condition.wait(until: deadline) else { return isOpen }
        }
        return true
    }
}

/// Lets those who arrive go on when all are there, which they can only be if they run at the same time.
final class Meeting: Sendable {
    private let missing: Counter
    private let gate = Gate()

    init(of parties: Int) {
        missing = Counter()
        missing.add(parties)
    }

    /// False: the others never came.
    @discardableResult
    func attend() -> Bool {
        if missing.add(-1) <= 0 { gate.open() }
        return gate.pass()
    }
}

/// Waits until `condition` holds. False: it never did.
func eventually(_ condition: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + .seconds(patience)
    while !condition() {
        guard ContinuousClock.now < deadline else { return false }
        usleep(200)
    }
    return true
}

/// Gives what must not happen a while to happen.
func linger(milliseconds: UInt32 = 10) {
    usleep(milliseconds * 1000)
}

/// Runs `body` on POSIX threads of their own, all at once, and waits for them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let start = Meeting(of: count)
    let ends = (0..<count).map { _ in Gate() }
    for (index, end) in ends.enumerated() {
        Thread.detachNewThread {
            start.attend()
            body(index)
            end.open()
        }
    }
    for end in ends {
        guard end.pass() else { preconditionFailure("a thread of a scenario never came to its end") }
    }
}

/// What tells the calling thread from all others that exist.
func threadIdentity() -> UInt {
    UInt(bitPattern: pthread_self().hashValue)
}

/// An object whose end is noted.
final class Mortal: Sendable {
    private let deaths: Counter

    init(_ deaths: Counter) {
        self.deaths = deaths
    }

    deinit {
        deaths.add()
    }

    func touch() {}
}

private let mainMark: DispatchSpecificKey<Bool> = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
}()

/// Whether the calling code runs on the process's main queue, which both surfaces share.
func isOnMain() -> Bool {
    DispatchQueue.getSpecific(key: mainMark) == true
}
