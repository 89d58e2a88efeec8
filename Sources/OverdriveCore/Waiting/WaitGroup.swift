// Owns groups: counters of running work that threads and tasks can wait for. Programs and most calls of a queue use
// them. A group never runs work itself.

internal import CScheduler

/// Counts running work, so that threads and tasks can wait for all of it.
///
///     let group = WaitGroup()
///     for file in files {
///         queue.async(group: group) { convert(file) }
///     }
///     group.wait()
///
/// A group may be used again immediately, by any number of threads and queues. Several threads may wait for it.
///
/// - Ordering: Writes of the closures are visible after `wait()` returns and in notifications.
/// - Threading: Any thread.
@safe public final class WaitGroup: Sendable {
    // The engine's group is thread-safe, and the pointer never changes.
    nonisolated(unsafe) let handle: OpaquePointer

    /// The result of a wait with a timeout or deadline.
    public enum WaitResult: Sendable {
        /// The group became empty.
        case success
        /// The timeout passed before the group was empty.
        case timedOut
    }

    /// Creates an empty group.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: Two allocations.
    public init() {
        guard let group = unsafe od_group_create() else {
            trap("WaitGroup(): out of memory. Raise the memory limit.")
        }
        unsafe handle = group
    }

    deinit {
        unsafe od_group_release(handle)
    }

    /// Counts one piece of work that is not a closure of a queue. It ends with ``leave()``.
    ///
    /// - Ordering: Later waits wait for the matching ``leave()``.
    /// - Threading: Any thread.
    /// - Cost: One locked instruction.
    public func enter() {
        unsafe od_group_enter(handle)
    }

    /// Ends the work that ``enter()`` has counted. Traps if the group is empty.
    ///
    /// - Ordering: Earlier writes are visible to waiters. Notifications are submitted before waiters wake.
    /// - Threading: Any thread; the thread that leaves last submits the notifications.
    /// - Cost: One locked instruction; the last call also wakes the waiters.
    public func leave() {
        unsafe od_group_leave(handle)
    }

    /// Waits until the group is empty.
    ///
    /// - Ordering: Writes of the closures are visible. The wait ends at the first moment at which the group is empty,
    ///   even if other threads enter the group again.
    /// - Threading: Any thread. A spare replaces a waiting worker. A closure that the group counts must not wait for
    ///   the group, because the wait never ends.
    /// - Cost: One load if the group is empty; otherwise a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await wait()")
    public func wait() {
        _ = unsafe od_group_wait(handle, .max)
    }

    /// Waits until the group is empty, or until `timeout` has passed.
    ///
    /// - Parameter timeout: The maximum time to wait; zero or less only checks.
    /// - Returns: `.success`, or `.timedOut` if the group was not empty.
    /// - Ordering: After `.success`, writes of the closures are visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: One load if the group is empty; otherwise a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await wait(timeout:)")
    public func wait(timeout: Duration) -> WaitResult {
        unsafe od_group_wait(handle, timeout.nanoseconds) ? .success : .timedOut
    }

    /// Waits for a group that was entered manually for work on `queue` in `qos`, and raises that work to the waiter's
    /// quality of service.
    ///
    /// - Parameter what: The kind of wait, for dumps.
    package func wait(
        overriding queue: TaskQueue?, _ qos: TaskQueue.QoS?, timeout: Duration? = nil, as what: StaticString = "for a group"
    ) -> WaitResult {
        let limit = timeout?.nanoseconds ?? .max
        let name = unsafe UnsafeRawPointer(what.utf8Start).assumingMemoryBound(to: CChar.self)
        return withExtendedLifetime(queue) {
            guard case .engine(let engine, _) = queue?.route else {
                return unsafe od_group_wait_as(handle, nil, -1, limit, name) ? .success : .timedOut
            }
            return unsafe od_group_wait_as(handle, engine, qos?.rawValue ?? -1, limit, name) ? .success : .timedOut
        }
    }

    /// Waits like ``wait(overriding:_:timeout:as:)`` for a queue that the caller must not retain for long. The wait is
    /// divided into parts of 20 ms to 1 s, and `queue` is called again for each part.
    func wait(
        overridingWeak queue: () -> TaskQueue?, _ qos: TaskQueue.QoS?, timeout: Duration? = nil, as what: StaticString = "for a group"
    ) -> WaitResult {
        // The parts count real time, which a run does not have. Its threads wait in one part.
        if ControlledRun.isInside { return wait(overriding: queue(), qos, timeout: timeout, as: what) }
        let began = ContinuousClock.now
        var part = Duration.milliseconds(20)
        var says = false
        defer { if says { od_blocking_end() } }
        while let queue = queue() {
            let left = timeout.map { $0 - began.duration(to: .now) }
            if let left, left <= part { return wait(overriding: queue, qos, timeout: left, as: what) }
            if wait(overriding: queue, qos, timeout: part, as: what) == .success { return .success }
            if !says { od_blocking_begin() } // all parts are one wait in a dump
            says = true
            part = min(part * 2, .seconds(1))
        }
        return wait(overriding: nil, nil, timeout: timeout.map { $0 - began.duration(to: .now) }, as: what)
    }

