public import Dispatch
internal import Synchronization
public import OverdriveCore

/// Dispatch's queue, run by Overdrive's workers.
///
///     let journal = DispatchQueue(label: "journal", qos: .utility)
///     journal.async { append(line) }
///
/// It has Dispatch's shape, member by member, and is thin over ``taskQueue``. `main` is the process's main queue, which
/// whatever runs the main thread runs.
///
/// - Ordering: Dispatch's. A serial queue runs its closures one at a time, in order.
/// - Threading: Safe from any thread.
/// - Cost: A submission costs what it costs on `TaskQueue`, and a few nanoseconds more; nothing is allocated for it.
public final class DispatchQueue: DispatchObject, @unchecked Sendable {
    /// The queue of the engine's that runs the closures: with it Overdrive's own calls go to the same queue.
    ///
    /// ``main``'s plain closures go to the main queue itself and pass it by: they are in none of its counts.
    public let taskQueue: TaskQueue

    /// The queue's name in reports and messages.
    public let label: String

    /// The quality of service given at creation; `.unspecified` if none was given.
    public let qos: DispatchQoS

    /// The queue of libdispatch's that its closures run on, where they do: the main queue's, one that somebody else
    /// has made, or one on such a queue.
    let foreign: Dispatch.DispatchQueue?

    /// The main queue itself, in ``main`` alone: the engine knows the main thread, so plain closures take no detour.
    let mainItself: Dispatch.DispatchQueue?

    /// Shared by everybody: suspending it does nothing, as in Dispatch.
    let isShared: Bool

    let isConcurrent: Bool

    /// See ``underlying``, which makes it.
    let madeStandIn = Locked<StandIn?>(nil)
    let isStandInMade = Atomic(false)

    private let suspensions = Atomic(0)

    /// The attributes of a queue.
    public struct Attributes: OptionSet, Sendable {
        public let rawValue: UInt64

        public init(rawValue: UInt64) {
            self.rawValue = rawValue
        }

        /// It runs its closures several at a time.
        public static let concurrent = Attributes(rawValue: 2)
        /// Nothing starts before ``DispatchQueue/activate()``.
        public static let initiallyInactive = Attributes(rawValue: 4)
    }

    /// The older names of the shared queues.
    public enum GlobalQueuePriority: Sendable {
        /// That of `.userInitiated`.
        case high
        /// That of `.default`.
        case `default`
        /// That of `.utility`.
        case low
        /// That of `.background`.
        case background
    }

    /// Means nothing on Linux, which has no autorelease pools.
    public enum AutoreleaseFrequency: Sendable {
        /// As the target has it.
        case inherit
        /// A pool for each closure.
        case workItem
        /// No pool.
        case never
    }

    /// A queue: serial, unless its attributes say otherwise.
    ///
    /// - Parameters:
    ///   - label: For reports and messages.
    ///   - qos: How much its closures matter; `.unspecified`: as much as the target's, or the default.
    ///   - attributes: Whether it is concurrent, and whether it waits for ``activate()``.
    ///   - autoreleaseFrequency: Means nothing on Linux.
    ///   - target: The queue that it is on: its order and limits hold too.
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
        // On a shared queue there is no order to take over: its quality of service is all there is.
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
        // As in Dispatch: the queue's own quality of service chooses the shared queue, and is told that one's where it has none.
        // A concurrent queue without a target is on the shared queue of its quality of service.
        if target?.isShared == true || target == nil && isConcurrent {
            queue.standOn(shared: .global(qos: asked ?? .default))
        }
        let told = qos == .unspecified && target?.isShared == true ? target?.qos ?? qos : qos
        self.init(queue, label: label, qos: told, isConcurrent: isConcurrent, isInactive: isInactive)
    }

    /// A queue whose closures run on one of the engine's, as on a scheduler of one's own.
    ///
    ///     let queue = DispatchQueue(taskQueue: .serial(label: "render", scheduler: renderers))
    ///
    /// - Parameter queue: Where closures run. Its order, limit and suspension hold.
    public convenience init(taskQueue queue: TaskQueue) {
        self.init(
            queue, label: queue.label, qos: .unspecified, isConcurrent: queue.maxConcurrentTaskCount != 1,
            isInactive: !queue.isActive)
    }

    /// A queue whose closures run on a queue of libdispatch's, for code that shares one with this program.
    ///
    ///     let delegate = DispatchQueue(underlying: connection.workQueue)
    ///
    /// - Parameter queue: Where closures run, in its order.
    /// - Cost: A submission costs libdispatch's and one allocation.
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

    /// The shared concurrent queue of one quality of service.
    public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
        globals[Int((qos.band ?? .default).rawValue)]
    }

    /// The shared concurrent queue by its older name.
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

    /// Lets a queue start that was made with `.initiallyInactive`. On one that is active it does nothing.
    public override func activate() {
        guard !isActivated.exchange(true, ordering: .acquiringAndReleasing) else { return }
        foreign?.activate()
        taskQueue.activate()
    }

    /// Keeps further closures from starting until ``resume()``. Calls nest; running closures continue. On a shared
    /// queue it does nothing.
    public override func suspend() {
        guard !isShared else { return }
        suspensions.add(1, ordering: .acquiringAndReleasing)
        if let foreign { foreign.suspend() } else { taskQueue.suspend() }
    }

    /// Takes one ``suspend()`` back. Traps when there is none; a queue that was made inactive needs ``activate()``.
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

    /// Puts an inactive queue on another one. Traps on an active queue, and for a target that runs on libdispatch
    /// (`main`, and queues on it): give this `target` when the queue is made.
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
    /// A queue is itself alone.
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
