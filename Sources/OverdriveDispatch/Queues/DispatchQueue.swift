// Owns the drop-in queue over a TaskQueue. Programs create it. `main` forwards to libdispatch.

public import Dispatch
internal import Synchronization
public import OverdriveCore

/// Replaces Dispatch's queue. Overdrive's workers run the closures.
///
///     let journal = DispatchQueue(label: "journal", qos: .utility)
///     journal.async { append(line) }
///
/// It has the same members as Dispatch's queue and wraps ``taskQueue``. `main` is the process's main queue, which the
/// main thread's run loop serves.
///
/// - Ordering: The order of Dispatch: a serial queue runs its closures one at a time, in order.
/// - Threading: Safe from any thread.
/// - Cost: A submission costs a few nanoseconds more than on `TaskQueue`, and allocates nothing.
public final class DispatchQueue: DispatchObject, @unchecked Sendable {
    /// The Overdrive queue that runs the closures. Overdrive's functions on it use the same queue.
    ///
    /// Plain closures of ``main`` go directly to libdispatch's main queue, and are not counted here.
    public let taskQueue: TaskQueue

    /// The queue's name in reports and messages.
    public let label: String

    /// The quality of service given at creation; `.unspecified` if none was given.
    public let qos: DispatchQoS

    /// The libdispatch queue that runs the closures, if there is one. It is the main queue, a queue passed by the program,
    /// or a queue that targets one of these.
    let foreign: Dispatch.DispatchQueue?

    /// libdispatch's main queue, in ``main`` only. Plain closures are submitted directly to it.
    let mainItself: Dispatch.DispatchQueue?

    /// Whether the queue is a shared global queue, for which suspending has no effect, as in Dispatch.
    let isShared: Bool

    let isConcurrent: Bool

    /// The bridged queue that ``underlying`` creates.
    let madeStandIn = Locked<StandIn?>(nil)
    let isStandInMade = Atomic(false)

    private let suspensions = Atomic(0)

    /// The attributes of a queue.
    public struct Attributes: OptionSet, Sendable {
        public let rawValue: UInt64

        public init(rawValue: UInt64) {
            self.rawValue = rawValue
        }

        /// The queue runs several closures at a time.
        public static let concurrent = Attributes(rawValue: 2)
        /// No closure starts before ``DispatchQueue/activate()``.
        public static let initiallyInactive = Attributes(rawValue: 4)
    }

    /// The older names of the shared queues.
    public enum GlobalQueuePriority: Sendable {
        /// The priority of `.userInitiated`.
        case high
        /// The priority of `.default`.
        case `default`
        /// The priority of `.utility`.
        case low
        /// The priority of `.background`.
        case background
    }

    /// Has no effect on Linux, which has no autorelease pools.
    public enum AutoreleaseFrequency: Sendable {
        /// The setting of the target.
        case inherit
        /// A pool for each closure.
        case workItem
        /// No pool.
        case never
    }

    /// Creates a queue, which is serial unless its attributes say otherwise.
    ///
    /// - Parameters:
    ///   - label: The name in reports and messages.
    ///   - qos: The quality of service; `.unspecified` for the target's or the default.
    ///   - attributes: Whether the queue is concurrent, and whether it waits for ``activate()``.
    ///   - autoreleaseFrequency: Has no effect on Linux.
    ///   - target: The queue in whose order and limits the closures run.
    public convenience init(
        label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
        autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
    ) {
        let isConcurrent = attributes.contains(.concurrent)
        let isInactive = attributes.contains(.initiallyInactive)
        if let theirs = target?.foreign {
            var described: Dispatch.DispatchQueue.Attributes = []
            if isConcurrent { described.insert(.concurrent) }
            if isInactive { described.insert(.initiallyInactive) }
            let foreign = Dispatch.DispatchQueue(label: label, qos: qos, attributes: described, target: theirs)
            self.init(
                TaskQueue(dispatching: foreign), label: label, qos: qos, isConcurrent: isConcurrent, foreign: foreign,
                isInactive: isInactive)
            return
        }
        // A shared target has no order or limit; only its quality of service matters.
        let asked = qos.asked ?? target?.taskQueue.qos
        let queue: TaskQueue
        if let target, !target.isShared {
            queue =
                isConcurrent
                ? .concurrent(label: label, qos: asked, target: target.taskQueue, initiallyInactive: isInactive)
                : .serial(label: label, qos: asked, target: target.taskQueue, initiallyInactive: isInactive)
        } else {
            queue =
                isConcurrent
                ? .concurrent(label: label, qos: asked ?? .default, initiallyInactive: isInactive)
                : .serial(label: label, qos: asked ?? .default, initiallyInactive: isInactive)
        }
        // As in Dispatch, the queue's quality of service selects the shared queue. If the queue has none, it reports
        // the target's. A concurrent queue without a target is on the shared queue of its quality of service.
        if target?.isShared == true || target == nil && isConcurrent {
            queue.standOn(shared: .global(qos: asked ?? .default))
        }
        let told = qos == .unspecified && target?.isShared == true ? target?.qos ?? qos : qos
        self.init(queue, label: label, qos: told, isConcurrent: isConcurrent, isInactive: isInactive)
    }

    /// Creates a queue whose closures run on a `TaskQueue`, for example of a separate scheduler.
    ///
    ///     let queue = DispatchQueue(taskQueue: .serial(label: "render", scheduler: renderers))
    ///
    /// - Parameter queue: The queue that runs the closures. Its order, limit and suspension apply.
    public convenience init(taskQueue queue: TaskQueue) {
        self.init(
            queue, label: queue.label, qos: .unspecified, isConcurrent: queue.maxConcurrentTaskCount != 1,
            isInactive: !queue.isActive)
    }

