internal import CScheduler
internal import Dispatch
package import Synchronization

/// A light handle on a scheduler that gives closures an order, a limit and a name.
///
///     let queue = TaskQueue()
///     let group = WaitGroup()
///     for url in urls {
///         queue.async(group: group) { process(url) }
///     }
///     group.wait()
///
/// A queue has no thread. `TaskQueue()` runs closures as workers become free. `serial(label:qos:scheduler:)` runs
/// them one at a time, in order. A limited queue runs some at a time. An idle queue takes less than two kilobytes.
///
/// - Ordering: Each closure runs once, or is reported cancelled once. Writes before the submission are visible to the
///   closure. Closures start in the order in which one thread submitted them. On a queue that runs several at a time,
///   a worker may take 32 at once. While one of these runs, up to 256 later closures may overtake the others.
/// - Threading: Safe from any thread, and from inside closures.
/// - Cost: A pending closure takes 16 bytes beside its own captures. Submitting takes no lock (a serial or
///   limited queue: one short critical section) and allocates nothing.
public final class TaskQueue: Sendable {
    /// No limit: as many closures at a time as the scheduler has threads, spare workers included.
    public static let unlimited = -1

    /// The queue's name in reports and messages.
    public let label: String

    /// How much the queue's closures matter.
    public let qos: QoS

    let route: Route

    /// Where closures go.
    @safe enum Route: @unchecked Sendable {
        // The engine's queue is safe to share between threads; the pointer never changes.
        case engine(OpaquePointer, Scheduler)
        // The process's main queue, or another dispatch queue.
        case dispatch(DispatchRoute)
    }

    /// The object that the queue's tasks hold in place of this one, at +1, or 0; see ``withTaskSide(_:)``.
    let taskSide = Atomic<UInt>(0)

    /// Whether this is such an object.
    let isTaskSide: Bool

    /// Such an object, made by two threads at once, of which one is enough: the engine's queue is the other one's.
    let isSpare = Atomic(false)

    /// What `Overdrive` keeps for the queue's tasks, a ``TaskRegistry``, on the object that they hold; there from the first
    /// task on. At +1, set once in each process. A bare pointer, because `AtomicLazyReference` asks the runtime for its type at every look.
    package let taskStorage = Atomic<UInt>(0)

    /// `isSuspended`'s own flag, beside the count of ``suspend()``.
    let suspensionFlag = Locked(false)

    /// What the queue is on; see ``setTarget(_:)``. The engine's queue keeps the target's for as long as it has
    /// closures.
    let keptTarget = Locked<TaskQueue?>(nil)

    /// Made when an item, or a body of ``run(_:)``, comes first after a ``cancelAll()``.
    let cancelEpoch = Locked<CancelEpoch?>(nil)

    /// The queue as an executor of Swift Concurrency, as far as anybody has asked for it.
    let executors = Locked<QueueExecutors?>(nil)

    /// Whether ``suspend()`` and limits are refused: the queue belongs to everybody.
    let isGlobal: Bool

    /// A concurrent queue.
    ///
    ///     let downloads = TaskQueue(qos: .utility, maxConcurrentTaskCount: 4)
    ///
    /// - Parameters:
    ///   - qos: How much its closures matter.
    ///   - maxConcurrentTaskCount: How many run at a time: 1 or more, or ``unlimited``. 0 traps.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``.
    ///   - scheduler: Whose workers run them.
    /// - Ordering: Closures begin in the order of their submission, but for what workers take in batches; see
    ///   ``TaskQueue``.
    /// - Threading: Any thread.
    /// - Cost: An object and the engine's queue, less than two kilobytes; no thread.
    public convenience init(
        qos: QoS = .default,
        maxConcurrentTaskCount: Int = TaskQueue.unlimited,
        initiallyInactive: Bool = false,
        scheduler: Scheduler = .shared
    ) {
        unsafe self.init(
            label: "", qos: qos, limit: maxConcurrentTaskCount, isInactive: initiallyInactive, scheduler: scheduler)
    }

    /// A concurrent queue with a label.
    ///
    /// - Parameters:
    ///   - label: For reports and messages; the engine keeps 47 bytes of it, in whole characters.
    ///   - qos: How much its closures matter.
    ///   - maxConcurrentTaskCount: How many run at a time: 1 or more, or ``unlimited``. 0 traps.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``.
    ///   - scheduler: Whose workers run them.
    /// - Ordering: Closures begin in the order of their submission, but for what workers take in batches; see
    ///   ``TaskQueue``.
    /// - Threading: Any thread.
    /// - Cost: An object and the engine's queue, less than two kilobytes; no thread.
    public static func concurrent(
        label: String,
        qos: QoS = .default,
        maxConcurrentTaskCount: Int = TaskQueue.unlimited,
        initiallyInactive: Bool = false,
        scheduler: Scheduler = .shared
    ) -> TaskQueue {
        unsafe TaskQueue(
            label: label, qos: qos, limit: maxConcurrentTaskCount, isInactive: initiallyInactive, scheduler: scheduler)
    }

    /// A queue that runs its closures one at a time, strictly in order.
    ///
    /// - Parameters:
    ///   - label: For reports and messages; the engine keeps 47 bytes of it, in whole characters.
    ///   - qos: How much its closures matter.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``.
    ///   - scheduler: Whose workers run them: now this one, then another.
    /// - Ordering: Strict: a closure begins when the one before it has returned.
    /// - Threading: Any thread. The closures run on whatever worker is free, never on two at once.
    /// - Cost: An object and the engine's queue, less than two kilobytes; no thread.
    public static func serial(
        label: String = "", qos: QoS = .default, initiallyInactive: Bool = false, scheduler: Scheduler = .shared
    ) -> TaskQueue {
        unsafe TaskQueue(label: label, qos: qos, limit: 1, isInactive: initiallyInactive, scheduler: scheduler)
    }

