public import Dispatch
internal import OverdriveCore
internal import Synchronization

extension DispatchQueue {
    /// The queue of libdispatch's that stands for this one where a foreign API wants one.
    ///
    ///     NIOThreadPool.singleton.shutdownGracefully(queue: queue.underlying) { _ in done() }
    ///
    /// For `main` it is the main queue, for a shared queue the shared one of its quality of service. Another queue
    /// gets one at the first access. From then on, closures of either queue exclude each other as in one queue: a
    /// serial queue's closures never overlap the foreign blocks.
    ///
    /// - Ordering: Each of the two keeps its own order; between them it is the order in which their turns come.
    /// - Threading: Foreign blocks run on libdispatch's threads. Take it before the queue is busy: closures that were
    ///   submitted before are not held back by the foreign blocks.
    /// - Cost: From then on each closure also takes libdispatch's turn, and is boxed.
    public var underlying: Dispatch.DispatchQueue {
        if let foreign { return foreign }
        if isShared { return .global(qos: taskQueue.qos.theirs) }
        return madeStandIn.withLock { made in
            if let made { return made.theirs }
            let new = StandIn(for: self)
            made = new
            isStandInMade.store(true, ordering: .releasing)
            return new.theirs
        }
    }

    @usableFromInline
    var hasStandIn: Bool { isStandInMade.load(ordering: .acquiring) }

    var standIn: StandIn? { hasStandIn ? lookedUpStandIn() : nil }

    /// Apart, so that who has none pays nothing for it.
    @inline(never)
    private func lookedUpStandIn() -> StandIn? { madeStandIn.withLock { $0 } }
}

extension TaskQueue.QoS {
    fileprivate var theirs: DispatchQoS.QoSClass {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        }
    }
}

/// A queue of libdispatch's beside one of ours, whose turn closures of ours take too.
final class StandIn: Sendable {
    let theirs: Dispatch.DispatchQueue
    private let route: TaskQueue

    /// Tells its queue from all others, in the blocks that run on it.
    private static let mark = Dispatch.DispatchSpecificKey<ObjectIdentifier>()

    init(for queue: DispatchQueue) {
        theirs = Dispatch.DispatchQueue(
            label: queue.label, qos: queue.qos, attributes: queue.isConcurrent ? .concurrent : [])
        route = TaskQueue(dispatching: theirs)
        theirs.setSpecific(key: StandIn.mark, value: ObjectIdentifier(self))
    }

    /// Whether the calling thread runs one of its blocks.
    var isCurrent: Bool { Dispatch.DispatchQueue.getSpecific(key: StandIn.mark) == ObjectIdentifier(self) }

    /// `work` in the turn of both.
    func around(_ work: @escaping () -> Void, _ flags: DispatchWorkItemFlags) -> @Sendable () -> Void {
        // The closure is handed on to the one thread that runs it.
        nonisolated(unsafe) let work = work
        let terms = flags.rawValue
        return { unsafe self.sync(DispatchWorkItemFlags(rawValue: terms), work) }
    }

    func sync<T, E: Error>(_ flags: DispatchWorkItemFlags, _ work: () throws(E) -> T) throws(E) -> T {
        if isCurrent { return try work() }
        return try route.sync(flags: flags.engine.intersection(.barrier), execute: work)
    }
}
