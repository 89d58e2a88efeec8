internal import Dispatch
internal import Foundation
internal import Synchronization

/// A door that keeps threads waiting until it is opened, and counts who comes to it. On POSIX threads' own means: neither
/// the engine knows of the waits nor libdispatch.
package final class Gate: @unchecked Sendable {
    // The condition guards both.
    private let condition = NSCondition()
    private var isOpen = false
    private var arrived = 0

    package init() {}

    /// How many have come to it, whether they wait or have passed.
    package var arrivals: Int { condition.withLock { arrived } }

    package func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
    }

    /// Waits until the door is open.
    package func pass() {
        _ = pass(within: .infinity)
    }

    /// Waits until the door is open. False: it was not in time.
    package func pass(within seconds: Double) -> Bool {
        let deadline = Date(timeIntervalSinceNow: min(seconds, 1e9))
        return condition.withLock {
            arrived += 1
            while !isOpen {
                guard condition.wait(until: deadline) else { return isOpen }
            }
            return true
        }
    }
}

/// Lets those who arrive go on when all are there, which they can only be if they run at the same time.
package final class Meeting: Sendable {
    private let missing: Counter
    private let gate = Gate()

    package init(of parties: Int) {
        missing = Counter(parties)
    }

    /// False: the others never came.
    @discardableResult
    package func attend() -> Bool {
        if missing.add(-1) <= 0 { gate.open() }
        return gate.pass(within: patience)
    }
}

/// Hang detection: far beyond what anything here takes, also where a thousand tests wait for one of two threads.
private let patience = 240.0
/// Once something has not come, the run has failed: what waits in a loop of hundreds is not to take hours.
private let patienceAfterFailure = 10.0
private let hasFailed = Atomic(false)

/// Waits until `condition` holds. False: it never did.
package func eventually(_ condition: () -> Bool) -> Bool {
    holds(condition) { usleep(200) }
}

/// Like ``eventually(_:)`` on the part of a closure that computes: it keeps its worker, to which it never looks blocked, and
/// lets whoever else wants the CPU have it.
@discardableResult
package func compute(until condition: () -> Bool) -> Bool {
    holds(condition) { sched_yield() }
}

private func holds(_ condition: () -> Bool, pausing pause: () -> Void) -> Bool {
    let begin = ContinuousClock.now
    while !condition() {
        let limit = hasFailed.load(ordering: .relaxed) ? patienceAfterFailure : patience
        if ContinuousClock.now >= begin + .seconds(limit) {
            hasFailed.store(true, ordering: .relaxed)
            return false
        }
        pause()
    }
    return true
}

/// Runs `body` on threads of their own, all at once, and waits for them. False: not all have ended in time.
@discardableResult
package func onThreads(_ count: Int, within seconds: Double = .infinity, _ body: @escaping @Sendable (Int) -> Void) -> Bool {
    let (start, ends) = (Gate(), (0..<count).map { _ in Gate() })
    for (index, end) in ends.enumerated() {
        onThread {
            start.pass()
            body(index)
            end.open()
        }
    }
    start.open()
    return ends.allSatisfy { $0.pass(within: seconds) }
}

/// Runs `body` on a thread of its own, and does not wait for it.
package func onThread(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread(body)
}

/// What tells the calling thread from all others that exist.
package func threadIdentity() -> UInt {
    UInt(bitPattern: pthread_self().hashValue)
}

/// Whether the calling code runs on the process's main queue.
package func isOnMain() -> Bool {
    DispatchQueue.getSpecific(key: mainMark) == true
}

private let mainMark: DispatchSpecificKey<Bool> = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
}()