    /// Waits until the group is empty, or until `deadline`.
    ///
    /// - Parameter deadline: The end of the wait; a past time only checks.
    /// - Returns: `.success`, or `.timedOut` if the group was not empty.
    /// - Ordering: After `.success`, writes of the closures are visible.
    /// - Threading: As of `wait(timeout:)`.
    /// - Cost: As of `wait(timeout:)`.
    @available(*, noasync, message: "it blocks the thread: write await wait(deadline:)")
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: EngineTime.left(until: deadline))
    }

    /// Suspends the calling task until the group is empty.
    ///
    /// Cancellation of the task does not end the wait early, because the counted work still runs.
    ///
    /// - Ordering: Writes of the closures are visible.
    /// - Threading: Any task; the wait holds no thread.
    /// - Cost: One allocation and one suspension.
    public func wait() async {
        await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // The suspended caller retains the group until it resumes.
            whenEmpty { [unowned(unsafe) self] in
                unsafe Handoff.sends(by: self)
                unsafe continuation.resume()
            }
        }
        Handoff.received(by: self)
    }

    /// Suspends until nothing is under way, but no longer than `timeout`.
    ///
    ///     if await group.wait(timeout: .seconds(5)) == .timedOut { print("still busy") }
    ///
    /// It does not end early when the calling task is cancelled.
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` if something was still under way.
    /// - Ordering: After `.success` the writes of the closures are visible.
    /// - Threading: Any task; no thread is held.
    /// - Cost: Three allocations, a timer and a suspension. After a timeout the group keeps one small allocation until it
    ///   is next empty.
    public func wait(timeout: Duration) async -> WaitResult {
        if unsafe od_group_wait(handle, 0) { return .success }
        return await TimedWait.until(timeout) { done in whenEmpty(done) }
    }

    /// Suspends until nothing is under way, but no longer than until `deadline`.
    ///
    /// - Parameter deadline: The end of the wait; an instant in the past only looks.
    /// - Returns: `.success`, or `.timedOut` if something was still under way.
    /// - Ordering: As of the form with a timeout.
    /// - Threading: Any task; no thread is held.
    /// - Cost: As of the form with a timeout.
    public func wait(deadline: ContinuousClock.Instant) async -> WaitResult {
        await wait(timeout: EngineTime.left(until: deadline))
    }

    /// Submits `body` to `queue` when the group is empty, or at once if it already is.
    ///
    ///     group.notify(on: .main) { show(results) }
    ///
    /// Any number of notifications may wait. Each is submitted once, when the group next becomes empty. The group may
    /// be used again before that.
    ///
    /// - Parameters:
    ///   - queue: The queue that runs `body`.
    ///   - qos: Raises `body` above the queue's quality of service.
    ///   - flags: The options of the submission, such as ``TaskQueue/Flags/barrier``. ``TaskQueue/Flags/inheritQoS``
    ///     refers to the caller, not to the thread that leaves last.
    ///   - body: Runs once. If the group is released before it is empty, `body` does not run.
    /// - Ordering: Notifications are submitted in the order of the calls. Writes of the group's closures are visible
    ///   to them.
    /// - Threading: Any thread.
    /// - Cost: One allocation; the thread that leaves last submits the notifications.
    public func notify(
        on queue: TaskQueue, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        execute body: sending @escaping () -> Void
    ) {
        // The closure goes to the queue once, and this thread does not keep it.
        nonisolated(unsafe) let body = body
        let asked = TaskQueue.QoS.asked(qos, flags)
        let terms = flags.subtracting([.inheritQoS, .noQoS])
        whenEmpty { queue.async(qos: asked, flags: terms) { unsafe body() } }
    }

    /// Submits `item` to `queue` when the group is empty, or at once if it already is.
    ///
    /// - Parameters:
    ///   - queue: The queue that runs the item.
    ///   - item: The item to submit then. A cancelled item does not run.
    /// - Ordering: The same as ``notify(on:qos:flags:execute:)``.
    /// - Threading: Any thread.
    /// - Cost: Two allocations; the thread that leaves last submits the item.
    public func notify(on queue: TaskQueue, execute item: WorkItem) {
        whenEmpty { queue.async(execute: item) }
    }

    private func whenEmpty(_ body: @escaping () -> Void) {
        Callback.demand(
            unsafe od_group_notify(handle, Callback.function, Callback(body).context), by: "WaitGroup.notify")
    }
}

extension WaitGroup: CustomStringConvertible {
    /// The group in one line, with the number of pending pieces of work.
    public var description: String {
        unsafe "WaitGroup (\(od_group_pending(handle)) pending)"
    }
}
