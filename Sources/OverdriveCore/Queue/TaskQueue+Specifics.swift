// Owns the specific values of queues, and the checks for the current queue. Programs call it. A value never outlives
// the last closure of its queue.

internal import CScheduler
internal import Dispatch
internal import Synchronization

extension TaskQueue {
    /// A key for values that queues store for their closures.
    ///
    ///     static let tenant = TaskQueue.SpecificKey<Tenant>()
    ///
    /// Each key object is distinct: two keys of one type have separate values.
    public final class SpecificKey<Value: Sendable>: Sendable {
        /// Creates a key without values.
        ///
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public init() {}
    }

    /// Stores a value in the queue, or replaces the current value.
    ///
    ///     queue.setSpecific(key: tenant, value: Tenant(id: 7))
    ///     queue.async { log(TaskQueue.getSpecific(key: tenant)) }
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - value: The value; nil removes the current one.
    /// - Ordering: Later reads return the new value, also in closures that started before.
    /// - Threading: Any thread. The value is released when it is replaced, or when the queue and its last
    ///   closure are gone.
    /// - Cost: One lock; for the queue's first value, one allocation.
    public func setSpecific<Value>(key: SpecificKey<Value>, value: Value?) {
        specifics(make: value != nil)?.set(key, to: value)
    }

    /// Returns the queue's own value for `key`, or nil.
    ///
    /// - Ordering: The value that was set last.
    /// - Threading: Any thread.
    /// - Cost: A short critical section and a dictionary lookup.
    public func getSpecific<Value>(key: SpecificKey<Value>) -> Value? {
        specifics(make: false)?.value(of: key)
    }

    /// Returns the value for `key` of the queue whose closure the calling thread runs, or nil.
    ///
    /// If several queues surround the caller, as inside ``sync(execute:)``, the innermost queue with a value for the
    /// key counts.
    ///
    /// - Ordering: The value that was set last.
    /// - Threading: Any thread.
    /// - Cost: One lookup for each surrounding queue, up to the first with a value.
    public static func getSpecific<Value>(key: SpecificKey<Value>) -> Value? {
        for unsafe queue in unsafe QueuesOfThread() {
            guard let specifics = unsafe Specifics.of(queue) else { continue }
            if let value = specifics.value(of: key) ?? specifics.shared?.getSpecific(key: key) { return value }
        }
        for route in DispatchRoute.around {
            if let value = route.specifics.value(of: key) { return value }
        }
        return isOnMain ? main.getSpecific(key: key) : nil
    }

    // MARK: - The current queue

    /// The label of the innermost queue whose closure the calling thread runs, or nil. A label longer than 47 bytes
    /// is cut after a whole character.
    public static var currentLabel: String? {
        for unsafe queue in unsafe QueuesOfThread() { return unsafe String(cString: od_queue_label(queue)) }
        if let route = DispatchRoute.around.first { return route.isMain ? main.label : route.queue.label }
        return isOnMain ? main.label : nil
    }

    /// Traps unless the calling thread runs a closure of the queue, at any nesting depth.
    ///
    ///     func append(_ line: Line) {
    ///         journal.assertOnQueue()
    ///         lines.append(line)
    ///     }
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A few loads. Release builds check it too.
    public func assertOnQueue() {
        guard isCurrent else {
            trap("TaskQueue.assertOnQueue(): not on the queue (\"\(label)\"), but \(TaskQueue.whereabouts). Submit to it.")
        }
    }

    /// Traps unless the calling thread runs a barrier of the queue, or any closure of a serial queue.
    ///
    ///     func removeAll() {
    ///         cache.assertOnQueueAsBarrier()
    ///         entries = [:]
    ///     }
    ///
    /// For a dispatch queue of the program, libdispatch makes this check and traps without a message.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A few loads. Release builds check it too.
    public func assertOnQueueAsBarrier() {
        assertOnQueue()
        switch route {
        case .engine(let queue, _) where unsafe !od_queue_is_alone(queue):
            trap("TaskQueue.assertOnQueueAsBarrier(): the closure is not a barrier (\"\(label)\"). Submit it with .barrier.")
        case .dispatch(let route) where !route.isMain:
            dispatchPrecondition(condition: .onQueueAsBarrier(route.queue))
        default: break
        }
    }

    /// Traps if the calling thread runs a closure of the queue, at any nesting depth.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A few loads. Release builds check it too.
    public func assertNotOnQueue() {
        if isCurrent {
            trap("TaskQueue.assertNotOnQueue(): called from a closure of the queue (\"\(label)\"). Call it elsewhere.")
        }
    }

    private static var whereabouts: String {
        switch currentLabel {
        case nil: "on a thread that runs no queue's closure"
        case "": "in a closure of a queue without a label"
        case let label?: "in a closure of \"\(label)\""
        }
    }

    /// Whether the calling thread runs a closure of the queue, at any nesting depth.
    package var isCurrent: Bool {
        switch route {
        case .engine(let queue, _): unsafe od_queue_is_current(queue)
        case .dispatch(let route): route.isCurrent
        }
    }

    /// Makes closures of this queue also count as closures of `shared`, which gives them no order or limit. Call
    /// before the first submission.
    package func standOn(shared: TaskQueue) {
        specifics(make: true)?.standOn(shared)
    }