    @available(*, unavailable, message: "DispatchQueue(label:) was serial: write .serial(label:) or .concurrent(label:)")
    public convenience init(label: String, qos: QoS = .default) {
        fatalError("unavailable")
    }

    init(
        label: String, qos: QoS, limit: Int, isInactive: Bool = false, pendingLimit: UInt32 = 0,
        overflow: od_overflow = OD_OVERFLOW_WAITS, target: (TaskQueue, OpaquePointer)? = nil, scheduler: Scheduler,
        isGlobal: Bool = false
    ) {
        let queue = unsafe TaskQueue.engineLabel(label).withCString { label in
            var options = unsafe od_queue_options()
            unsafe options.band = qos.band
            unsafe options.width = TaskQueue.width(limit)
            unsafe options.label = label
            unsafe options.inactive = isInactive
            unsafe options.pending_limit = pendingLimit
            unsafe options.overflow = overflow
            unsafe options.target = target?.1
            unsafe options.shared = isGlobal
            return unsafe od_queue_create_with(scheduler.handle, &options)
        }
        guard let queue = unsafe queue else { trap("TaskQueue.init: out of memory. Raise the memory limit.") }
        self.label = label
        self.qos = qos
        self.isGlobal = isGlobal
        isTaskSide = false
        route = unsafe .engine(queue, scheduler)
        if let target = unsafe target { keptTarget.withLock { $0 = unsafe target.0 } }
    }

    /// Its limits and suspensions are the dispatch queue's own.
    init(label: String, qos: QoS, route: DispatchRoute) {
        self.label = label
        self.qos = qos
        isGlobal = true
        isTaskSide = false
        self.route = .dispatch(route)
    }

    /// What the tasks of `queue` hold.
    init(taskSideOf queue: TaskQueue) {
        label = queue.label
        qos = queue.qos
        isGlobal = false
        isTaskSide = true
        route = queue.route
    }

    deinit {
        if let side = unsafe UnsafeRawPointer(bitPattern: taskSide.load(ordering: .acquiring)) {
            leaveToTasks()
            // The engine's queue goes with the last task.
            unsafe Unmanaged<TaskQueue>.fromOpaque(side).release()
            return
        }
        if let storage = unsafe UnsafeRawPointer(bitPattern: taskStorage.load(ordering: .acquiring)) {
            unsafe Unmanaged<AnyObject>.fromOpaque(storage).release()
        }
        if case .engine(let queue, _) = route, !isSpare.load(ordering: .relaxed) {
            keepTargetsSpecifics()
            executors.withLock { unsafe $0?.keep(Specifics.of(queue)) }
            unsafe Specifics.release(with: queue)
            unsafe od_queue_release(queue)
        }
    }

    /// As much of a label as the engine keeps, in whole characters.
    private static func engineLabel(_ label: String) -> String {
        guard label.utf8.count > 47 else { return label }
        var kept = label.prefix(47)
        while kept.utf8.count > 47 { kept.removeLast() }
        return String(kept)
    }

    static func width(_ limit: Int) -> Int32 {
        guard limit == unlimited || limit >= 1 else {
            trap("TaskQueue.maxConcurrentTaskCount: out of range (\(limit)). Choose 1 or more, or TaskQueue.unlimited.")
        }
        return limit == unlimited ? Int32(OD_UNLIMITED) : Int32(clamping: limit)
    }

    // MARK: - Everybody's queues

    /// The queue of the process's main thread: whatever runs the main dispatch queue or run loop there.
    public static let main = TaskQueue(label: "main", qos: .userInteractive, route: DispatchRoute(.main))

    /// Marks the main queue, which other threads run while an `async` main function waits.
    private static let mainMark = {
        let mark = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mark, value: true)
        return mark
    }()

    /// Whether `queue` is the process's main queue.
    static func isMain(_ queue: DispatchQueue) -> Bool {
        queue.getSpecific(key: mainMark) == true
    }

    /// Whether the calling thread runs the main queue, or should.
    static var isOnMain: Bool {
        od_thread_is_main() || DispatchQueue.getSpecific(key: mainMark) == true
    }

    /// A concurrent queue for work that nobody waits for.
    public static let background = unsafe TaskQueue(
        label: "background", qos: .background, limit: unlimited, scheduler: .shared, isGlobal: true)

    // Each label is written out: printing a case's name looks it up in the program's metadata, which may not be there.
    private static let globals = [
        (QoS.userInteractive, "global-userInteractive"), (.userInitiated, "global-userInitiated"),
        (.default, "global-default"), (.utility, "global-utility"), (.background, "global-background"),
    ].map { qos, label in
        unsafe TaskQueue(label: label, qos: qos, limit: unlimited, scheduler: .shared, isGlobal: true)
    }

    /// The shared concurrent queue of one quality of service.
    ///
    /// - Ordering: As of a concurrent queue, among all who use it.
    /// - Threading: Any thread.
    /// - Cost: A load; the queue is there already.
    public static func global(qos: QoS = .default) -> TaskQueue {
        globals[Int(qos.rawValue)]
    }

    /// Runs `body` on the main thread, soon.
    ///
    /// - Ordering: In the order of the main queue, after what was submitted to it before.
    /// - Threading: Any thread, the main one too: it never calls `body` at once.
    /// - Cost: A submission to libdispatch.
    public static func onMain(_ body: sending @escaping @MainActor () -> Void) {
        DispatchQueue.main.async(execute: body)
    }
}
