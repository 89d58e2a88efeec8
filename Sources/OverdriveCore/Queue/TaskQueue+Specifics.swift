internal import CScheduler
internal import Dispatch
internal import Synchronization

extension TaskQueue {
    /// Names a value that queues keep for the closures that run on them.
    ///
    ///     static let tenant = TaskQueue.SpecificKey<Tenant>()
    ///
    /// Each key is its own name: two keys of the same type name two values.
    public final class SpecificKey<Value: Sendable>: Sendable {
        /// A key that no queue has a value for.
        ///
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public init() {}
    }

    /// Keeps a value with the queue, in place of the one before.
    ///
    ///     queue.setSpecific(key: tenant, value: Tenant(id: 7))
    ///     queue.async { log(TaskQueue.getSpecific(key: tenant)) }
    ///
    /// - Parameters:
    ///   - key: The value's name.
    ///   - value: The value; nil removes the current one.
    /// - Ordering: Who asks afterwards finds the new value, in closures that had begun before, too.
    /// - Threading: Any thread. The value is released when it is replaced, or when the queue and its last
    ///   closure are gone.
    /// - Cost: One lock and, for the queue's first value, one allocation.
    public func setSpecific<Value>(key: SpecificKey<Value>, value: Value?) {
        specifics(make: value != nil)?.set(key, to: value)
    }

    /// The queue's own value for `key`, or nil.
    ///
    /// - Ordering: The value that was set last.
    /// - Threading: Any thread.
    /// - Cost: A short critical section and a look into a dictionary.
    public func getSpecific<Value>(key: SpecificKey<Value>) -> Value? {
        specifics(make: false)?.value(of: key)
    }

    /// The value for `key` of the queue whose closure the calling thread runs, or nil.
    ///
    /// If several queues surround the caller, as inside ``sync(execute:)``, the innermost queue with a value for the
    /// key counts.
    ///
    /// - Ordering: The value that was set last.
    /// - Threading: Any thread.
    /// - Cost: As of the queue's own, once for each queue around the caller until one has a value.
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

    // MARK: - Where the caller is

    /// The label of the queue whose closure the calling thread runs: the innermost one. Nil on a thread that
    /// runs none. A label longer than 47 bytes is cut behind a whole character.
    public static var currentLabel: String? {
        for unsafe queue in unsafe QueuesOfThread() { return unsafe String(cString: od_queue_label(queue)) }
        if let route = DispatchRoute.around.first { return route.isMain ? main.label : route.queue.label }
        return isOnMain ? main.label : nil
    }

    /// Traps unless the calling thread runs one of the queue's closures, however deep.
    ///
    ///     func append(_ line: Line) {
    ///         journal.assertOnQueue()
    ///         lines.append(line)
    ///     }
    ///
    /// - Ordering: None.
    /// - Threading: Any thread, which is what it asks about.
    /// - Cost: A few loads. It is checked in release builds too.
    public func assertOnQueue() {
        guard isCurrent else {
            trap("TaskQueue.assertOnQueue(): not on the queue (\"\(label)\"), but \(TaskQueue.whereabouts). Submit to it.")
        }
    }

    /// Traps unless the calling thread runs one of the queue's barriers, or any closure of a serial queue.
    ///
    ///     func removeAll() {
    ///         cache.assertOnQueueAsBarrier()
    ///         entries = [:]
    ///     }
    ///
    /// On a dispatch queue of the user's own it is libdispatch that looks, and says nothing.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread, which is what it asks about.
    /// - Cost: A few loads. It is checked in release builds too.
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

    /// Traps when the calling thread runs one of the queue's closures, however deep.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread, which is what it asks about.
    /// - Cost: A few loads. It is checked in release builds too.
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

    /// Whether the calling thread runs one of the queue's closures, however deep.
    package var isCurrent: Bool {
        switch route {
        case .engine(let queue, _): unsafe od_queue_is_current(queue)
        case .dispatch(let route): route.isCurrent
        }
    }

