// Owns the public queue object, its creation and its release. Programs create queues; the other files of this folder
// add their operations. A queue owns no thread, and never runs a closure in its initialiser.

internal import CScheduler
internal import Dispatch
package import Synchronization

/// Submits closures to a scheduler with an order, a limit and a name.
///
///     let queue = TaskQueue()
///     let group = WaitGroup()
///     for url in urls {
///         queue.async(group: group) { process(url) }
///     }
///     group.wait()
///
/// A queue has no thread. `TaskQueue()` runs closures as workers become free. `serial(label:qos:scheduler:)` runs
/// them one at a time, in order. A limited queue runs a limited number at a time. An idle queue takes less than 2 KB.
///
/// - Ordering: Each closure runs once, or is reported cancelled once. Writes before the submission are visible to the
///   closure. Closures that one thread submits start in order. On a queue that runs several closures at a time, a
///   worker may take 32 at once. While one of these runs, up to 256 later closures may overtake the others.
/// - Threading: Any thread, also inside closures.
/// - Cost: A pending closure takes 16 bytes beside its captures. A submission allocates nothing and takes no lock,
///   except one short critical section on a serial or limited queue.
public final class TaskQueue: Sendable {
    /// No limit: as many concurrent closures as the scheduler has threads, spare workers included.
    public static let unlimited = -1

    /// The queue's name in reports and messages.
    public let label: String

    /// The quality of service of the queue's closures.
    public let qos: QoS

    let route: Route

    /// The destination of the queue's closures.
    @safe enum Route: @unchecked Sendable {
        // The engine's queue is thread-safe, and the pointer never changes.
        case engine(OpaquePointer, Scheduler)
        // The main queue, or another dispatch queue.
        case dispatch(DispatchRoute)
    }

    /// The task-side object that the queue's tasks retain instead of this object, or 0; see ``withTaskSide(_:)``.
    let taskSide = Atomic<UInt>(0)

    /// Whether this object is a task-side object.
    let isTaskSide: Bool

    /// True for a task-side object that lost the race of two threads to create it. It does not own the engine's
    /// queue.
    let isSpare = Atomic(false)

    /// The ``TaskRegistry`` of `Overdrive` for the queue's tasks, or 0. It is stored in the task-side object at the
    /// first task, retained, and set once per process. `AtomicLazyReference` would look up its type in the runtime at
    /// each access.
    package let taskStorage = Atomic<UInt>(0)

    /// The flag of `isSuspended`, independent of the count of ``suspend()``.
    let suspensionFlag = Locked(false)

    /// The target; see ``setTarget(_:)``. The engine's queue retains the target's engine queue while it has closures.
    let keptTarget = Locked<TaskQueue?>(nil)

    /// The current cancel epoch. It is created at the first item or ``run(_:)`` body after a ``cancelAll()``.
    let cancelEpoch = Locked<CancelEpoch?>(nil)

    /// The queue's executors for Swift Concurrency, created on request.
    let executors = Locked<QueueExecutors?>(nil)

    /// True for a shared queue, on which ``suspend()`` and limits trap.
    let isGlobal: Bool

    /// Creates a concurrent queue.
    ///
    ///     let downloads = TaskQueue(qos: .utility, maxConcurrentTaskCount: 4)
    ///
    /// - Parameters:
    ///   - qos: The quality of service of the closures.
    ///   - maxConcurrentTaskCount: The maximum number of concurrent closures: 1 or more, or ``unlimited``. 0 traps.
    ///   - initiallyInactive: True if no closure starts before ``activate()``.
    ///   - scheduler: The scheduler whose workers run the closures.
    /// - Ordering: Closures start in the order of their submission, except within the batches of workers; see
    ///   ``TaskQueue``.
    /// - Threading: Any thread.
    /// - Cost: One object and one engine queue, together less than 2 KB; no thread.
    public convenience init(
        qos: QoS = .default,
        maxConcurrentTaskCount: Int = TaskQueue.unlimited,
        initiallyInactive: Bool = false,
        scheduler: Scheduler = .shared
    ) {
        unsafe self.init(
            label: "", qos: qos, limit: maxConcurrentTaskCount, isInactive: initiallyInactive, scheduler: scheduler)
    }

