internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A door that keeps threads waiting until it is opened, without the engine's knowing.
package final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func open() {
        semaphore.signal()
    }

    package func pass() {
        semaphore.wait()
        semaphore.signal()
    }
}

/// Hang detection: far beyond what anything here takes, also where a thousand tests wait for one of two threads.
private let patience = 240.0
/// Once something has not come, the run has failed: what waits in a loop of hundreds is not to take hours.
private let patienceAfterFailure = 10.0
private let hasFailed = Atomic(false)

/// Waits until `condition` holds. False: it never did.
package func eventually(_ condition: () -> Bool) -> Bool {
    let begin = ContinuousClock.now
    while !condition() {
        let limit = hasFailed.load(ordering: .relaxed) ? patienceAfterFailure : patience
        if ContinuousClock.now >= begin + .seconds(limit) {
            hasFailed.store(true, ordering: .relaxed)
            return false
        }
        usleep(200)
    }
    return true
}

/// Runs `body` on threads of their own, all at once, and waits for them.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let start = Gate()
    let done = DispatchGroup()
    for index in 0..<count {
        done.enter()
        onThread {
            start.pass()
            body(index)
            done.leave()
        }
    }
    start.open()
    done.wait()
}

/// Runs `body` on a thread of its own, and does not wait for it.
package func onThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let failed = pthread_create(&thread, nil, { context in
        guard let context else { return nil }
        Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }, Unmanaged.passRetained(Box(body)).toOpaque())
    guard failed == 0 else { fatalError("a test's thread could not be created") }
    pthread_detach(thread)
}

private final class Box: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}

/// What tells the calling thread from all others that exist.
package func threadIdentity() -> UInt {
    UInt(pthread_self())
}