    /// Creates a queue whose closures run on a libdispatch queue, for code that shares one.
    ///
    ///     let delegate = DispatchQueue(underlying: connection.workQueue)
    ///
    /// - Parameter queue: The libdispatch queue, which also decides the order.
    /// - Cost: A submission costs one allocation more than in libdispatch.
    public convenience init(underlying queue: Dispatch.DispatchQueue) {
        self.init(
            TaskQueue(dispatching: queue), label: queue.label, qos: queue.qos, isConcurrent: true, foreign: queue)
    }

    init(
        _ queue: TaskQueue, label: String, qos: DispatchQoS, isConcurrent: Bool, isShared: Bool = false,
        foreign: Dispatch.DispatchQueue? = nil, mainItself: Dispatch.DispatchQueue? = nil, isInactive: Bool = false
    ) {
        taskQueue = queue
        self.label = label
        self.qos = qos
        self.isConcurrent = isConcurrent
        self.isShared = isShared
        self.foreign = foreign
        self.mainItself = mainItself
        isActivated = Atomic(!isInactive)
    }

    deinit {
        if suspensions.load(ordering: .acquiring) > 0 {
            trap("DispatchQueue.deinit: the queue is suspended (\"\(label)\"). Call resume() before the last release.")
        }
        if !isActivated.load(ordering: .acquiring) {
            trap("DispatchQueue.deinit: the queue is not activated (\"\(label)\"). Call activate() once.")
        }
    }

    // MARK: - Everybody's queues

    /// The queue of the process's main thread.
    public static let main = DispatchQueue(
        .main, label: "com.apple.main-thread", qos: .unspecified, isConcurrent: false,
        foreign: Dispatch.DispatchQueue.main, mainItself: Dispatch.DispatchQueue.main)

    /// Returns the shared concurrent queue of a quality of service.
    public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
        globals[Int((TaskQueue.QoS(qos) ?? .default).rawValue)]
    }

    /// Returns the shared concurrent queue with an older name.
    public static func global(priority: GlobalQueuePriority) -> DispatchQueue {
        switch priority {
        case .high: global(qos: .userInitiated)
        case .default: global(qos: .default)
        case .low: global(qos: .utility)
        case .background: global(qos: .background)
        }
    }

    private static let globals = TaskQueue.QoS.allCases.map { band in
        let (label, qos): (String, DispatchQoS) =
            switch band {
            case .userInteractive: ("com.apple.root.user-interactive-qos", .userInteractive)
            case .userInitiated: ("com.apple.root.user-initiated-qos", .userInitiated)
            case .default: ("com.apple.root.default-qos", .unspecified)
            case .utility: ("com.apple.root.utility-qos", .utility)
            case .background: ("com.apple.root.background-qos", .background)
            }
        return DispatchQueue(.global(qos: band), label: label, qos: qos, isConcurrent: true, isShared: true)
    }

    // MARK: - Control

    private let isActivated: Atomic<Bool>

    /// Starts a queue that was created with `.initiallyInactive`. Has no effect on an active queue.
    public override func activate() {
        guard !isActivated.exchange(true, ordering: .acquiringAndReleasing) else { return }
        foreign?.activate()
        taskQueue.activate()
    }

    /// Prevents further closures from starting until ``resume()``. Calls nest, and running closures continue. Has no
    /// effect on a shared queue.
    public override func suspend() {
        guard !isShared else { return }
        suspensions.add(1, ordering: .acquiringAndReleasing)
        if let foreign { foreign.suspend() } else { taskQueue.suspend() }
    }

    /// Reverts one call of ``suspend()``. Traps if the queue is not suspended. A queue that was created inactive
    /// needs ``activate()``.
    public override func resume() {
        guard !isShared else { return }
        var count = suspensions.load(ordering: .acquiring)
        while count > 0 {
            let (done, now) = suspensions.compareExchange(
                expected: count, desired: count - 1, ordering: .acquiringAndReleasing)
            if done {
                if let foreign { foreign.resume() } else { taskQueue.resume() }
                return
            }
            count = now
        }
        trap("DispatchQueue.resume(): the queue is not suspended (\"\(label)\"). Call it once for each suspend().")
    }

    /// Sets the target of an inactive queue. Traps on an active queue, and for a target that runs on libdispatch,
    /// such as `main`. Pass those targets to the initializer.
    public override func setTarget(queue: DispatchQueue) {
        guard !isActivated.load(ordering: .acquiring) else {
            trap(
                "DispatchQueue.setTarget(queue:): the queue is active (\"\(label)\"). Give the target when the queue is made, "
                    + "or make the queue with .initiallyInactive.")
        }
        if let foreign {
            foreign.setTarget(queue: queue.underlying)
        } else if queue.foreign != nil {
            trap(
                "DispatchQueue.setTarget(queue:): the target runs on libdispatch (\"\(label)\" on \"\(queue.label)\"). Give "
                    + "the target when the queue is made.")
        } else if queue.isShared {
            taskQueue.standOn(shared: queue.taskQueue)
        } else {
            taskQueue.setTarget(queue.taskQueue)
        }
    }
}

extension DispatchQueue: Hashable {
    /// Returns whether both are the same object.
    public static func == (a: DispatchQueue, b: DispatchQueue) -> Bool { a === b }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension DispatchQueue: CustomStringConvertible {
    /// The queue in one line: label and width.
    public var description: String {
        "DispatchQueue \"\(label)\" (\(isConcurrent ? "concurrent" : "serial"))"
    }
}