    /// Creates a concurrent queue with a label.
    ///
    /// - Parameters:
    ///   - label: The name in reports and messages; the engine keeps at most 47 bytes, in whole characters.
    ///   - qos: The quality of service of the closures.
    ///   - maxConcurrentTaskCount: The maximum number of concurrent closures: 1 or more, or ``unlimited``. 0 traps.
    ///   - initiallyInactive: True if no closure starts before ``activate()``.
    ///   - scheduler: The scheduler whose workers run the closures.
    /// - Ordering: Closures start in the order of their submission, except within the batches of workers; see
    ///   ``TaskQueue``.
    /// - Threading: Any thread.
    /// - Cost: One object and one engine queue, together less than 2 KB; no thread.
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

    /// Creates a queue that runs its closures one at a time, strictly in order.
    ///
    /// - Parameters:
    ///   - label: The name in reports and messages; the engine keeps at most 47 bytes, in whole characters.
    ///   - qos: The quality of service of the closures.
    ///   - initiallyInactive: True if no closure starts before ``activate()``.
    ///   - scheduler: The scheduler whose workers run the closures; each closure may run on another worker.
    /// - Ordering: Strict: a closure starts after the previous closure has returned.
    /// - Threading: Any thread. Closures run on any free worker, never on two at once.
    /// - Cost: One object and one engine queue, together less than 2 KB; no thread.
    public static func serial(
        label: String = "", qos: QoS = .default, initiallyInactive: Bool = false, scheduler: Scheduler = .shared
    ) -> TaskQueue {
        unsafe TaskQueue(label: label, qos: qos, limit: 1, isInactive: initiallyInactive, scheduler: scheduler)
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

    /// Creates a queue on a dispatch queue, which controls limits and suspension.
    init(label: String, qos: QoS, route: DispatchRoute) {
        self.label = label
        self.qos = qos
        isGlobal = true
        isTaskSide = false
        self.route = .dispatch(route)
    }

    /// Creates the task-side object of `queue`, which the tasks of `queue` retain.
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
            // The last task releases the engine's queue.
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

    /// Returns the part of a label that the engine stores: at most 47 bytes, in whole characters.
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

    // MARK: - Shared queues

    /// The queue of the main thread, which the main dispatch queue or a run loop serves.
    public static let main = TaskQueue(label: "main", qos: .userInteractive, route: DispatchRoute(.main))

    /// Marks the main queue. Other threads run it while an `async` main function waits.
    private static let mainMark = {
        let mark = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mark, value: true)
        return mark
    }()

    /// Whether `queue` is the process's main queue.
    static func isMain(_ queue: DispatchQueue) -> Bool {
        queue.getSpecific(key: mainMark) == true
    }

    /// Whether the calling thread is the main thread, or runs the main queue for it.
    static var isOnMain: Bool {
        od_thread_is_main() || DispatchQueue.getSpecific(key: mainMark) == true
    }

    /// A shared concurrent queue for work that no code waits for.
    public static var background: TaskQueue {
        ControlledScope.here?.global("background", qos: .background) ?? backgroundOfTheProcess
    }

    private static let backgroundOfTheProcess = shared("background", qos: .background, on: .ofTheProcess)

    /// Creates a queue that all code shares.
    static func shared(_ label: String, qos: QoS, on scheduler: Scheduler) -> TaskQueue {
        unsafe TaskQueue(label: label, qos: qos, limit: unlimited, scheduler: scheduler, isGlobal: true)
    }

    // The labels are literals: printing an enum case needs reflection metadata, which a program may lack.
    private static let globalLabels = [
        "global-userInteractive", "global-userInitiated", "global-default", "global-utility", "global-background",
    ]
    private static let globals = zip(QoS.allCases, globalLabels).map { shared($1, qos: $0, on: .ofTheProcess) }

    /// Returns the shared concurrent queue of a quality of service.
    ///
    /// - Ordering: The same as for a concurrent queue, over the closures of all users.
    /// - Threading: Any thread.
    /// - Cost: A call of the engine and a load; the queue already exists.
    public static func global(qos: QoS = .default) -> TaskQueue {
        let number = Int(qos.rawValue)
        return ControlledScope.here?.global(globalLabels[number], qos: qos) ?? globals[number]
    }

    /// Submits `body` to the main thread and returns at once.
    ///
    /// - Ordering: After all earlier submissions to the main queue.
    /// - Threading: Any thread, also the main thread; the call never runs `body` itself.
    /// - Cost: One submission to libdispatch.
    public static func onMain(_ body: sending @escaping @MainActor () -> Void) {
        DispatchQueue.main.async(execute: body)
    }
}
