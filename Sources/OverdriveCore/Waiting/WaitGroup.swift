internal import CScheduler

/// Counts work that is under way, so that somebody can wait for all of it.
///
///     let group = WaitGroup()
///     for file in files {
///         queue.async(group: group) { convert(file) }
///     }
///     group.wait()
///
/// A group may be used again at once, by any number of threads and queues, and waited for by several.
///
/// - Ordering: What the closures wrote is visible after `wait()` returns and in notifications.
/// - Threading: Safe from any thread.
@safe public final class WaitGroup: Sendable {
    // The engine's group is safe to share between threads; the pointer never changes.
    nonisolated(unsafe) let handle: OpaquePointer

    /// How a wait with a deadline ended.
    public enum WaitResult: Sendable {
        /// Everybody has left.
        case success
        /// The time was over before.
        case timedOut
    }

    /// A group in which nothing is under way.
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

    /// Counts one piece of work that is not a queue's closure. It ends with ``leave()``.
    ///
    /// - Ordering: Who waits from here on waits for the ``leave()`` that belongs to it.
    /// - Threading: Any thread.
    /// - Cost: One locked instruction.
    public func enter() {
        unsafe od_group_enter(handle)
    }

    /// Ends what ``enter()`` began. Traps when nothing was entered.
    ///
    /// - Ordering: What was written before is visible to who waited. Notifications are submitted before waiters wake.
    /// - Threading: Any thread; the one that leaves last submits the notifications.
    /// - Cost: One locked instruction; when it was the last, waking who waits.
    public func leave() {
        unsafe od_group_leave(handle)
    }

    /// Waits until nothing is under way.
    ///
    /// - Ordering: What the closures wrote is visible. It ends at the first moment in which nothing is under way,
    ///   whatever is entered next.
    /// - Threading: Any thread. A spare replaces a waiting worker. A closure that waits for a group in which it is
    ///   counted waits for ever.
    /// - Cost: A load where nothing is under way; else a sleep in the kernel.
    public func wait() {
        _ = unsafe od_group_wait(handle, .max)
    }

    /// Waits until nothing is under way, but no longer than `timeout`.
    ///
    /// - Parameter timeout: How long to wait; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` when something still was under way.
    /// - Ordering: After `.success` what the closures wrote is visible.
    /// - Threading: Any thread. A spare replaces a waiting worker.
    /// - Cost: A load where nothing is under way; else a sleep in the kernel.
    public func wait(timeout: Duration) -> WaitResult {
        unsafe od_group_wait(handle, timeout.nanoseconds) ? .success : .timedOut
    }

    /// The same for a group that was entered by hand for what was submitted to `queue`, in `qos`: the waiter's
    /// quality of service overrides that one's too.
    package func wait(
        overriding queue: TaskQueue?, _ qos: TaskQueue.QoS?, timeout: Duration? = nil
    ) -> WaitResult {
        let limit = timeout?.nanoseconds ?? .max
        return withExtendedLifetime(queue) {
            guard case .engine(let engine, _) = queue?.route else {
                return unsafe od_group_wait(handle, limit) ? .success : .timedOut
            }
            return unsafe od_group_wait_for(handle, engine, qos?.rawValue ?? -1, limit) ? .success : .timedOut
        }
    }

    /// The same for a queue that the caller has no right to keep: it is asked for again for each part of the wait,
    /// each as long as the ones before together, and at most a second.
    func wait(
        overridingWeak queue: () -> TaskQueue?, _ qos: TaskQueue.QoS?, timeout: Duration? = nil
    ) -> WaitResult {
        let began = ContinuousClock.now
        var part = Duration.milliseconds(20)
        while let queue = queue() {
            let left = timeout.map { $0 - began.duration(to: .now) }
            if let left, left <= part { return wait(overriding: queue, qos, timeout: left) }
            if wait(overriding: queue, qos, timeout: part) == .success { return .success }
            part = min(part * 2, .seconds(1))
        }
        return wait(overriding: nil, nil, timeout: timeout.map { $0 - began.duration(to: .now) })
    }

    /// Waits until nothing is under way, but no longer than until `deadline`.
    ///
    /// - Parameter deadline: When to give up; one in the past only looks.
    /// - Returns: `.success`, or `.timedOut` when something still was under way.
    /// - Ordering: After `.success` what the closures wrote is visible.
    /// - Threading: As of ``wait(timeout:)``.
    /// - Cost: As of ``wait(timeout:)``.
    public func wait(deadline: ContinuousClock.Instant) -> WaitResult {
        wait(timeout: ContinuousClock.now.duration(to: deadline))
    }

    /// Suspends until nothing is under way.
    ///
    /// It does not end early when the calling task is cancelled: what the group counts is still under way.
    ///
    /// - Ordering: What the closures wrote is visible.
    /// - Threading: Any task; no thread is held.
    /// - Cost: One allocation and a suspension.
    public func wait() async {
        await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // The caller keeps the group until it is resumed.
            whenEmpty { [unowned(unsafe) self] in
                unsafe Handoff.sends(by: self)
                unsafe continuation.resume()
            }
        }
        Handoff.received(by: self)
    }

    /// Submits `body` to `queue` once, when nothing is under way: at once if nothing is.
    ///
    ///     group.notify(on: .main) { show(results) }
    ///
    /// Any number of notifications may wait. Each is submitted once, when the group is next empty. The group may be
    /// used again before that.
    ///
    /// - Parameters:
    ///   - queue: Where `body` runs.
    ///   - qos: Raises `body` above the queue's own quality of service.
    ///   - flags: How `body` is submitted: ``TaskQueue/Flags/barrier`` has it run alone in the queue.
    ///     ``TaskQueue/Flags/inheritQoS`` is about who calls this, not about who leaves last.
    ///   - body: What to run then. A group that goes away while something is under way that never leaves does
    ///     not run it.
    /// - Ordering: Notifications are submitted in the order of the calls. Writes of the group's closures are visible
    ///   to them.
    /// - Threading: Any thread.
    /// - Cost: One allocation; the thread that leaves last submits them.
    public func notify(
        on queue: TaskQueue, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        execute body: sending @escaping () -> Void
    ) {
        // The closure is handed from here to the queue, once.
        nonisolated(unsafe) let body = body
        let asked = TaskQueue.QoS.asked(qos, flags)
        let terms = flags.subtracting([.inheritQoS, .noQoS])
        whenEmpty { queue.async(qos: asked, flags: terms) { unsafe body() } }
    }

    /// Submits `item` to `queue` once, when nothing is under way: at once if nothing is.
    ///
    /// - Parameters:
    ///   - queue: Where the item runs.
    ///   - item: What to submit then. When it is cancelled before, nothing runs.
    /// - Ordering: As of ``notify(on:qos:flags:execute:)``.
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
    /// The group in one line: how much is under way.
    public var description: String {
        unsafe "WaitGroup (\(od_group_pending(handle)) pending)"
    }
}