    /// Says that closures of this queue count as closures of `shared`, which gives it neither order nor limit.
    ///
    /// Called before the first submission.
    package func standOn(shared: TaskQueue) {
        specifics(make: true)?.standOn(shared)
    }

    /// Whether the calling thread runs a closure of a queue that stands on this shared one.
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

    /// Whether the calling thread, which is current, runs one of the queue's barriers or a closure of a serial queue.
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

/// The engine's queues around the calling thread, from the innermost.
private struct QueuesOfThread: @unsafe Sequence, @unsafe IteratorProtocol {
    private var depth: Int32 = 0

    mutating func next() -> OpaquePointer? {
        defer { depth += 1 }
        return unsafe od_queue_of_thread(depth)
    }
}

/// The values that a queue keeps. The engine's queue holds them, because its closures outlive a queue's
/// handle.
final class Specifics: Sendable {
    private struct Entry: Sendable {
        // Kept, so that no later key has its identity.
        let key: any Sendable
        let value: any Sendable
    }

    private let entries = Locked<[ObjectIdentifier: Entry]>([:])
    let tracking = Locked<ProgressTracker?>(nil)
    /// Whether submissions look for a tracker: the lock is for those alone that find one.
    private let tracks = Atomic(false)
    private let targets = Locked<Specifics?>(nil)
    /// The band of the shared queue that the queue stands on, and 1; 0: none.
    private let sharedBand = Atomic<UInt8>(0)

    @inline(__always)
    var isTracked: Bool { tracks.load(ordering: .relaxed) }  // relaxed: the lock orders what is behind it

    /// What the queue's submissions report to.
    var tracker: ProgressTracker? { isTracked ? lastTracker : nil }

    /// What they report to, or have reported to.
    var lastTracker: ProgressTracker? { tracking.withLock { $0 } }

    func track(_ tracker: ProgressTracker) {
        let before = tracking.withLock { tracking in
            defer { tracking = tracker }
            tracks.store(true, ordering: .relaxed)  // under the lock
            return tracking
        }
        before?.becomeComplete()
    }

    /// No more closures come than have come; how far they are can still be asked.
    func endTracking() {
        let tracker = tracking.withLock { tracking in
            tracks.store(false, ordering: .relaxed)  // under the lock
            return tracking
        }
        tracker?.becomeComplete()
    }

    /// The shared queue that the queue stands on.
    var shared: TaskQueue? {
        // relaxed: written before the first submission, or with a value that needs nothing else
        let band = sharedBand.load(ordering: .relaxed)
        return band == 0 ? nil : TaskQueue.QoS(rawValue: .init(band - 1)).map { .global(qos: $0) }
    }

    func standOn(_ shared: TaskQueue) {
        sharedBand.store(UInt8(shared.qos.rawValue) + 1, ordering: .relaxed)  // as above
    }

    /// The target's stay as long as these.
    func keep(_ values: Specifics) {
        targets.withLock { $0 = values }
    }

    func set<Value>(_ key: TaskQueue.SpecificKey<Value>, to value: Value?) {
        let entry = value.map { Entry(key: key, value: $0) }
        // The old value goes outside of the lock: its deinitialiser may ask for another.
        let old = entries.withLock { entries in
            // In one step, between two of which a fork would leave a child half of it.
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

    /// The queue's, which is this one if it had none.
    static func adopted(by queue: OpaquePointer) -> Specifics? {
        let mine = unsafe Unmanaged.passRetained(Specifics())
        let winner = unsafe od_queue_adopt_context(queue, mine.toOpaque())
        if unsafe winner != mine.toOpaque() { unsafe mine.release() }
        return unsafe of(queue)
    }

    /// The queue's handle goes: the values go with its last closure.
    static func release(with queue: OpaquePointer) {
        guard let context = unsafe od_queue_context(queue) else { return }
        unsafe of(queue)?.endTracking()
        let kept = unsafe od_queue_notify(queue, { context in
            if let context = unsafe context { unsafe Unmanaged<Specifics>.fromOpaque(context).release() }
        }, unsafe context)
        Callback.demand(kept, by: "TaskQueue")
    }
}
