internal import CScheduler
package import Dispatch
internal import Synchronization

/// A queue of libdispatch's that a task queue's closures go to: the process's main queue, or one that the user
/// has made.
final class DispatchRoute: Sendable {
    let queue: DispatchQueue
    let isMain: Bool
    let qos: TaskQueue.QoS

    /// What was submitted through the task queue and is not done.
    let pending = WaitGroup()
    let specifics = Specifics()
    private let running = Atomic(0)

    /// How many closures of ``async(group:_:)`` have begun and not returned.
    var runningCount: Int { running.load(ordering: .acquiring) }

    init(_ queue: DispatchQueue) {
        self.queue = queue
        // Not by identity: on Linux each access to `DispatchQueue.main` makes another object.
        isMain = TaskQueue.isMain(queue)
        qos = isMain ? .userInteractive : TaskQueue.QoS(queue.qos.qosClass)
    }

    /// Runs `body` there, counted on `group` too. What `qos` and `flags` do is the dispatch queue's matter;
    /// the closure finds its quality of service by our rules.
    func async(
        group: WaitGroup?, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        _ body: sending @escaping () -> Void
    ) {
        let asked = TaskQueue.QoS.asked(qos, flags)
        let here = flags.contains(.enforceQoS) ? asked ?? self.qos : max(self.qos, asked ?? self.qos)
        pending.enter()
        group?.enter()
        // The closure is handed from here to the queue, once.
        nonisolated(unsafe) let body = body
        queue.async(qos: asked?.dispatched ?? .unspecified, flags: flags.dispatched) {
            self.running.add(1, ordering: .acquiringAndReleasing)
            unsafe self.whileCurrent(in: here, body)
            self.running.subtract(1, ordering: .acquiringAndReleasing)
            group?.leave()
            self.pending.leave()
        }
    }

    /// Runs `body` there while the caller waits.
    func sync<R, E: Error>(flags: TaskQueue.Flags = [], _ body: () throws(E) -> R) throws(E) -> R {
        let here = max(qos, TaskQueue.QoS.current ?? qos)
        od_blocking_begin()
        defer { od_blocking_end() }
        // The caller waits, so the closure runs on one thread at a time, on behalf of the caller.
        return try withoutActuallyEscaping(body) { body throws(E) in
            nonisolated(unsafe) let body = body
            nonisolated(unsafe) var outcome: Result<R, E>?
            // Other flags than this one would have libdispatch make a work item of it, and change nothing.
            queue.sync(flags: flags.intersection(.barrier).dispatched) {
                whileCurrent(in: here) {
                    do throws(E) { unsafe outcome = .success(try body()) } catch { unsafe outcome = .failure(error) }
                }
            }
            guard let outcome = unsafe outcome else { trap("TaskQueue.sync: the dispatch queue did not run the closure") }
            return try outcome.get()
        }
    }

    /// Whether the calling thread runs one of the closures that were submitted through the task queue, or, of
    /// the main queue, whatever runs there.
    var isCurrent: Bool {
        isMain ? TaskQueue.isOnMain : DispatchRoute.around.contains { $0 === self }
    }

    // MARK: - Where a thread is

    /// One closure that a thread is in; they are chained through the frames that run them.
    private final class Frame {
        let route: DispatchRoute
        let qos: TaskQueue.QoS
        let outer: Frame?

        init(_ route: DispatchRoute, _ qos: TaskQueue.QoS, outer: Frame?) {
            self.route = route
            self.qos = qos
            self.outer = outer
        }
    }

    /// The quality of service of the innermost of these closures that the calling thread runs.
    static var qosHere: TaskQueue.QoS? {
        unsafe od_thread_route().map { unsafe Unmanaged<Frame>.fromOpaque($0).takeUnretainedValue().qos }
    }

    private func whileCurrent(in qos: TaskQueue.QoS, _ body: () -> Void) {
        let outer = unsafe od_thread_route()
        let frame = unsafe Frame(self, qos, outer: outer.map { unsafe Unmanaged<Frame>.fromOpaque($0).takeUnretainedValue() })
        withExtendedLifetime(frame) {
            unsafe od_thread_set_route(Unmanaged.passUnretained(frame).toOpaque())
            body()
            unsafe od_thread_set_route(outer)
        }
    }

    /// The routes whose closures the calling thread runs, from the innermost.
    static var around: [DispatchRoute] {
        var routes: [DispatchRoute] = []
        var frame = unsafe od_thread_route().map { unsafe Unmanaged<Frame>.fromOpaque($0).takeUnretainedValue() }
        while let here = frame {
            routes.append(here.route)
            frame = here.outer
        }
        return routes
    }
}

extension TaskQueue {
    /// A queue whose closures run on `queue`. The public door stands in the target that may name Dispatch.
    package convenience init(dispatching queue: DispatchQueue) {
        let route = DispatchRoute(queue)
        self.init(label: queue.label, qos: route.qos, route: route)
    }
}

extension TaskQueue.QoS {
    init(_ theirs: DispatchQoS.QoSClass) {
        self =
            switch theirs {
            case .userInteractive: .userInteractive
            case .userInitiated: .userInitiated
            case .utility: .utility
            case .background: .background
            default: .default
            }
    }

    var dispatched: DispatchQoS {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        }
    }
}

extension TaskQueue.Flags {
    var dispatched: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: UInt(rawValue)) }
}
