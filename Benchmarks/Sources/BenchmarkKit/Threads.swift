internal import Glibc

/// A thread of the system that somebody waits for.
public struct JoinableThread {
    private let thread: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// - Parameter stack: Bytes of stack; 0: what the system gives.
    public init(stack: Int = 0, _ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if stack > 0 { pthread_attr_setstacksize(&attributes, stack) }
        let body = Unmanaged.passRetained(Body(run))
        let error = pthread_create(&thread, &attributes, { raw in
            guard let raw else { return nil }
            Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        }, body.toOpaque())
        precondition(error == 0, "a thread of the benchmark could not be created")
        self.thread = thread
    }

    public func join() {
        pthread_join(thread, nil)
    }

    /// Runs `body` on a thread with 256 MiB of stack, of which what is used is touched: deep recursion begins on
    /// whatever thread calls, and the main thread's 8 MiB say nothing of a scheduler.
    public static func deep(_ body: @escaping @Sendable () -> Void) {
        JoinableThread(stack: 256 << 20, body).join()
    }

    /// Runs `body` on so many threads at once, or on this one when it is one, and waits for all of them.
    public static func each(of count: Int, _ body: @escaping @Sendable () -> Void) {
        guard count > 1 else { return body() }
        let threads = (0..<count).map { _ in JoinableThread(body) }
        for thread in threads { thread.join() }
    }
}

/// A counting semaphore that any thread may use, outside every scheduler.
public final class Gate: @unchecked Sendable {
    // A POSIX semaphore is made to be shared; its address does not change.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    public init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    public func open() { sem_post(semaphore) }

    public func pass() {
        while sem_wait(semaphore) == -1 && errno == EINTR {}
    }
}

/// Passes when `take` has been called so many times: what stands in for a group where there is none.
public final class Countdown: Sendable {
    @usableFromInline let left: AtomicCount
    @usableFromInline let gate = Gate()

    public init(_ count: Int) { left = AtomicCount(count) }

    @inlinable public func take() { if left.takeOne() == 0 { gate.open() } }

    public func wait() { gate.pass() }
}

/// Something for closures to capture beside their number. Where it does not count, it looks at the number and no more:
/// a count that all closures add to would be most of what is measured.
public final class Ballast: Sendable {
    @usableFromInline let ran = AtomicCount()
    @usableFromInline let left: Int

    /// - Parameter counts: Whether every closure is counted, or only number 0.
    public init(counts: Bool) { left = counts ? 0 : .max }

    public var count: Int { ran.value }

    @inlinable public func add(_ number: Int) { if number & left == 0 { ran.add() } }

    /// Measures `submit`, whose closures all add their numbers to what it is given, with one that does not count; and
    /// checks it with one that does.
    @inlinable
    public static func measure(_ submit: (Ballast) -> Void) {
        let light = Ballast(counts: false)
        Harness.measure {
            submit(light)
            return 0
        }
        let counting = Ballast(counts: true)
        submit(counting)
        Harness.check(UInt64(counting.count))
    }
}

/// A byte that one thread writes and another thread reads.
public struct PipeGate: Sendable {
    private let reads, writes: Int32

    public init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "the benchmark could not make a pipe")
        (reads, writes) = (ends[0], ends[1])
    }

    public func open() {
        var byte: UInt8 = 1
        precondition(write(writes, &byte, 1) == 1, "the benchmark could not write to its pipe")
    }

    public func pass() {
        var byte: UInt8 = 0
        while read(reads, &byte, 1) == -1 && errno == EINTR {}
    }
}

/// A condition variable with its flag.
public final class ConditionGate: @unchecked Sendable {
    // The mutex guards the flag, and the addresses do not change.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    public init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    public func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    public func pass() {
        pthread_mutex_lock(mutex)
        while !isOpen { pthread_cond_wait(condition, mutex) }
        isOpen = false
        pthread_mutex_unlock(mutex)
    }
}