    /// Whether the calling thread runs a closure of a queue that counts as this shared queue.
    package var isUnderCurrent: Bool {
        for unsafe queue in unsafe QueuesOfThread() {
            if let shared = unsafe Specifics.of(queue)?.shared, shared.isSameAs(self) { return true }
        }
        return false
    }

    private func isSameAs(_ other: TaskQueue) -> Bool {
        guard case .engine(let mine, _) = route, case .engine(let theirs, _) = other.route else { return false }
        return mine == theirs
    }

    /// Whether the calling thread runs a barrier of the queue or a closure of a serial queue. Requires ``isCurrent``.
    package var isAlone: Bool {
        switch route {
        case .engine(let queue, _): unsafe od_queue_is_alone(queue)
        case .dispatch: true
        }
    }

    func specifics(make: Bool) -> Specifics? {
        switch route {
        case .engine(let queue, _): unsafe Specifics.of(queue) ?? (make ? Specifics.adopted(by: queue) : nil)
        case .dispatch(let route): route.specifics
        }
    }
}

/// The engine's queues whose closures surround the calling thread's code, innermost first.
private struct QueuesOfThread: @unsafe Sequence, @unsafe IteratorProtocol {
    private var depth: Int32 = 0

    mutating func next() -> OpaquePointer? {
        defer { depth += 1 }
        return unsafe od_queue_of_thread(depth)
    }
}

/// The specific values of a queue. The engine's queue owns this object, because its closures may outlive the
/// `TaskQueue`.
final class Specifics: Sendable {
    private struct Entry: Sendable {
        // Retained, so that no later key gets the same identity.
        let key: any Sendable
        let value: any Sendable
    }

    private let entries = Locked<[ObjectIdentifier: Entry]>([:])
    let tracking = Locked<ProgressTracker?>(nil)
    /// Whether the queue has a tracker. Submissions read this flag first, so that only queues with progress take the
    /// lock.
    private let tracks = Atomic(false)
    private let targets = Locked<Specifics?>(nil)
    /// 1 + the band of the shared queue that this queue counts as, or 0.
    private let sharedBand = Atomic<UInt8>(0)

    @inline(__always)
    var isTracked: Bool { tracks.load(ordering: .relaxed) }  // Relaxed: the lock orders the tracker.

    /// The tracker for new submissions, or nil.
    var tracker: ProgressTracker? { isTracked ? lastTracker : nil }

    /// The last tracker, also after its end.
    var lastTracker: ProgressTracker? { tracking.withLock { $0 } }

    func track(_ tracker: ProgressTracker) {
        let before = tracking.withLock { tracking in
            defer { tracking = tracker }
            tracks.store(true, ordering: .relaxed)  // Relaxed: written under the lock.
            return tracking
        }
        before?.becomeComplete()
    }

    /// Ends the tracking: no closures are added to the tracker, but its progress can still be read.
    func endTracking() {
        let tracker = tracking.withLock { tracking in
            tracks.store(false, ordering: .relaxed)  // Relaxed: written under the lock.
            return tracking
        }
        tracker?.becomeComplete()
    }

    /// The shared queue that this queue counts as.
    var shared: TaskQueue? {
        // Relaxed: the value depends on no other memory, and is written before the first submission.
        let band = sharedBand.load(ordering: .relaxed)
        return band == 0 ? nil : TaskQueue.QoS(rawValue: .init(band - 1)).map { .global(qos: $0) }
    }

    func standOn(_ shared: TaskQueue) {
        sharedBand.store(UInt8(shared.qos.rawValue) + 1, ordering: .relaxed)  // Relaxed: as above.
    }

    /// Keeps the target's values as long as this object.
    func keep(_ values: Specifics) {
        targets.withLock { $0 = values }
    }

    func set<Value>(_ key: TaskQueue.SpecificKey<Value>, to value: Value?) {
        let entry = value.map { Entry(key: key, value: $0) }
        // Release the old value outside the lock: its deinitialiser may read another value.
        let old = entries.withLock { entries in
            // Replace the dictionary in one step, so that a forked child never sees a half-changed one.
            var changed = entries
            changed[ObjectIdentifier(key)] = entry
            swap(&entries, &changed)
            return changed
        }
        _ = consume old
    }

    func value<Value>(of key: TaskQueue.SpecificKey<Value>) -> Value? {
        entries.withLock { $0[ObjectIdentifier(key)] }?.value as? Value
    }

    static func of(_ queue: OpaquePointer) -> Specifics? {
        unsafe od_queue_context(queue).map { unsafe Unmanaged<Specifics>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Stores a new object in the queue, unless another thread is first. Returns the stored object.
    static func adopted(by queue: OpaquePointer) -> Specifics? {
        let mine = unsafe Unmanaged.passRetained(Specifics())
        let winner = unsafe od_queue_adopt_context(queue, mine.toOpaque())
        if unsafe winner != mine.toOpaque() { unsafe mine.release() }
        return unsafe of(queue)
    }

    /// Ends the tracking when the queue's handle is released. The values are released after the queue's last closure.
    static func release(with queue: OpaquePointer) {
        guard let context = unsafe od_queue_context(queue) else { return }
        unsafe of(queue)?.endTracking()
        let kept = unsafe od_queue_notify(queue, { context in
            if let context = unsafe context { unsafe Unmanaged<Specifics>.fromOpaque(context).release() }
        }, unsafe context)
        Callback.demand(kept, by: "TaskQueue")
    }
}
