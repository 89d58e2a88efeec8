// Owns the connection from a task queue to a dispatch queue. `TaskQueue` calls it for the main queue and for dispatch
// queues of the program. It never runs closures on workers.

internal import CScheduler
package import Dispatch
internal import Synchronization

/// The dispatch queue that runs the closures of a task queue: the main queue, or a queue of the program.
final class DispatchRoute: Sendable {
    let queue: DispatchQueue
    let isMain: Bool
    let qos: TaskQueue.QoS

    /// Counts the closures that were submitted through the task queue and have not finished.
    let pending = WaitGroup()
    let specifics = Specifics()
    private let running = Atomic(0)

    /// The number of closures of ``async(group:_:)`` that have started and not returned.
    var runningCount: Int { running.load(ordering: .acquiring) }

    init(_ queue: DispatchQueue) {
        self.queue = queue
        // Compare by the mark, not by identity: on Linux each access to `DispatchQueue.main` returns a new object.
        isMain = TaskQueue.isMain(queue)
        qos = isMain ? .userInteractive : TaskQueue.QoS(queue.qos.qosClass) ?? .default
    }

    /// Submits `body` to the dispatch queue, and counts it in `pending` and `group`. The dispatch queue applies `qos`
    /// and `flags`. `QoS.current` in the closure follows Overdrive's rules.
    func async(
        group: WaitGroup?, qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [],
        _ body: sending @escaping () -> Void
    ) {
        refuseControl()
        let asked = TaskQueue.QoS.asked(qos, flags)
        let here = flags.contains(.enforceQoS) ? asked ?? self.qos : max(self.qos, asked ?? self.qos)
        pending.enter()
        group?.enter()
        // The closure goes to the dispatch queue once, and this thread does not keep it.
        nonisolated(unsafe) let body = body
        queue.async(qos: asked?.dispatched ?? .unspecified, flags: flags.dispatched) {
            self.running.add(1, ordering: .acquiringAndReleasing)
            unsafe self.whileCurrent(in: here, body)
            self.running.subtract(1, ordering: .acquiringAndReleasing)
            group?.leave()
            self.pending.leave()
        }
    }

    /// Notes a failure in a controlled run, whose scheduling does not reach libdispatch.
    private func refuseControl() {
        guard ControlledRun.isInside else { return }
        ControlledRun.fail(
            "\(isMain ? "TaskQueue.main" : "a dispatch queue") cannot be controlled: its closures run on libdispatch. "
                + "Pass the code a queue of the run.", file: nil, line: 0)
    }

    /// Runs `body` on the dispatch queue while the caller waits.
    func sync<R, E: Error>(flags: TaskQueue.Flags = [], _ body: () throws(E) -> R) throws(E) -> R {
        refuseControl()
        let here = max(qos, TaskQueue.QoS.current ?? qos)
        od_blocking_begin()
        defer { od_blocking_end() }
        // The caller waits, so only one thread at a time runs the closure, on behalf of the caller.
        return try withoutActuallyEscaping(body) { body throws(E) in
            nonisolated(unsafe) let body = body
            nonisolated(unsafe) var outcome: Result<R, E>?
            // With any other flag, libdispatch would allocate a work item, without any effect.
            queue.sync(flags: flags.intersection(.barrier).dispatched) {
                whileCurrent(in: here) {
                    do throws(E) { unsafe outcome = .success(try body()) } catch { unsafe outcome = .failure(error) }
                }
            }
            guard let outcome = unsafe outcome else { trap("TaskQueue.sync: the dispatch queue did not run the closure") }
            return try outcome.get()
        }
    }

    /// Whether the calling thread runs a closure that was submitted through the task queue. For the main queue, any
    /// code that runs on the main queue counts.
    var isCurrent: Bool {
        isMain ? TaskQueue.isOnMain : DispatchRoute.around.contains { $0 === self }
    }

    // MARK: - Position of the calling thread

    /// A closure that the thread is running. Frames form a list from the innermost closure outwards.
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

    /// The quality of service of the innermost such closure on the calling thread.
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

    /// The routes of the closures that the calling thread is running, innermost first.
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
    /// Creates a queue whose closures run on `queue`. The public initialiser is in the target that may import
    /// Dispatch.
    package convenience init(dispatching queue: DispatchQueue) {
        let route = DispatchRoute(queue)
        self.init(label: queue.label, qos: route.qos, route: route)
    }
}

extension TaskQueue.Flags {
    var dispatched: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: UInt(rawValue)) }
}
