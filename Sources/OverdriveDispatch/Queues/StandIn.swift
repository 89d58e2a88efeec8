// Owns bridged queues: libdispatch queues that exclude their blocks from the closures of one Overdrive queue.
// `DispatchQueue` calls it. It creates no threads.

public import Dispatch
internal import OverdriveCore
internal import Synchronization

extension DispatchQueue {
    /// The libdispatch queue that represents this queue in other APIs.
    ///
    ///     NIOThreadPool.singleton.shutdownGracefully(queue: queue.underlying) { _ in done() }
    ///
    /// For `main` this is the main queue, and for a shared queue the shared one of its quality of service. Any other
    /// queue creates one at the first access. From then on, closures of both queues exclude each other as in one
    /// queue. Closures of a serial queue thus never overlap blocks of its libdispatch queue.
    ///
    /// - Ordering: Each of the two queues keeps its order. There is no order between them.
    /// - Threading: Blocks of the libdispatch queue run on libdispatch's threads. Read this property before the first
    ///   submission: blocks do not exclude closures submitted earlier.
    /// - Cost: After the first access, each closure also passes through libdispatch and costs an allocation.
    public var underlying: Dispatch.DispatchQueue {
        if let foreign { return foreign }
        if isShared { return .global(qos: taskQueue.qos.dispatchClass) }
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

    /// This function is separate, so that the common case without a bridged queue stays short.
    @inline(never)
    private func lookedUpStandIn() -> StandIn? { madeStandIn.withLock { $0 } }
}

/// A bridged queue: a libdispatch queue beside an Overdrive queue. The closures of the Overdrive queue also run in
/// the libdispatch queue's order.
final class StandIn: Sendable {
    let theirs: Dispatch.DispatchQueue
    private let route: TaskQueue

    /// Identifies the bridged queue in blocks that run on it.
    private static let mark = Dispatch.DispatchSpecificKey<ObjectIdentifier>()

    init(for queue: DispatchQueue) {
        theirs = Dispatch.DispatchQueue(
            label: queue.label, qos: queue.qos, attributes: queue.isConcurrent ? .concurrent : [])
        route = TaskQueue(dispatching: theirs)
        theirs.setSpecific(key: StandIn.mark, value: ObjectIdentifier(self))
    }

    /// Whether the calling thread runs a block of this queue.
    var isCurrent: Bool { Dispatch.DispatchQueue.getSpecific(key: StandIn.mark) == ObjectIdentifier(self) }

    /// Returns a closure that runs `work` in the order of both queues.
    func around(_ work: @escaping () -> Void, _ flags: DispatchWorkItemFlags) -> @Sendable () -> Void {
        // The closure is passed to the one thread that runs it.
        nonisolated(unsafe) let work = work
        let terms = flags.rawValue
        return { unsafe self.sync(DispatchWorkItemFlags(rawValue: terms), work) }
    }

    func sync<T, E: Error>(_ flags: DispatchWorkItemFlags, _ work: () throws(E) -> T) throws(E) -> T {
        if isCurrent { return try work() }
        return try route.sync(flags: flags.engine.intersection(.barrier), execute: work)
    }
}
